package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	// maxRefusal bounds an error in text, or a link.
	maxRefusal = 1 << 20
	// maxMessage bounds a reply in JSON. Servers do not read out larger resources;
	// they stream them.
	maxMessage = 64 << 20
)

// operationOf names a request in errors.
func operationOf(method string, params map[string]any) string {
	if uri, ok := params["uri"].(string); ok {
		return method + " " + uri
	}
	return method
}

// ask sends a message in a session until there is an answer, and reads it.
func (c *Client) ask(ctx context.Context, s session, method string, params map[string]any, result any) error {
	operation := operationOf(method, params)
	return c.retry(ctx, func() error {
		reply, id, err := c.post(ctx, s, method, params)
		if err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		raw, err := readResult(ctx, reply, id, operation)
		if err != nil || result == nil {
			return err
		}
		return unmarshal(raw, result, operation)
	})
}

// call asks in the current session.
func (c *Client) call(ctx context.Context, method string, params map[string]any, result any) error {
	return c.inSession(ctx, func(s session) error { return c.ask(ctx, s, method, params, result) })
}

// notify sends a message that has no answer.
func (c *Client) notify(ctx context.Context, s session, method string) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method})
	if err != nil {
		return err
	}
	request, err := c.request(ctx, s, http.MethodPost, body)
	if err != nil {
		return err
	}
	reply, err := c.send(request, part{})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if reply.StatusCode >= http.StatusBadRequest {
		return refusal(reply, method)
	}
	return reply.Body.Close()
}

// post sends a message that has an answer, which is found by the id.
func (c *Client) post(ctx context.Context, s session, method string, params map[string]any) (
	reply *http.Response, id int64, err error,
) {
	request, id, err := c.message(ctx, s, method, params)
	if err != nil {
		return nil, 0, err
	}
	reply, err = c.send(request, part{})
	return reply, id, err
}

// message is the request of a message.
func (c *Client) message(ctx context.Context, s session, method string, params map[string]any) (
	*http.Request, int64, error,
) {
	id := c.ids.Add(1)
	if s.protocol == stateless {
		params = c.with(params)
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, 0, err
	}
	request, err := c.request(ctx, s, http.MethodPost, body)
	if err != nil {
		return nil, 0, err
	}
	if s.protocol == stateless {
		request.Header.Set("Mcp-Method", method)
		if uri, ok := params["uri"].(string); ok {
			request.Header.Set("Mcp-Name", headerText(uri))
		}
	}
	return request, id, nil
}

// request is one to the endpoint.
func (c *Client) request(ctx context.Context, s session, method string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.server.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", typeJSON+", "+typeEvents)
	if body != nil {
		request.Header.Set("Content-Type", typeJSON)
	}
	if s.protocol != "" {
		request.Header.Set("MCP-Protocol-Version", s.protocol)
	}
	if s.id != "" {
		request.Header.Set(headerSession, s.id)
	}
	return request, nil
}

// headerText is a text as 2026-07-28 has it in headers.
func headerText(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
	}
	return text
}

// isKind says whether a reply is of a media type.
func isKind(reply *http.Response, kind string) bool {
	got, _, err := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	return err == nil && got == kind
}

// isMessage says whether a reply of the endpoint is JSON-RPC. A JSON file is
// streamed under another type.
func isMessage(reply *http.Response) bool {
	return isKind(reply, typeJSON) || isKind(reply, typeEvents)
}

// message is what a server sends: an answer, or a notification.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// answers says whether a message is the answer to the one with an id. An error
// may leave the id out.
func (m *message) answers(id int64) bool {
	return m.Method == "" && (string(m.ID) == fmt.Sprint(id) || m.Error != nil && (m.ID == nil || string(m.ID) == "null"))
}

// outcome is the result of an answer, or its error.
func (m *message) outcome(reply *http.Response, operation string) (json.RawMessage, error) {
	if m.Error == nil {
		return m.Result, nil
	}
	var data struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(m.Error.Data, &data) // of other servers it may be anything
	return nil, &Error{
		Operation: operation, Status: reply.StatusCode, Code: m.Error.Code, Reason: data.Reason,
		Message: m.Error.Message, after: retryAfter(reply),
	}
}

// readResult reads the answer to a message to its end: one JSON text, or events of
// which one is it.
func readResult(ctx context.Context, reply *http.Response, id int64, operation string) (json.RawMessage, error) {
	defer func() { _ = reply.Body.Close() }()
	switch {
	case isKind(reply, typeEvents):
		for events := newEvents(reply.Body); ; {
			event, err := events.next()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", operation, failed(ctx, noEOF(err)))
			}
			if event.answers(id) {
				return event.outcome(reply, operation)
			}
		}
	case isKind(reply, typeJSON):
		var answer message
		if err := decode(io.LimitReader(reply.Body, maxMessage), &answer); err != nil {
			if errors.Is(err, errSyntax) {
				return nil, fmt.Errorf("%s: the server's reply is no JSON: %w", operation, err)
			}
			return nil, fmt.Errorf("%s: %w", operation, failed(ctx, err))
		}
		return answer.outcome(reply, operation)
	case reply.StatusCode == http.StatusOK:
		return nil, fmt.Errorf("%s: the server answers %q where messages are JSON: is it the address of an MCP "+
			"endpoint?", operation, reply.Header.Get("Content-Type"))
	default:
		return nil, refusal(reply, operation)
	}
}

// errSyntax tells a text that is no JSON from one that did not arrive.
var errSyntax = errors.New("malformed")

func decode(r io.Reader, into any) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", errSyntax, err)
	}
	return nil
}

// noEOF is an error of what must not end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
