package mcp

import (
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/resources"
)

// Observer is told about messages, by many goroutines at a time, and must not block.
type Observer interface {
	// Message reports the end of a message.
	Message(Exchange)
	// Session reports the end of a connection that was a session. Sessions over HTTP are ids, which
	// have no end.
	Session(Session)
}

// The outcomes of a message, and of an HTTP request.
const (
	OutcomeDone     = "done"
	OutcomeError    = "error"   // the reply is an error
	OutcomeAborted  = "aborted" // the reply, or a stream of it, did not end
	OutcomePanicked = "panicked"
)

// OutcomeOf returns the outcome of a message from its account.
func OutcomeOf(account *resources.Account) string {
	if account.Summary().Failed {
		return OutcomeError
	}
	return OutcomeDone
}

// Exchange is an answered MCP message, over any transport.
type Exchange struct {
	Transport string // http, websocket or stdio
	Method    string // as the client wrote it
	Tool      string // the called tool; "" for none
	Outcome   string
	Bytes     int64
	Took      time.Duration
	Details   Details
}

// Details are further properties of an exchange. They are computed on demand, so observers that do
// not use them pay nothing.
type Details struct {
	// Request is the message. It may have been refused, so only the fields that were read are set.
	Request *Request
	Account *resources.Account
	Origin  Origin
	Status  int // of HTTP; 0 for other transports
}

// Origin is where messages come from.
type Origin struct {
	Client    string // the address of the connection, without a port; "" where there is none
	RequestID string // of the log entry
	Principal string // the id of the client; "" without authentication
	Trace     TraceContext
}

// Session is a connection that has ended.
type Session struct {
	Transport string
	Version   string // of the protocol
	Took      time.Duration
	Origin    Origin
}

// TraceContext names the trace of a message (W3C Trace Context), as it was sent: it may be
// anything.
type TraceContext struct{ Parent, State string }

// The members of _meta that carry a trace context, without a prefix (SEP-414).
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
)

// TraceContext returns the trace context in the message itself.
func (p Params) TraceContext() TraceContext {
	return TraceContext{Parent: text(p.meta[metaTraceParent]), State: text(p.meta[metaTraceState])}
}

// Prompt is the name in a prompts/get request; "" for other methods.
func (r *Request) Prompt() string {
	if r.Method != MethodPromptsGet {
		return ""
	}
	name, _ := r.Params.name()
	return name
}

// Protocol is the version of the protocol that served the request, if one was agreed on.
func (r *Request) Protocol() string {
	if r.begun != nil {
		return r.begun.Version
	}
	return r.Version
}

// Protocol is the version that initialize agreed on; "" before it.
func (c *Connection) Protocol() string {
	if c.claims == nil {
		return ""
	}
	return c.claims.Version
}

// IsMethod reports whether any era has a method or notification of that name.
func IsMethod(name string) bool {
	others := []string{MethodStream, MethodListen, MethodInitialized, MethodCancelled}
	return methods[name].serve != nil || slices.Contains(others, name)
}
