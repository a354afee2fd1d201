package mcp

import (
	"slices"
	"time"

	"github.com/repomcp/repomcp/internal/resources"
)

// Observer is told what became of messages, by many goroutines at a time, and must
// not wait.
type Observer interface {
	// Message tells of the end of a message.
	Message(Exchange)
	// Session tells of the end of a connection that was a session. Sessions over HTTP
	// are ids, which end nowhere.
	Session(Session)
}

// The outcomes of a message, and of an HTTP request.
const (
	OutcomeDone     = "done"
	OutcomeError    = "error"   // there was a reply, and it says that something failed
	OutcomeAborted  = "aborted" // the reply, or a stream of it, did not end
	OutcomePanicked = "panicked"
)

// OutcomeOf is how a message was answered that has an account.
func OutcomeOf(account *resources.Account) string {
	if account.Facts().Failed {
		return OutcomeError
	}
	return OutcomeDone
}

// Exchange is a message of MCP that was answered, whatever carried it.
type Exchange struct {
	Transport string // http, websocket or stdio
	Method    string // as the client wrote it
	Tool      string // that was called; "" for none
	Outcome   string
	Bytes     int64
	Took      time.Duration
	Details   Details
}

// Details are what else is known of an exchange. Nothing of them is made for it: who
// wants none of it pays nothing.
type Details struct {
	// Request is the message, of which only that is known for sure that was read from
	// it: it may have been refused.
	Request *Request
	Account *resources.Account
	Origin  Origin
	Status  int // of HTTP; 0 for other transports
}

// Origin is where messages come from.
type Origin struct {
	Client    string // the address of the connection, without a port; "" where there is none
	RequestID string // that finds the line of the log
	Principal string // the id of who asks; "" for anybody
	Trace     TraceContext
}

// Session is a connection that has ended.
type Session struct {
	Transport string
	Version   string // of the protocol
	Took      time.Duration
	Origin    Origin
}

// TraceContext names what a message is a part of (W3C Trace Context), as it was sent:
// it may be anything.
type TraceContext struct{ Parent, State string }

// The members of _meta that carry a trace context, without a prefix (SEP-414).
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
)

// TraceContext is that of the message itself.
func (p Params) TraceContext() TraceContext {
	return TraceContext{Parent: text(p.meta[metaTraceParent]), State: text(p.meta[metaTraceState])}
}

// Prompt is the name that a prompts/get asks for; "" for other methods.
func (r *Request) Prompt() string {
	if r.Method != MethodPromptsGet {
		return ""
	}
	name, _ := r.Params.name()
	return name
}

// Protocol is the version of the protocol that the request was served with, as far as
// one was agreed on.
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

// IsMethod reports whether there is a method, or a notification, of that name in any
// era.
func IsMethod(name string) bool {
	others := []string{MethodStream, MethodListen, MethodInitialized, MethodCancelled}
	return methods[name].serve != nil || slices.Contains(others, name)
}
