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
//     other, whatever it answers; and from https no step leads to plain http.
//   - A download that breaks, or whose bytes are not those of the Repr-Digest that
//     the server sends, ends with an error and never with io.EOF.
//
// It speaks the stateless revision 2026-07-28 and knows no sessions. A Client may
// be used by many goroutines, a Download by one.
package client

import (
	"bytes"
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
}

// Client is a server to download from.
type Client struct {
	server        *url.URL
	http          *http.Client
	authorization string
}

// New makes a client of the MCP endpoint at server, an http or https URL.
func New(server string, o Options) (*Client, error) {
	at, err := url.Parse(server)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("%q is no http or https URL", server)
	}
	sender := http.Client{}
	if o.HTTP != nil {
		sender = *o.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{server: at, http: &sender, authorization: o.Authorization}, nil
}

// Error is what the server said instead of bytes.
type Error struct {
	Status  int    // of HTTP
	Code    int    // of JSON-RPC, 0 where there is none
	Message string // for people
}

func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return e.Message
}

// Download is a resource on its way. Read gives io.EOF only after all of it.
type Download struct {
	io.ReadCloser
	URI      string // canonical, with the commit, where the server says it
	MIMEType string
	Size     int64 // -1 where it is not known beforehand
}

// Stream begins to download a resource.
func (c *Client) Stream(ctx context.Context, uri string) (*Download, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": methodStream,
		"params": map[string]any{"uri": uri, "_meta": map[string]any{
			metaPrefix + "protocolVersion":    protocolVersion,
			metaPrefix + "clientCapabilities": map[string]any{"resourceStreaming": map[string]any{}},
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
	reply, err := c.send(request) //nolint:bodyclose // the Download closes it
	if err != nil {
		return nil, err
	}
	if !isMessage(reply) {
		return c.download(reply)
	}
	link, err := readLink(reply)
	if err != nil {
		return nil, err
	}
	d, err := c.get(ctx, link.DownloadURL)
	if err == nil && link.URI != "" {
		d.URI = link.URI
	}
	return d, err
}

// get downloads from an address that the server gave.
func (c *Client) get(ctx context.Context, address string) (*Download, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the server gave a downloadUrl that is no URL")
	}
	if err := c.secure(request.URL); err != nil {
		return nil, err
	}
	reply, err := c.send(request) //nolint:bodyclose // the Download closes it
	if err != nil {
		return nil, err
	}
	return c.download(reply)
}

// download takes the bytes of a reply.
func (c *Client) download(reply *http.Response) (*Download, error) {
	if reply.StatusCode != http.StatusOK {
		return nil, refusal(reply)
	}
	mimeType := reply.Header.Get("MCP-Resource-Type")
	if mimeType == "" {
		mimeType = reply.Header.Get("Content-Type")
	}
	return &Download{
		ReadCloser: &checked{reply: reply}, URI: reply.Header.Get("MCP-Resource-Uri"),
		MIMEType: mimeType, Size: reply.ContentLength,
	}, nil
}

// isMessage says whether a reply of the endpoint is JSON-RPC. A JSON file is
// streamed under another type.
func isMessage(reply *http.Response) bool {
	kind, _, err := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// link is the result of resources/stream without bytes.
type link struct {
	URI         string `json:"uri"`
	DownloadURL string `json:"downloadUrl"`
}

func readLink(reply *http.Response) (link, error) {
	defer func() { _ = reply.Body.Close() }()
	var message struct {
		Result link `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(reply.Body, maxReply)).Decode(&message); err != nil {
		return link{}, fmt.Errorf("the server's reply is no JSON: %w", err)
	}
	if message.Error != nil {
		return link{}, &Error{Status: reply.StatusCode, Code: message.Error.Code, Message: message.Error.Message}
	}
	if message.Result.DownloadURL == "" {
		return link{}, &Error{Status: reply.StatusCode}
	}
	return message.Result, nil
}

// refusal is the error of a plain download: a line of text.
func refusal(reply *http.Response) error {
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		text = nil
	}
	return &Error{Status: reply.StatusCode, Message: string(bytes.TrimSpace(text))}
}
