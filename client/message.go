package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	// maxRefusal bounds the message of an error: object storage may send a page.
	maxRefusal = 4 << 10
)

// ask sends a message in a session, with retries, and reads the answer. It returns the headers of
// the answer. A notification has no result.
func (c *Client) ask(ctx context.Context, s session, method string, params map[string]any, result any) (
	header http.Header, err error,
) {
	err = c.retry(ctx, func(ctx context.Context) (err error) {
		header, err = c.reach().exchange(ctx, s, outgoing{method, params}, result)
		return err
	})
	return header, err
}

// encode encodes a message, and returns the id of its answer.
func (c *Client) encode(s session, m outgoing) (text []byte, id int64) {
	id = c.ids.Add(1)
	fields := map[string]any{"jsonrpc": "2.0", "method": m.method, "id": id}
	if s.protocol == stateless {
		fields["params"] = c.with(m.params)
	} else if m.params != nil {
		fields["params"] = m.params
	}
	if m.isNotification() {
		delete(fields, "id")
	}
	text, _ = json.Marshal(fields) // strings and numbers never fail
	return text, id
}

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

// headerText encodes a string for a header, as 2026-07-28 defines it.
func headerText(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
	}
	return text
}

func isKind(reply *http.Response, kind string) bool {
	got, _, err := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	return err == nil && got == kind
}

// isMessage reports whether a reply of the endpoint is JSON-RPC. A JSON file is streamed under
// another type.
func isMessage(reply *http.Response) bool {
	return isKind(reply, typeJSON) || isKind(reply, typeEvents)
}

// message is a message of the server: an answer, or a notification.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// answers reports whether a message is the answer to the request with an id. An error may omit the
// id.
func (m *message) answers(id int64) bool {
	unnamed := m.Error != nil && (m.ID == nil || string(m.ID) == "null")
	return m.Method == "" && (unnamed || string(m.ID) == fmt.Sprint(id))
}

// outcome reads the result of an answer, or its error.
func (m *message) outcome(reply *http.Response, operation string, result any) error {
	if m.Error == nil && result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w: the result is not understood: %w", operation, ErrDamaged, err)
		}
	}
	if m.Error == nil {
		return nil
	}
	var data struct{ Reason string }
	_ = json.Unmarshal(m.Error.Data, &data) // other servers may send anything
	return &Error{
		Operation: operation, Status: reply.StatusCode, Code: m.Error.Code, Reason: data.Reason,
		Message: clipped(m.Error.Message), after: retryAfter(reply),
	}
}

// clipped shortens a message for people, and adds the length of a shortened one.
func clipped(message string) string {
	if len(message) <= maxRefusal {
		return message
	}
	return strings.ToValidUTF8(message[:maxRefusal], "") + fmt.Sprintf("… (%d bytes)", len(message))
}

// readResult reads the answer to a message to its end: a JSON object, or events that contain one.
func readResult(ctx context.Context, reply *http.Response, id int64, operation string, result any) error {
	defer func() { _ = reply.Body.Close() }()
	var answer message
	in := &capped{Reader: reply.Body, left: maxMessage}
	switch {
	case reply.StatusCode == http.StatusAccepted:
		return nil
	case isKind(reply, typeEvents):
		for next := newEvents(in, expectProgress(reply)); !answer.answers(id); {
			var err error
			if answer, err = next(); err != nil {
				return fmt.Errorf("%s: %w", operation, failed(ctx, err))
			}
		}
	case isKind(reply, typeJSON):
		text, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("%s: %w", operation, failed(ctx, err))
		}
		err = json.Unmarshal(text, &answer)
		if reply.StatusCode >= http.StatusBadRequest && (err != nil || answer.Version == "") {
			return refusalOf(reply, operation, text) // of a proxy
		}
		if err != nil {
			return fmt.Errorf("%s: %w: the reply is no message: %w", operation, ErrDamaged, err)
		}
		if !answer.answers(id) {
			return fmt.Errorf("%s: %w: the reply is to another request, %.60q", operation, ErrDamaged, answer.ID)
		}
	case reply.StatusCode == http.StatusOK:
		return fmt.Errorf("%s: the server answers %q where messages are JSON: is it the address of an MCP "+
			"endpoint?", operation, reply.Header.Get("Content-Type"))
	default:
		return refusal(reply, operation)
	}
	return answer.outcome(reply, operation, result)
}
