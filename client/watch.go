package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/repomcp/repomcp/client/internal/retry"
)

const (
	methodListen      = "subscriptions/listen"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	eventUpdated      = "notifications/resources/updated"

	// ackTimeout is how long a server may take to acknowledge a subscription. A proxy that holds
	// events back never delivers the acknowledgement.
	ackTimeout = 10 * time.Second
	// looksBetween are the looks after which the client tries again to subscribe at a server that
	// sent no events.
	looksBetween = 20
	// looksInTurn bounds the regular looks where events arrive, so that they delay none of these for long.
	looksInTurn = 10
	// lookAgainAfter is longer than a server waits for the end of a push, and than the mirrors of
	// several servers usually lag.
	// The server reports differences from its last report: if the client has seen a state in between
	// that was undone meanwhile, it is told nothing.
	lookAgainAfter = 2 * time.Second
)

// State is the state of a watched resource.
type State struct {
	URI string
	// ETag changes when the resource does.
	ETag   string
	Commit string // the resource's commit, if it has one and says so
	// Missing says that the resource does not exist, or no longer.
	Missing bool
	// Content is as [Client.Read] returns it; nil if the state is known without it.
	Content []byte

	how look // that found the state
}

// isSame reports whether nothing tells one state from another. A commit in place of an ETag stands for none: over a
// connection a server may know the digest of the bytes, or not yet.
func (s State) isSame(other State) bool {
	unnamed := s.ETag == s.Commit || other.ETag == other.Commit
	return s.Missing == other.Missing && (s.ETag == other.ETag || unnamed && s.Commit == other.Commit)
}

// look is a way to find out a resource's state.
type look uint8

const (
	byHead   look = iota // of its plain download
	byRead               // resources/read, whose bytes make an ETag
	byStream             // the headers of resources/stream
)

// Watch yields the state of each resource, and then each later state that it finds: two changes
// between two looks are one, and changes during a lost connection are not missed.
//
// It subscribes to changes (resources/subscribe or subscriptions/listen) if the server and the
// proxies support that, and looks every Options.Poll; where events arrive, at ten resources in turn.
// It survives any outage of the server, and ends when the loop is left, when ctx ends, or when the
// server refuses: an error ends the iteration.
func (c *Client) Watch(ctx context.Context, uris ...string) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		// Everything that still runs ends with the loop.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w := &watch{c: c, uris: uris, yield: yield, states: make(map[string]State),
			again: time.NewTimer(lookAgainAfter)}
		defer w.again.Stop()
		if err := w.run(ctx); !errors.Is(err, errLeft) {
			yield(State{}, err)
		}
	}
}

var (
	errLeft     = errors.New("the loop was left")
	errNoEvents = errors.New("the server does not tell of changes")
	errEnded    = fmt.Errorf("%w: the server ended the stream of events", ErrNetwork)
)

// watch is one loop over states. It runs in the goroutine of its caller.
type watch struct {
	c        *Client
	uris     []string
	yield    func(State, error) bool
	states   map[string]State // yielded, by URI
	again    *time.Timer      // for the look after an event, and after one that found a change
	failures *retry.Failures
	missed   int // failed first looks in a row
	turn     int // index of the resource of the last look in turn
}

// run makes attempts to look and to listen. It ends for permanent errors; within a checkout.Follow
// it leaves it to Follow to wait for an absent server.
func (w *watch) run(ctx context.Context) error {
	failures, outer := retry.Join(ctx)
	w.failures, ctx = failures, retry.Attempt(ctx)
	for {
		err := w.attempt(ctx)
		switch {
		case errors.Is(err, errLeft):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			continue
		case !isTransient(err), outer && w.missed > w.c.retries:
			return err
		}
		if err := w.c.wait(ctx, w.failures, err); err != nil {
			return err
		}
	}
}

// attempt looks, and then looks again at each event and every Options.Poll.
func (w *watch) attempt(ctx context.Context) error {
	// The first look must not wait for an event stream.
	w.missed++
	if err := w.lookAtAll(ctx); err != nil {
		return err
	}
	w.missed = 0
	err := w.listen(ctx)
	if errors.Is(err, errNoEvents) {
		err = w.poll(ctx)
	}
	return err
}

func (w *watch) poll(ctx context.Context) error {
	for range looksBetween {
		if err := retry.Sleep(ctx, w.c.options.Poll); err != nil {
			return err
		}
		if err := w.lookAtAll(ctx); err != nil {
			return err
		}
		w.failures.Forget()
	}
	return nil
}

// listen looks whenever the server reports a change, until the stream ends.
func (w *watch) listen(ctx context.Context) error {
	arrived, end, err := w.subscribe(ctx)
	if refused(err) {
		return errNoEvents
	}
	if err != nil {
		return err
	}
	defer end()
	// Changes before the stream began are not reported.
	if err := w.lookAtAll(ctx); err != nil {
		return err
	}
	// Events are hints: a proxy may hold back a stream that has delivered nothing yet, and behind a
	// balancer the look after an event may reach another server, whose mirror has the push later.
	regular := time.NewTicker(w.c.options.Poll)
	defer regular.Stop()
	regularly := w.lookAtAll
	if s := w.c.current(); s.protocol == stateless {
		regularly = w.lookInTurn // the first event was read
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-arrived:
			regularly = w.lookInTurn
			err = w.handleEvent(ctx, e)
		case <-regular.C:
			err = regularly(ctx)
		case <-w.again.C:
			err = w.lookAtAll(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// handleEvent looks at the subject of an event, and returns why a stream has ended.
func (w *watch) handleEvent(ctx context.Context, e event) error {
	switch {
	case e.err != nil:
		return fmt.Errorf("events: %w", failed(ctx, e.err))
	case e.Method == eventUpdated:
		w.failures.Forget()
		w.again.Reset(lookAgainAfter)
		return w.lookAt(ctx, e.message)
	case e.Method == "":
		return errEnded // the answer to the subscription
	default:
		return nil
	}
}

// event is a message of a stream, or the error that ended it.
type event struct {
	message
	err error
}

// subscribe begins an event stream within a time limit. A goroutine reads it until it fails, which
// end causes.
func (w *watch) subscribe(ctx context.Context) (_ <-chan event, end func(), err error) {
	ctx, giveUp := context.WithCancel(ctx)
	timer := time.AfterFunc(w.c.ack, giveUp)
	next, err := w.begin(ctx)
	if !timer.Stop() {
		err = errNoEvents
	}
	if err != nil {
		giveUp() // closes what was opened
		return nil, nil, err
	}
	out := make(chan event)
	var reading sync.WaitGroup
	reading.Go(func() {
		for err := error(nil); err == nil; {
			var m message
			m, err = next()
			select {
			case out <- event{m, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	return out, func() { giveUp(); reading.Wait() }, nil
}

// begin opens an event stream about all watched resources.
func (w *watch) begin(ctx context.Context) (events, error) {
	next, s, err := w.c.reach().listen(ctx, w.uris)
	if err != nil {
		return nil, err
	}
	if s.protocol == stateless {
		return next, w.acknowledged(ctx, next)
	}
	for _, uri := range w.uris {
		if _, err := w.c.ask(ctx, s, methodSubscribe, map[string]any{"uri": uri}, nil); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// listening is the request for events about resources in 2026-07-28.
func listening(uris []string) outgoing {
	return outgoing{methodListen, map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}}}
}

// acknowledged fails unless the first event names all watched resources.
func (w *watch) acknowledged(ctx context.Context, next events) error {
	first, err := next()
	if err != nil {
		return fmt.Errorf("%s: %w", methodListen, failed(ctx, err))
	}
	if err := first.outcome(noReply, methodListen, nil); err != nil {
		return err
	}
	var begun struct {
		Notifications struct{ ResourceSubscriptions []string }
	}
	_ = json.Unmarshal(first.Params, &begun) // any other event names nothing
	for _, uri := range w.uris {
		if !slices.Contains(begun.Notifications.ResourceSubscriptions, uri) {
			return errNoEvents
		}
	}
	return nil
}

// lookAt looks at the subject of an event: a watched resource, or one below it.
func (w *watch) lookAt(ctx context.Context, event message) error {
	var about struct{ URI string }
	if json.Unmarshal(event.Params, &about) == nil && slices.Contains(w.uris, about.URI) {
		return w.look(ctx, about.URI)
	}
	return w.lookAtAll(ctx)
}

func (w *watch) lookAtAll(ctx context.Context) error {
	for _, uri := range w.uris {
		if err := w.look(ctx, uri); err != nil {
			return err
		}
	}
	return nil
}

// lookInTurn looks at some resources, and the next time at others: events wait meanwhile.
func (w *watch) lookInTurn(ctx context.Context) error {
	for range min(len(w.uris), looksInTurn) {
		w.turn = (w.turn + 1) % len(w.uris)
		if err := w.look(ctx, w.uris[w.turn]); err != nil {
			return err
		}
	}
	return nil
}

// look yields the state of a resource, unless that was the last one yielded.
func (w *watch) look(ctx context.Context, uri string) error {
	before, known := w.states[uri]
	now, err := w.c.state(ctx, uri, before)
	if err != nil {
		return err
	}
	same := known && now.isSame(before)
	if !same || now.ETag != now.Commit {
		w.states[uri] = State{ETag: now.ETag, Commit: now.Commit, Missing: now.Missing, how: now.how}
	}
	if same {
		return nil
	}
	w.again.Reset(lookAgainAfter)
	if !w.yield(now, nil) {
		return errLeft
	}
	return nil
}

// state finds out the state of a resource: by the ETag of its download if it has one, else by
// reading it, and by beginning to stream archives and resources that are too large to be read.
func (c *Client) state(ctx context.Context, uri string, before State) (now State, err error) {
	if address := c.plainAddress(uri); address != nil && before.how == byHead {
		now, err := c.stateFromHead(ctx, uri, address, before)
		if err != nil || now.ETag != "" {
			return now, err
		}
	}
	if before.how == byStream || isArchive(uri) {
		now, err = c.stateFromStream(ctx, uri)
	} else if now, err = c.stateFromRead(ctx, uri); needsStream(err) {
		now, err = c.stateFromStream(ctx, uri)
	}
	if refused, ok := errors.AsType[*Error](err); ok && refused.NotFound() {
		return State{URI: uri, Missing: true}, nil
	}
	return now, err
}

// needsStream reports whether a server refuses to read a resource that it would stream.
func needsStream(err error) bool {
	denied, _ := errors.AsType[*Error](err)
	return refused(err) && !denied.NotFound()
}

// stateFromRead is the state according to resources/read.
func (c *Client) stateFromRead(ctx context.Context, uri string) (State, error) {
	content, err := c.Read(ctx, uri)
	if err != nil {
		return State{}, err
	}
	now := State{URI: uri, ETag: fmt.Sprintf(`"%x"`, sha256.Sum256(content.Bytes)), Content: content.Bytes, how: byRead}
	var ref struct{ Commit string }
	if json.Unmarshal(content.Bytes, &ref) == nil { // else it is a file
		now.Commit = ref.Commit
	}
	return now, nil
}

// stateFromStream is the state according to the headers of a download, which it then aborts.
func (c *Client) stateFromStream(ctx context.Context, uri string) (State, error) {
	reply, err := c.stream(ctx, uri, part{})
	if err != nil {
		return State{}, err
	}
	var d Download
	d.describe(reply.Header, uri)
	now := State{URI: uri, ETag: unmarked(d.ETag), Commit: d.Commit, how: byStream}
	if now.ETag = cmp.Or(now.ETag, now.Commit); now.ETag == "" {
		err = fmt.Errorf("state of %s: the server gives neither an ETag nor a commit to compare", uri)
	}
	return now, errors.Join(err, reply.Body.Close())
}

// stateFromHead compares the ETag of a download without reading or generating it. A reply without
// an ETag is no state: the download may be elsewhere.
func (c *Client) stateFromHead(ctx context.Context, uri string, address *url.URL, before State) (State, error) {
	now, operation := State{URI: uri}, "state of "+uri
	header := http.Header{}
	if before.ETag != "" {
		header.Set("If-None-Match", before.ETag)
	}
	reply, err := c.head(ctx, address, operation, header) //nolint:bodyclose // head has closed it
	if err != nil {
		return now, err
	}
	switch reply.StatusCode {
	case http.StatusNotModified:
		now.ETag, now.Commit = before.ETag, before.Commit
	case http.StatusOK:
		now.ETag, now.Commit = reply.Header.Get("ETag"), commitOf(immutable(reply.Header))
	}
	return now, nil
}
