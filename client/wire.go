package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repomcp/repomcp/internal/binary"
)

// carrier is what one connection is made of. receive is called by one goroutine and
// send by another.
type carrier interface {
	// mode is how bytes come beside messages.
	mode() binary.Mode
	// receive waits for what comes next, which is good until the next call. It calls
	// progress for pieces of a long message.
	receive(progress func()) (arrival, error)
	send(outgoingFrame) error
	// beside runs until ctx ends, or the connection does not answer any more.
	beside(ctx context.Context) error
	// close ends the connection for a reason, and so receive and send; nil is that of
	// the caller. It returns the reason with what is known besides.
	close(reason error) error
}

// arrival is a message, or a piece of a stream.
type arrival struct {
	isMessage bool
	message   []byte // may be blank
	stream    binary.StreamID
	kind      binary.Kind // data, end or abort
	sequence  uint32      // of frames
	data      []byte      // or the words of an abort
	end       *binary.Ref // of frames
}

// outgoingFrame is a message, or with bytes a frame.
type outgoingFrame struct {
	bytes bool
	text  []byte
}

// wire is a connection that carries messages both ways, and streams of bytes beside
// them. What breaks it is told to all who wait.
type wire struct {
	carrier carrier
	idle    time.Duration
	begun   atomic.Bool // initialize was answered
	running sync.WaitGroup
	end     context.CancelFunc // of what runs beside
	silence silence            // of what is received
	wake    chan struct{}      // something is to be sent
	done    chan struct{}      // closed when the connection is over

	mu        sync.Mutex
	over      bool // the end has begun
	err       error
	outbox    []outgoingFrame
	calls     map[int64]*call
	streams   map[binary.StreamID]*inflow
	listeners map[*listener]struct{}
	watched   map[string]int // subscriptions by URI, of sessions
}

type call struct {
	id     int64
	ctx    context.Context
	beside bool          // its answer may name streams
	answer chan answered // with room for it
}

// answered is the answer to a call, with the first of the streams that it names, or
// why there is none.
type answered struct {
	message
	result contents // of a call in binary mode
	flow   *inflow  // nil where nothing follows
	err    error
}

func newWire(c carrier, idle time.Duration) *wire {
	w := &wire{
		carrier: c, idle: idle, wake: make(chan struct{}, 1), done: make(chan struct{}),
		calls: make(map[int64]*call), streams: make(map[binary.StreamID]*inflow),
		listeners: make(map[*listener]struct{}), watched: make(map[string]int),
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.end = cancel
	w.running.Go(w.receiveAll)
	w.running.Go(w.sendAll)
	w.running.Go(func() {
		if err := c.beside(ctx); err != nil {
			w.fail(err)
		}
	})
	return w
}

// errClosed ends what was under way when the client was closed.
var errClosed = errors.New("the client was closed")

func (w *wire) close() {
	w.fail(nil)
	w.running.Wait()
}

// fail ends the connection; nil is the caller's wish. The first reason counts.
func (w *wire) fail(reason error) {
	w.mu.Lock()
	first := !w.over
	w.over = true
	w.mu.Unlock()
	if !first {
		return
	}
	err := w.carrier.close(reason)
	switch {
	case reason == nil:
		err = errClosed
	case !errors.Is(err, ErrDamaged):
		err = failed(context.Background(), err)
	}
	w.mu.Lock()
	calls, streams := w.calls, w.streams
	w.err, w.calls, w.streams = err, nil, nil
	w.mu.Unlock()
	for _, c := range calls {
		c.answer <- answered{err: err}
	}
	for _, f := range streams {
		f.finish(err)
	}
	w.end()
	close(w.done)
}

func (w *wire) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// post has something sent. It does not wait: what is posted is bounded by what
// callers wait for, and by what came.
func (w *wire) post(o outgoingFrame) {
	w.mu.Lock()
	w.outbox = append(w.outbox, o)
	w.mu.Unlock()
	signal(w.wake)
}

// signal wakes who waits, or who will wait next.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *wire) sendAll() {
	for {
		select {
		case <-w.wake:
		case <-w.done:
			return
		}
		w.mu.Lock()
		waiting := w.outbox
		w.outbox = nil
		w.mu.Unlock()
		for _, o := range waiting {
			if err := w.carrier.send(o); err != nil {
				w.fail(err)
				return
			}
		}
	}
}

func (w *wire) receiveAll() {
	var useless chatter
	for {
		a, err := w.carrier.receive(w.silence.end)
		useful := false
		switch {
		case err != nil:
		case a.isMessage:
			useful, err = w.hear(a.message)
		default:
			useful = w.pass(a)
		}
		if useful {
			w.silence.end()
		} else if err == nil {
			err = useless.add(len(a.message) + len(a.data) + 1)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // of what must not end
		}
		if err != nil {
			w.fail(damaged(err))
			return
		}
	}
}

func (w *wire) notify(method string, params map[string]any) {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err == nil { // it is of texts and numbers
		w.post(outgoingFrame{text: text})
	}
}

// ask sends a request and waits for the answer. One that is not waited for any more
// is cancelled. A connection over which nothing useful comes meanwhile counts as broken.
func (w *wire) ask(ctx context.Context, id int64, text []byte, beside bool) answered {
	c := &call{id: id, ctx: ctx, beside: beside, answer: make(chan answered, 1)}
	if err := w.open(c); err != nil {
		return answered{err: err}
	}
	w.post(outgoingFrame{text: text})
	for begun := time.Now(); ; {
		left := w.idle - w.silence.lasts(begun, true)
		if left <= 0 {
			w.fail(errIdle)
			return <-c.answer
		}
		timer := time.NewTimer(left)
		select {
		case a := <-c.answer:
			timer.Stop()
			return a
		case <-ctx.Done():
			timer.Stop()
			w.giveUp(c)
			return answered{err: ctx.Err()}
		case <-timer.C:
		}
	}
}

func (w *wire) open(c *call) error {
	w.mu.Lock()
	over := w.over
	if !over {
		w.calls[c.id] = c
	}
	w.mu.Unlock()
	if !over {
		return nil
	}
	select {
	case <-w.done: // soon, and then the reason is known
		return w.err
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// giveUp cancels a request whose answer may have come meanwhile.
func (w *wire) giveUp(c *call) {
	if w.withdraw(c) {
		return
	}
	if a := <-c.answer; a.flow != nil {
		_ = a.flow.Close() // it never fails
	}
}

// withdraw cancels a request, and reports whether it was waited for.
func (w *wire) withdraw(c *call) bool {
	w.mu.Lock()
	_, waiting := w.calls[c.id]
	delete(w.calls, c.id)
	w.mu.Unlock()
	if waiting {
		w.cancel(c.id)
	}
	return waiting
}

// cancel tells the server that an answer, or what follows it, is no longer wanted.
func (w *wire) cancel(id int64) { w.notify("notifications/cancelled", map[string]any{"requestId": id}) }

// pass gives a piece to its stream, and reports whether there is one. A piece without one
// is of a stream that was given up; if it belongs to another stream, that stream misses it
// and fails.
func (w *wire) pass(a arrival) bool {
	w.mu.Lock()
	f := w.streams[a.stream]
	w.mu.Unlock()
	if f != nil {
		f.take(a)
	}
	return f != nil
}

// follow makes the streams that an answer names. They begin right behind it. Only
// the first is wanted.
func (w *wire) follow(c *call, a *answered) error {
	if err := json.Unmarshal(a.Result, &a.result); err != nil {
		return fmt.Errorf("%w: the server's result is not understood: %w", ErrDamaged, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams == nil {
		return w.err
	}
	refs, named := a.result.refs(), make(map[binary.StreamID]bool)
	for _, ref := range refs {
		if named[ref.Stream] || w.streams[ref.Stream] != nil {
			return fmt.Errorf("%w: the stream %s is named twice", ErrDamaged, ref.Stream)
		}
		named[ref.Stream] = true
	}
	if len(refs) > 0 && a.result.Contents[0].BinaryRef != nil {
		a.flow = newInflow(w, c, refs[0])
		w.streams[refs[0].Stream] = a.flow
		refs = refs[1:]
	}
	if w.carrier.mode() == binary.ModeFrames {
		for _, ref := range refs {
			w.outbox = append(w.outbox, frame(binary.Frame{Stream: ref.Stream, Kind: binary.KindCancel}))
			signal(w.wake)
		}
	}
	return nil
}

func frame(f binary.Frame) outgoingFrame { return outgoingFrame{bytes: true, text: f.Append(nil)} }

// hear takes a message, and reports whether the client waited for it. Something that is no
// message ends the connection.
func (w *wire) hear(text []byte) (useful bool, err error) {
	var m message
	if len(text) == 0 {
		return false, nil // a blank line
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return false, fmt.Errorf("%w: what comes is no message: %.60q", ErrDamaged, text)
	}
	switch {
	case m.Method == "":
		return w.answer(m), nil
	case m.ID == nil:
		return w.told(m), nil
	default:
		w.reply(m)
		return false, nil
	}
}

// answer finds the call of an answer, and reports whether there is one: a request that was
// cancelled has none. An error without an id can only be about the one request that is
// under way.
func (w *wire) answer(m message) bool {
	w.mu.Lock()
	var found *call
	for _, c := range w.calls {
		if string(m.ID) == fmt.Sprint(c.id) || len(w.calls) == 1 && m.answers(c.id) {
			found = c
		}
	}
	if found != nil {
		delete(w.calls, found.id)
	}
	w.mu.Unlock()
	if found == nil {
		return false
	}
	a := answered{message: m}
	if m.Error == nil && found.beside {
		if err := w.follow(found, &a); err != nil {
			a = answered{err: err}
			w.cancel(found.id)
		}
	}
	found.answer <- a
	return true
}

// reply answers what the server asks for: to show that somebody is there.
func (w *wire) reply(m message) {
	reply := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{}}
	if m.Method != "ping" {
		delete(reply, "result")
		reply["error"] = map[string]any{"code": codeNoMethod, "message": "This client has no such method."}
	}
	if text, err := json.Marshal(reply); err == nil { // the id came as JSON
		w.post(outgoingFrame{text: text})
	}
}

// What is said of streams on a pipe.
const (
	eventEnd     = "notifications/binary/end"
	eventAborted = "notifications/binary/aborted"
)

// told takes a notification, and reports whether a stream or a listener waited for it.
func (w *wire) told(m message) bool {
	if m.Method == eventEnd || m.Method == eventAborted {
		var about struct {
			binary.Ref
			Message string `json:"message"`
		}
		err := json.Unmarshal(m.Params, &about)
		w.mu.Lock()
		f := w.streams[about.Stream]
		w.mu.Unlock()
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
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := false
	for l := range w.listeners {
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
