// Package client downloads files and archives from an MCP server that has
// resources/stream (SEP-2532), such as repomcp, reads its lists, and watches what
// changes there.
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
//   - The three ways of delivery look the same: bytes in the reply, a downloadUrl,
//     and a redirect to where the bytes are kept. So do the generations of the
//     protocol: 2026-07-28, and those with sessions since 2025-03-26.
//   - Credentials go to the origin of the server that the client was given and to
//     no other, whatever it answers; only origins that Options name are followed
//     to; and from https no step leads to plain http.
//   - A download that breaks goes on at the byte, wherever the server, or another
//     with the same content, still names the same bytes ([RFC 9110], strong ETag).
//   - A download that stays broken, is shorter or longer than announced, or whose
//     bytes are not those of the Repr-Digest that the server sends, ends with an
//     error and never with io.EOF. So does one of which neither length nor digest is
//     known, also when a proxy on the way makes a clean end of a break: the server is
//     asked then ([ErrNotVerified]).
//   - Downloads are not held in memory, and all that waits ends with its context.
//     No goroutine is left behind.
//
// # Transports
//
// [Connect] takes the address of an endpoint over HTTP (https://…/mcp), over WebSocket
// (wss://…/ws), or a command that serves over its standard streams (stdio:…). The
// bytes of a download come in the first of these ways that the server has:
//
//   - over HTTP by resources/stream, which has parts and can go on after a break;
//     else beside the answer of resources/read, as parts of the reply;
//   - over WebSocket from the downloadUrl of resources/stream, where that may be
//     followed and can be reached; else beside the answer, in binary frames;
//   - over stdio beside the answer, in chunks;
//   - and everywhere else in the answer, as base64, as large as the server allows.
//
// [Client.Fetch] leaves resources/stream out. What is beside an answer is read with a
// window of 256 KiB in memory. A download that nobody reads holds up nothing else over
// HTTP and WebSocket. A pipe has one order: over stdio everything waits for it, answers
// too, until it is read or closed. A WebSocket that breaks is opened again, a program
// that has ended is not started again.
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
	// defaultPoll is a compromise between what is new and what is asked in vain.
	defaultPoll = 30 * time.Second
	// defaultIdle is three heartbeats of the usual event stream, and longer than a
	// server takes to find the next bytes.
	defaultIdle = 90 * time.Second
	// defaultRetries wait for some seconds in all, which is as long as a server takes
	// to be replaced.
	defaultRetries = 6
)

// Options of a Client.
type Options struct {
	// HTTP sends requests; nil means http.DefaultClient. Its CheckRedirect is not
	// asked: redirects are followed here. A Timeout would break long downloads.
	HTTP *http.Client
	// Authorization is sent to the server as the header of that name, if any.
	Authorization string
	// MaxStreamSize is the largest download that is taken, in bytes; 0 means any.
	// The server is told, and what is larger all the same is broken off.
	MaxStreamSize int64
	// Origins are those that the server may lead to besides its own, by a
	// downloadUrl or a redirect, such as https://archives.example.com.
	Origins []string
	// Protocol is the revision of MCP to speak, such as 2025-11-25; "" is the newest
	// that both know. [New] speaks 2026-07-28.
	Protocol string
	// Retries is how often in a row an operation is tried again that failed for reasons
	// that pass, with growing pauses; 0 means 6, less means never. A download is one
	// operation, and each byte that comes begins the count anew.
	Retries int
	// Retrying, if any, is told what failed, before it is tried again.
	Retrying func(error)
	// Idle is for how long a reply may give nothing, its first byte included, before
	// its connection counts as broken; 0 means 90 s. Events may be as rare as that. While
	// an answer is waited for, nothing else counts: no comments, notifications or pings.
	Idle time.Duration
	// Poll is the time between two looks of Watch where no server tells of changes;
	// 0 means 30 s.
	Poll time.Duration
	// Command is the program that "stdio:" starts, with its arguments; nil where the
	// endpoint names it.
	Command []string
	// Pipe is what "stdio:" speaks over in place of a program: Read has what the server
	// writes. It is closed with the client.
	Pipe io.ReadWriteCloser
}

// Client is a server to download from.
type Client struct {
	server  *url.URL // or where HTTP would be beside a WebSocket
	http    *http.Client
	options Options
	origins []*url.URL
	retries int
	idle    time.Duration // for which a reply may give nothing
	ack     time.Duration // within which a stream of events begins
	ids     atomic.Int64  // of messages

	mu        sync.Mutex
	transport transport
	session   session // that requests belong to
	closed    bool
}

// session is what was agreed on with the server. In 2026-07-28 that is nothing
// but the revision.
type session struct{ protocol, id string }

// New makes a client of the MCP endpoint at server, as [Connect] does, without
// asking it: it must speak 2026-07-28. That saves a round trip.
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
		return nil, fmt.Errorf("%q is no http or https URL", text)
	}
	return u, nil
}
