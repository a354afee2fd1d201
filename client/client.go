// Package client downloads files and archives from an MCP server that has
// resources/stream (SEP-2532), such as repomcp.
//
//	c, err := client.New("https://git.example.com/mcp", client.Options{Authorization: "Bearer …"})
//
//	d, err := c.Stream(ctx, "repo://group/project/archive/main.tar.gz")
//	defer d.Close()
//	_, err = io.Copy(w, d)
//
// Promises:
//   - The three ways of delivery look the same: bytes in the reply, a downloadUrl,
//     and a redirect to where the bytes are kept.
//   - Credentials go to the origin of the server that New was given and to no
//     other, whatever it answers; only origins that Options name are followed to;
//     and from https no step leads to plain http.
//   - A download that breaks, or whose bytes are not those of the Repr-Digest that
//     the server sends, ends with an error and never with io.EOF.
//
// It speaks the stateless revision 2026-07-28 and knows no sessions. A Client may
// be used by many goroutines, a Download by one.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
)

const (
	protocolVersion = "2026-07-28"
	methodStream    = "resources/stream"
	metaPrefix      = "io.modelcontextprotocol/"

	// maxReply bounds a reply in JSON: an error or a link.
	maxReply = 1 << 20
	// maxRedirects is net/http's.
	maxRedirects = 10
)

// Options of a Client.
type Options struct {
	// HTTP sends requests; nil means http.DefaultClient. Its CheckRedirect is not
	// asked: redirects are followed here.
	HTTP *http.Client
	// Authorization is sent to the server as the header of that name, if any.
	Authorization string
	// MaxStreamSize is the largest download that is taken, in bytes; 0 means any.
	// The server is told, and what is larger all the same is broken off.
	MaxStreamSize int64
	// Origins are those that the server may lead to besides its own, by a
	// downloadUrl or a redirect, such as https://archives.example.com.
	Origins []string
}

// Client is a server to download from.
type Client struct {
	server        *url.URL
	http          *http.Client
	authorization string
	most          int64
	origins       []*url.URL
}

// New makes a client of the MCP endpoint at server, an http or https URL.
func New(server string, o Options) (*Client, error) {
	at, err := parseURL(server)
	if err != nil {
		return nil, err
	}
	if o.MaxStreamSize < 0 {
		return nil, errors.New("MaxStreamSize is negative; 0 means any size")
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
	return &Client{
		server: at, http: &sender, authorization: o.Authorization, most: o.MaxStreamSize, origins: origins,
	}, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no http or https URL", text)
	}
	return u, nil
}

// Error is what the server said instead of bytes.
type Error struct {
	Operation string // what was asked for, such as "resources/stream repo://…"
	Status    int    // of HTTP
	Code      int    // of JSON-RPC, 0 where there is none
	Reason    string // for programs, such as "not_found" or "full_needed"; "" where there is none
	Message   string // for people
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%s: the server answered %d %s", e.Operation, e.Status, http.StatusText(e.Status))
	}
	return e.Operation + ": " + e.Message
}

// Download is a resource on its way. Read gives io.EOF only after all of it.
type Download struct {
	io.ReadCloser
	URI      string // canonical, with the commit, where the server says it
	MIMEType string
	Size     int64 // -1 where it is not known beforehand
}

// Stream begins to download a resource. A downloadUrl that has expired meanwhile
// is asked for once more.
func (c *Client) Stream(ctx context.Context, uri string) (*Download, error) {
	d, err := c.stream(ctx, uri)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusGone {
		d, err = c.stream(ctx, uri)
	}
	return d, err
}

func (c *Client) stream(ctx context.Context, uri string) (*Download, error) {
	operation := methodStream + " " + uri
	request, err := c.request(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	reply, err := c.send(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	if !isMessage(reply) {
		return c.download(reply, operation)
	}
	link, err := readLink(reply, operation)
	if err != nil {
		return nil, err
	}
	return c.get(ctx, link, "download of "+uri)
}

// request is the message that asks for a resource.
func (c *Client) request(ctx context.Context, uri string) (*http.Request, error) {
	streaming := map[string]any{}
	if c.most > 0 {
		streaming["maxStreamSize"] = c.most
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": methodStream,
		"params": map[string]any{"uri": uri, "_meta": map[string]any{
			metaPrefix + "protocolVersion":    protocolVersion,
			metaPrefix + "clientCapabilities": map[string]any{"resourceStreaming": streaming},
		}},
	})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "*/*",
		"MCP-Protocol-Version": protocolVersion, "Mcp-Method": methodStream, "Mcp-Name": uri,
	} {
		request.Header.Set(name, value)
	}
	return request, nil
}

// get downloads from an address that the server gave.
func (c *Client) get(ctx context.Context, address, operation string) (*Download, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: the server gave a downloadUrl that is no URL", operation)
	}
	if err := c.trusts(request.URL); err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	reply, err := c.send(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	return c.download(reply, operation)
}

// download takes the bytes of a reply.
func (c *Client) download(reply *http.Response, operation string) (*Download, error) {
	if reply.StatusCode != http.StatusOK {
		return nil, refusal(reply, operation)
	}
	if c.most > 0 && reply.ContentLength > c.most {
		_ = reply.Body.Close()
		return nil, fmt.Errorf("%s: %w: it has %d bytes", operation, ErrTooLarge, reply.ContentLength)
	}
	h := reply.Header
	return &Download{
		ReadCloser: &checked{reply: reply, most: c.most},
		URI:        cmp.Or(h.Get("Content-Location"), h.Get("MCP-Resource-Uri")),
		MIMEType:   cmp.Or(h.Get("MCP-Resource-Type"), h.Get("Content-Type")), Size: reply.ContentLength,
	}, nil
}

// isMessage says whether a reply of the endpoint is JSON-RPC. A JSON file is
// streamed under another type.
func isMessage(reply *http.Response) bool {
	kind, _, err := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// readLink finds the downloadUrl in the result of resources/stream without bytes.
func readLink(reply *http.Response, operation string) (string, error) {
	defer func() { _ = reply.Body.Close() }()
	var message struct {
		Result struct {
			DownloadURL string `json:"downloadUrl"`
		} `json:"result"`
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Data    struct {
				Reason string `json:"reason"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(reply.Body, maxReply)).Decode(&message); err != nil {
		return "", fmt.Errorf("%s: the server's reply is no JSON: %w", operation, err)
	}
	if message.Error != nil {
		return "", &Error{
			Operation: operation, Status: reply.StatusCode, Code: message.Error.Code,
			Reason: message.Error.Data.Reason, Message: message.Error.Message,
		}
	}
	if message.Result.DownloadURL == "" {
		return "", &Error{Operation: operation, Status: reply.StatusCode}
	}
	return message.Result.DownloadURL, nil
}

// refusal is the error of a plain download: a line of text.
func refusal(reply *http.Response, operation string) error {
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		text = nil
	}
	return &Error{Operation: operation, Status: reply.StatusCode, Message: string(bytes.TrimSpace(text))}
}
