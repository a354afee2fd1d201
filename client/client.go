// Package client downloads files and archives from an MCP server that has resources/stream
// (SEP-2532), such as repomcp, reads its lists, and watches its resources for changes.
//
//	c, err := client.Connect(ctx, "https://git.example.com/mcp", client.Options{Authorization: "Bearer …"})
//
//	d, err := c.Stream(ctx, "repo://group/project/archive/main.tar.gz")
//	defer d.Close()
//	_, err = io.Copy(w, d)
//
// [Open] takes the URL of a plain download, or a link, in place of both.
//
// Promises:
//   - The three ways of delivery look the same: bytes in the reply, a downloadUrl, and a redirect
//     to where the bytes are kept. So do the generations of the protocol: 2026-07-28, and those
//     with sessions since 2025-03-26.
//   - Credentials go only to the origin of the server that the client was given, whatever it
//     answers; only origins that Options names are followed; and no step leads from https to plain
//     http.
//   - A broken download is resumed at the byte where it broke, if the server, or another one with
//     the same content, still names the same bytes ([RFC 9110], strong ETag).
//   - A download that stays broken, is shorter or longer than announced, or whose bytes do not
//     match the server's Repr-Digest, ends with an error and never with io.EOF. So does a download
//     with neither length nor digest, even if a proxy turned a break into a clean end: the client
//     then asks the server ([ErrNotVerified]).
//   - Downloads are not held in memory, and every wait ends with its context. No goroutine is left
//     behind.
//
// # Transports
//
// [Connect] takes the address of an endpoint over HTTP (https://…/mcp), over WebSocket
// (wss://…/ws), or a command that serves over its standard streams (stdio:…). The bytes of a
// download come in the first of these ways that the server supports:
//
//   - over HTTP by resources/stream, which has ranges and can resume; else beside the answer of
//     resources/read, as parts of the reply;
//   - over WebSocket from the downloadUrl of resources/stream, if the client may follow it and can
//     reach it; else beside the answer, in binary frames;
//   - over stdio beside the answer, in chunks;
//   - and otherwise in the answer, as base64, as large as the server allows.
//
// [Client.Fetch] skips resources/stream. Bytes beside an answer are buffered in a window of 256
// KiB. An unread download delays nothing else over HTTP and WebSocket. A pipe is sequential: over
// stdio everything, including answers, waits until the download is read or closed. A broken
// WebSocket is opened again; a program that has ended is not started again.
//
// A Client may be used by many goroutines, a Download by one.
//
// [RFC 9110]: https://www.rfc-editor.org/rfc/rfc9110.html#name-if-range
package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultPoll is a compromise between fresh states and futile requests.
	defaultPoll = 30 * time.Second
	// defaultIdle is three heartbeats of a usual event stream, and longer than a server takes to
	// find the next bytes.
	defaultIdle = 90 * time.Second
	// defaultRetries wait for some seconds altogether, about as long as a server takes to be
	// replaced.
	defaultRetries = 6
)

// Options of a Client.
type Options struct {
	// HTTP sends requests; nil means http.DefaultClient. Its CheckRedirect is not used: the client
	// follows redirects itself. A Timeout would break long downloads.
	HTTP *http.Client
	// Authorization is sent to the server as the Authorization header, if not "".
	Authorization string
	// MaxStreamSize is the largest accepted download, in bytes; 0 means any. The server is told,
	// and a larger download is aborted.
	MaxStreamSize int64
	// Origins are those to which the server may lead besides its own, by a downloadUrl or a
	// redirect, such as https://archives.example.com.
	Origins []string
	// Protocol is the revision of MCP, such as 2025-11-25; "" is the newest that both sides
	// support. [New] uses 2026-07-28.
	Protocol string
	// Retries is how often in a row an operation is repeated after temporary failures, with growing
	// pauses; 0 means 6, a negative number never. A download is one operation, and each received
	// byte restarts the count.
	Retries int
	// Retrying, if not nil, gets each failure before the retry.
	Retrying func(error)
	// Idle is how long a reply may send nothing, its first byte included, before its connection
	// counts as broken; 0 means 90 s. Events may be as rare as that. While an answer is awaited,
	// comments, notifications and pings do not count.
	Idle time.Duration
	// Poll is the interval at which Watch looks without a notification of a change; 0 means 30 s.
	Poll time.Duration
	// Command is the program that "stdio:" starts, with its arguments; nil if the endpoint names
	// it.
	Command []string
	// Pipe replaces the program of "stdio:": Read returns the server's output. It is closed with
	// the client.
	Pipe io.ReadWriteCloser
}

// Client is a server to download from.
type Client struct {
	server  *url.URL // or the origin for HTTP beside a WebSocket
	http    *http.Client
	options Options
	origins []*url.URL
	retries int
	idle    time.Duration // how long a reply may send nothing
	ack     time.Duration // how long an event stream may take to begin
	ids     atomic.Int64  // of messages

	mu        sync.Mutex
	transport transport
	session   session // used by requests
	closed    bool
}

// session is the result of the negotiation with the server. In 2026-07-28 that is only the
// revision.
type session struct{ protocol, id string }

// New makes a client of the MCP endpoint at server, like [Connect], but without a negotiation,
// which saves a round trip: the server must support 2026-07-28.
func New(server string, o Options) (*Client, error) {
	e, err := parseEndpoint(server, o)
	if err != nil {
		return nil, err
	}
	if o.MaxStreamSize < 0 {
		return nil, errors.New("MaxStreamSize is negative; 0 means any size")
	}
	if o.Idle < 0 || o.Poll < 0 {
		return nil, errors.New("the time Idle or Poll is negative; 0 means the usual one")
	}
	if o.Protocol != "" && o.Protocol != stateless && !slices.Contains(withSessions, o.Protocol) {
		return nil, fmt.Errorf("protocol %q is not known: there are %s and %q", o.Protocol, stateless, withSessions)
	}
	var origins []*url.URL
	for _, text := range o.Origins {
		origin, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		origins = append(origins, origin)
	}
	sender := http.Client{}
	if o.HTTP != nil {
		sender = *o.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Poll, o.Idle = cmp.Or(o.Poll, defaultPoll), cmp.Or(o.Idle, defaultIdle)
	c := &Client{
		server: e.at, http: &sender, options: o, origins: origins, retries: max(0, cmp.Or(o.Retries, defaultRetries)),
		idle: o.Idle, ack: min(o.Idle, ackTimeout), session: session{protocol: stateless},
	}
	c.transport = e.transport(c)
	return c, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address is no http or https URL") // it may have a password
	}
	return u, nil
}
