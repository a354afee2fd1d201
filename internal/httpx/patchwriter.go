package httpx

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/resources"
)

// patchWriter stands between mcp-go and the client. It mends replies: see
// [resources.Request.Patch].
//
// A JSON reply is held until it is whole, which it is in mcp-go's memory
// anyway; events pass one by one: mcp-go writes each with one call.
type patchWriter struct {
	http.ResponseWriter
	request *resources.Request // nil for streams that belong to no request
	session string             // the id of the session that a result begins, or ""

	status int
	body   bytes.Buffer
	events bool
}

// Unwrap lets [http.ResponseController] find the connection.
func (w *patchWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader holds the status of a JSON reply, which an error may change.
func (w *patchWriter) WriteHeader(status int) {
	w.status = status
	if strings.HasPrefix(w.Header().Get("Content-Type"), typeEvents) {
		w.events = true
		eventHeaders(w.Header())
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write takes a JSON reply, or one whole event.
func (w *patchWriter) Write(p []byte) (int, error) {
	if !w.events {
		return w.body.Write(p)
	}
	if _, err := w.ResponseWriter.Write(w.patchEvent(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush sends events at once.
func (w *patchWriter) Flush() {
	if w.events {
		// A connection that is gone shows at the next write.
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

var dataField = []byte("data: ")

// patchEvent mends the message in an event, whose form is that of mcp-go: an
// event line, one data line, an empty line.
func (w *patchWriter) patchEvent(event []byte) []byte {
	start := bytes.Index(event, dataField)
	if start < 0 || w.request == nil {
		return event
	}
	start += len(dataField)
	end := start + bytes.IndexByte(event[start:], '\n')
	if end < start {
		return event
	}
	patched, _ := w.request.Patch(event[start:end])
	return bytes.Join([][]byte{event[:start], bytes.TrimSpace(patched), event[end:]}, nil)
}

// finish sends the reply that was held.
func (w *patchWriter) finish() error {
	if w.events || w.status == 0 && w.body.Len() == 0 {
		return nil
	}
	reply, status := w.body.Bytes(), max(w.status, http.StatusOK)
	if w.request != nil && strings.HasPrefix(w.Header().Get("Content-Type"), typeJSON) {
		patched, code := w.request.Patch(reply)
		if code != 0 && w.request.Era == resources.ModernEra {
			status = statusOf(code, w.request.Era)
		}
		if code == 0 && w.session != "" {
			w.Header().Set(resources.HeaderSession, w.session)
		}
		reply = patched
	}
	if len(reply) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
	}
	w.ResponseWriter.WriteHeader(status)
	_, err := w.ResponseWriter.Write(reply)
	return err
}
