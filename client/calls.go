package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

type call struct {
	id     int64
	ctx    context.Context
	beside bool          // its answer may name streams
	answer chan answered // with room for it
}

// answered is the answer to a call, with the first of the streams that it names, or an error.
type answered struct {
	message
	result contents // of a call in binary mode
	flow   *inflow  // nil without a stream
	err    error
}

// request sends a request and waits for the answer. If the wait ends early, the request is
// cancelled. A connection over which nothing useful arrives meanwhile counts as broken.
func (conn *connection) request(ctx context.Context, id int64, text []byte, beside bool) answered {
	c := &call{id: id, ctx: ctx, beside: beside, answer: make(chan answered, 1)}
	if err := conn.open(c); err != nil {
		return answered{err: err}
	}
	conn.post(outgoingFrame{text: text})
	for begun := time.Now(); ; {
		left := conn.c.idle - conn.silence.lasts(begun, true)
		if left <= 0 {
			conn.fail(errIdle)
			return <-c.answer
		}
		timer := time.NewTimer(left)
		select {
		case a := <-c.answer:
			timer.Stop()
			return a
		case <-ctx.Done():
			timer.Stop()
			conn.giveUp(c)
			return answered{err: ctx.Err()}
		case <-timer.C:
		}
	}
}

func (conn *connection) open(c *call) error {
	conn.mu.Lock()
	over := conn.over
	if !over {
		conn.calls[c.id] = c
	}
	conn.mu.Unlock()
	if !over {
		return nil
	}
	return conn.reason(c.ctx)
}

// giveUp cancels a request whose answer may have arrived meanwhile.
func (conn *connection) giveUp(c *call) {
	if conn.withdraw(c) {
		return
	}
	if a := <-c.answer; a.flow != nil {
		_ = a.flow.Close() // it never fails
	}
}

// withdraw cancels a request, and reports whether its answer was still awaited.
func (conn *connection) withdraw(c *call) bool {
	conn.mu.Lock()
	_, waiting := conn.calls[c.id]
	delete(conn.calls, c.id)
	conn.mu.Unlock()
	if waiting {
		conn.cancel(c.id)
	}
	return waiting
}

// cancel tells the server that an answer, or its stream, is no longer wanted.
func (conn *connection) cancel(id int64) {
	conn.notify("notifications/cancelled", map[string]any{"requestId": id})
}

// pass gives a piece to its stream, and reports whether there is one. A piece without a stream
// belongs to an abandoned one; if its id is wrong, the right stream misses it and fails.
func (conn *connection) pass(a arrival) bool {
	conn.mu.Lock()
	f := conn.streams[a.stream]
	conn.mu.Unlock()
	if f != nil {
		f.take(a)
	}
	return f != nil
}

// follow opens the streams that an answer names, which begin right after it. Only the first is
// wanted.
func (conn *connection) follow(c *call, a *answered) error {
	if err := json.Unmarshal(a.Result, &a.result); err != nil {
		return fmt.Errorf("%w: the server's result is not understood: %w", ErrDamaged, err)
	}
	others, err := conn.openStream(c, a)
	if err != nil || conn.carrier.mode() != binary.ModeFrames {
		return err
	}
	for _, ref := range others {
		conn.post(frame(binary.Frame{Stream: ref.Stream, Kind: binary.KindCancel}))
	}
	return nil
}

// openStream opens the stream of the first content, and returns the others that the answer names.
func (conn *connection) openStream(c *call, a *answered) (others []binary.Ref, err error) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.streams == nil {
		return nil, conn.err
	}
	refs, named := a.result.refs(), make(map[binary.StreamID]bool)
	for _, ref := range refs {
		if named[ref.Stream] || conn.streams[ref.Stream] != nil {
			return nil, fmt.Errorf("%w: the stream %s is named twice", ErrDamaged, ref.Stream)
		}
		named[ref.Stream] = true
	}
	if len(refs) > 0 && a.result.Contents[0].BinaryRef != nil {
		a.flow = newInflow(conn, c, refs[0])
		conn.streams[refs[0].Stream] = a.flow
		refs = refs[1:]
	}
	return refs, nil
}

func frame(f binary.Frame) outgoingFrame { return outgoingFrame{bytes: true, text: f.Append(nil)} }

// handleMessage handles a message, and reports whether the client waited for it. Input that is no
// message ends the connection.
func (conn *connection) handleMessage(text []byte) (useful bool, err error) {
	var m message
	if len(text) == 0 {
		return false, nil // a blank line
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return false, fmt.Errorf("%w: what comes is no message: %.60q", ErrDamaged, text)
	}
	switch {
	case m.Method == "":
		return conn.answer(m), nil
	case m.ID == nil:
		return conn.handleNotification(m), nil
	default:
		conn.reply(m)
		return false, nil
	}
}

// answer finds the call of an answer, and reports whether there is one: a cancelled request has
// none. An error without an id can only be about a single request in flight.
func (conn *connection) answer(m message) bool {
	conn.mu.Lock()
	var found *call
	for _, c := range conn.calls {
		if string(m.ID) == fmt.Sprint(c.id) || len(conn.calls) == 1 && m.answers(c.id) {
			found = c
		}
	}
	if found != nil {
		delete(conn.calls, found.id)
	}
	conn.mu.Unlock()
	if found == nil {
		return false
	}
	a := answered{message: m}
	if m.Error == nil && found.beside {
		if err := conn.follow(found, &a); err != nil {
			a = answered{err: err}
			conn.cancel(found.id)
		}
	}
	found.answer <- a
	return true
}

// reply answers a request of the server, which proves that the client is alive.
func (conn *connection) reply(m message) {
	reply := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{}}
	if m.Method != "ping" {
		delete(reply, "result")
		reply["error"] = map[string]any{"code": codeNoMethod, "message": "This client has no such method."}
	}
	if text, err := json.Marshal(reply); err == nil { // the id came as JSON
		conn.post(outgoingFrame{text: text})
	}
}

// These notifications are about streams on a pipe.
const (
	eventEnd     = "notifications/binary/end"
	eventAborted = "notifications/binary/aborted"
)

// handleNotification handles a notification, and reports whether a stream or a listener waited for
// it.
func (conn *connection) handleNotification(m message) bool {
	if m.Method == eventEnd || m.Method == eventAborted {
		var about struct {
			binary.Ref
			Message string `json:"message"`
		}
		err := json.Unmarshal(m.Params, &about)
		conn.mu.Lock()
		f := conn.streams[about.Stream]
		conn.mu.Unlock()
		switch {
		case f == nil:
		case err != nil:
			f.stop(fmt.Errorf("%w: %w", ErrDamaged, err))
		case m.Method == eventEnd:
			f.close(about.Ref)
		default:
			f.stop(gaveUp(about.Message))
		}
		return f != nil
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	wanted := false
	for l := range conn.listeners {
		wanted = l.put(m) || wanted
	}
	return wanted
}

func gaveUp(words string) error {
	if words == "" {
		words = "it does not say why"
	}
	return fmt.Errorf("%w: the server gave the stream up: %s", io.ErrUnexpectedEOF, words)
}
