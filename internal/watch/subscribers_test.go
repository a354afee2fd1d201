package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
)

// ear is a client without a transport.
type ear chan Change

// errFull says that an ear takes no more.
var errFull = errors.New("the queue is full")

func (e ear) send(change Change) error {
	select {
	case e <- change:
		return nil
	default:
		return errFull
	}
}

func (e ear) next(t *testing.T) string {
	t.Helper()
	return e.await(t).URI
}

func (e ear) await(t *testing.T) Change {
	t.Helper()
	select {
	case change := <-e:
		return change
	case <-time.After(gittest.Patience):
		t.Fatal("there is no notification")
		return Change{}
	}
}

// subscriptionsOf makes subscriptions over a root.
func subscriptionsOf(t *testing.T, root string, options Options) *Subscriptions {
	t.Helper()
	catalogue, err := repos.Open(root, repos.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalogue.Close(); err != nil {
			t.Error(err)
		}
	})
	options.Catalogue = catalogue
	return New(options)
}

// listening makes subscriptions over one repository that tell of changes.
func listening(t *testing.T) (*Subscriptions, *gittest.Repo) {
	t.Helper()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("a", "0"))
	s := subscriptionsOf(t, root, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s, repo
}

const branchURI = "repo://repo/refs/heads/main"

func TestClientThatDoesNotReadIsToldOnceLater(t *testing.T) {
	s, repo := listening(t)
	slow, fast := make(ear), make(ear, 100)
	const other = "repo://repo/refs/heads/other"
	for _, listener := range []ear{slow, fast} {
		stream, refused := s.Open(t.Context(), "", []string{branchURI, other}, false)
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		s.Connect(t.Context(), stream, &Stream{Send: listener.send})
	}
	for i := range 3 {
		repo.Commit("main", gittest.Regular("a", string(rune('1'+i))))
		if got := fast.next(t); got != branchURI {
			t.Fatal(got)
		}
	}
	if got := slow.next(t); got != branchURI {
		t.Fatal(got)
	}
	// Only one was kept: the next is of what comes now.
	repo.Commit("other", gittest.Regular("a", "1"))
	if got := slow.next(t); got != other {
		t.Fatal(got)
	}
}

func TestStreamIsToldNothingBeforeItBegins(t *testing.T) {
	s, repo := listening(t)
	early, late := make(ear, 100), make(ear, 100)
	first, _ := s.Open(t.Context(), "", []string{branchURI}, false)
	s.Connect(t.Context(), first, &Stream{Send: early.send})
	second, _ := s.Open(t.Context(), "", []string{branchURI}, false)
	repo.Commit("main", gittest.Regular("a", "1"))
	if got := early.next(t); got != branchURI || len(late) != 0 {
		t.Fatalf("%s, and %d before the beginning", got, len(late))
	}
	s.Connect(t.Context(), second, &Stream{Send: late.send})
	if got := late.next(t); got != branchURI {
		t.Fatal(got)
	}
}

// What a lost stream has sent is sent again on the next one, from where its client says that it was; once, as
// a client that does not say would get it for ever.
func TestNextStreamBringsWhatTheLastOneMayHaveLost(t *testing.T) {
	s, repo := listening(t)
	const other = "repo://repo/refs/heads/other"
	for _, uri := range []string{branchURI, other} {
		if err := s.Subscribe(t.Context(), "one", "", uri); err != nil {
			t.Fatal(err)
		}
	}
	connect := func(seen int64, replaced func()) ear {
		t.Helper()
		e := make(ear, 100)
		s.Connect(t.Context(), "one", &Stream{Send: e.send, Replaced: replaced, Seen: seen})
		return e
	}
	expect := func(e ear, what string, uris ...string) (last int64) {
		t.Helper()
		for _, want := range uris {
			got := e.await(t)
			if got.URI != want || got.Number <= last {
				t.Fatalf("%s: %+v after %d, want %q", what, got, last, want)
			}
			last = got.Number
		}
		return last
	}
	lost := connect(0, nil)
	repo.Commit("main", gittest.Regular("a", "1"))
	first := expect(lost, "the first stream", branchURI)
	repo.Commit("other", gittest.Regular("a", "1"))
	second := expect(lost, "the first stream", other)

	ended := 0
	resumed := connect(first, func() { ended++ })
	if got := expect(resumed, "one that has seen the first", other); got != second {
		t.Errorf("the number of the second is %d, and then %d", second, got)
	}
	s.Disconnect("one", nil) // an earlier stream ends late
	repo.Commit("main", gittest.Regular("a", "2"))
	third := expect(resumed, "one that was not replaced", branchURI)

	hears := make(ear, 100)
	silent := &Stream{Send: hears.send}
	s.Connect(t.Context(), "one", silent)
	if expect(hears, "one that does not say", branchURI); ended != 1 {
		t.Errorf("the earlier stream was ended %d times", ended)
	}
	s.Disconnect("one", silent)
	repo.Commit("other", gittest.Regular("a", "2"))
	gittest.Await(t, "the change waits for a stream", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.clients["one"].subscriptions[other].number > third
	})
	for range 2 { // the first may be lost with it
		expect(connect(0, nil), "one after a pause", other)
	}
	for name, seen := range map[string]int64{"another": 0, "one with a number of the future": third + 1e6} {
		e := connect(seen, nil)
		repo.Commit("other", gittest.Regular("a", name))
		expect(e, name, other) // and nothing before
		connect(0, nil)
	}
	expect(connect(first, nil), "one with an old number", branchURI, other)
}

// What does not exist before and after a push has not changed, whoever watches it.
func TestWhatIsMissingDoesNotChange(t *testing.T) {
	s, repo := listening(t)
	var ears []ear
	for _, id := range []string{"one", "two", "three"} {
		for _, uri := range []string{
			"repo://repo/compare/none...main.diff", "repo://repo/compare/main...none.diff", "repo://repo/commit/none.patch",
			"repo://repo/archive/none.tar", "repo://repo/archive/main~100.tar.gz", branchURI,
		} {
			if err := s.Subscribe(t.Context(), id, "", uri); err != nil {
				t.Fatal(err)
			}
		}
		e := make(ear, 100)
		s.Connect(t.Context(), id, &Stream{Send: e.send})
		ears = append(ears, e)
	}
	for i := range 8 {
		repo.Commit("main", gittest.Regular("a", strconv.Itoa(i+1)))
		for _, e := range ears {
			if uri := e.next(t); uri != branchURI {
				t.Errorf("push %d: %s", i, uri)
			}
		}
	}
}

// The first stream of a session brings along what the session watched on another server's, and a later one does not:
// this server knows better.
func TestFirstStreamBringsWhatWasWatchedElsewhere(t *testing.T) {
	s, repo := listening(t)
	const other, absent = "repo://repo/refs/heads/other", "repo://none/refs/heads/main"
	connect := func(session string, watched ...string) ear {
		t.Helper()
		e := make(ear, 100)
		s.Connect(t.Context(), session, &Stream{
			Send: e.send, Seen: 7, Resumes: true, Watched: watched, Address: "192.0.2.1",
		})
		return e
	}
	hears := connect("one", branchURI, absent, "https://example.com", "repo://")
	last := int64(7)
	for _, uri := range []string{branchURI, absent, ""} { // what may have changed meanwhile, and the list
		got := hears.await(t)
		if got.URI != uri || got.Number <= last {
			t.Fatalf("%+v after %d, want %q", got, last, uri)
		}
		last = got.Number
	}
	repo.Commit("main", gittest.Regular("a", "1"))
	if got := hears.next(t); got != branchURI {
		t.Fatal(got)
	}
	if watched := s.Watched("one"); !slices.Equal(watched, []string{absent, branchURI}) {
		t.Errorf("watched: %q", watched)
	}
	s.mu.Lock()
	counted := s.byAddress["192.0.2.1"]
	s.mu.Unlock()
	if counted != 2 {
		t.Errorf("%d subscriptions count for the address", counted)
	}
	s.Unsubscribe("one", branchURI)
	connect("one", branchURI, other)
	if watched := s.Watched("one"); !slices.Equal(watched, []string{absent}) {
		t.Errorf("watched after the second stream: %q", watched)
	}

	most := make([]string, 0, 2*defaultSessionSubscriptions)
	for i := range cap(most) {
		most = append(most, fmt.Sprintf("repo://none/contents/%d", i))
	}
	connect("two", most...)
	if n := len(s.Watched("two")); n != defaultSessionSubscriptions {
		t.Errorf("%d of %d resources are watched again", n, len(most))
	}
	connect("three", "", "https://example.com")
	if watched := s.Watched("three"); len(watched) != 0 {
		t.Errorf("watched: %q", watched)
	}
}

func TestSessionsAreForgottenAfterTheirGrace(t *testing.T) {
	s, _ := listening(t)
	held := func() (clients, watched int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.clients), s.watcher.Len()
	}
	expect := func(what string, clients, watched int) {
		t.Helper()
		if c, w := held(); c != clients || w != watched {
			t.Errorf("%s: %d clients and %d repositories, want %d and %d", what, c, w, clients, watched)
		}
	}
	if err := s.Subscribe(t.Context(), "one", "", branchURI); err != nil {
		t.Fatal(err)
	}
	one := &Stream{Send: make(ear, 1).send}
	s.Connect(t.Context(), "one", one)
	s.sweep(time.Now().Add(2 * sessionGrace))
	expect("connected", 1, 1)
	s.Disconnect("one", one)
	s.sweep(time.Now())
	expect("within the grace", 1, 1)
	s.sweep(time.Now().Add(2 * sessionGrace))
	expect("after it", 0, 0)
	// One that never had a stream.
	if err := s.Subscribe(t.Context(), "one", "", branchURI); err != nil {
		t.Fatal(err)
	}
	s.sweep(time.Now().Add(2 * sessionGrace))
	expect("without a stream", 0, 0)
	if s.total != 0 || len(s.byRepository) != 0 {
		t.Errorf("%d subscriptions are left: %v", s.total, s.byRepository)
	}
}

func TestStreamThatEndsIsForgotten(t *testing.T) {
	s, _ := listening(t)
	stream, refused := s.Open(t.Context(), "", []string{branchURI, "repo://unknown", "https://example.com/"}, false)
	if len(refused) != 1 || !errors.Is(refused["https://example.com/"], ErrForeign) || s.watcher.Len() != 1 {
		t.Errorf("%v are refused, of %d repositories", refused, s.watcher.Len())
	}
	s.Forget(stream)
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := len(s.clients) + s.total + s.watcher.Len(); left != 0 {
		t.Error("something is left of the stream")
	}
}

// A subscription that ends while it is being made lets go of its repository once: others
// that watch the same would hear of nothing any more.
func TestSubscriptionThatEndsWhileItIsMade(t *testing.T) {
	s, repo := listening(t)
	kept := make(ear, 100)
	stream, _ := s.Open(t.Context(), "", []string{branchURI}, false)
	s.Connect(t.Context(), stream, &Stream{Send: kept.send})
	for name, step := range map[string]func(added *subscription, bind func()) (unwatched string){
		"before it is bound": func(added *subscription, bind func()) string {
			unwatched := s.end(added)
			bind()
			return unwatched
		},
		"after it": func(added *subscription, bind func()) string {
			bind()
			return s.end(added)
		},
	} {
		find := func() *client { return s.ofSession(t.Context(), "session") }
		added, err := s.reserve(find, branchURI, "")
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		unwatched := step(added, func() {
			s.mu.Unlock()
			defer s.mu.Lock()
			if err := s.bind(t.Context(), added); err != nil {
				t.Error(err)
			}
		})
		s.mu.Unlock()
		s.unwatch(unwatched)
		s.watcher.mu.Lock()
		if w := s.watcher.watched["repo"]; w == nil || w.users != 1 {
			t.Errorf("%s: the one that is left does not watch the repository: %v", name, w)
		}
		s.watcher.mu.Unlock()
	}
	repo.Commit("main", gittest.Regular("a", "1"))
	if got := kept.next(t); got != branchURI || s.Count() != 1 {
		t.Errorf("%s, of %d subscriptions", got, s.Count())
	}
}

func TestNewTakeThePlaceOfThoseWithoutAStream(t *testing.T) {
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("a", "0"))
	s := subscriptionsOf(t, root, Options{PerSession: 2, Total: 4})
	subscribe := func(session, address, uri string) error { return s.Subscribe(t.Context(), session, address, uri) }
	watched := func() (sessions string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, session := range []string{"a", "b", "c", "d", "e"} {
			if c := s.clients[session]; c != nil {
				sessions += fmt.Sprint(session, len(c.subscriptions))
			}
		}
		return sessions
	}
	stream := &Stream{Send: make(ear, 1).send}
	s.Connect(t.Context(), "a", stream)
	for _, c := range []struct{ session, address, uri string }{
		{"a", "10.0.0.1", branchURI}, {"b", "10.0.0.1", branchURI}, {"c", "10.0.0.2", branchURI},
		{"d", "10.0.0.3", branchURI},
	} {
		if err := subscribe(c.session, c.address, c.uri); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
	}
	// An address has half of all subscriptions, even without other clients.
	if err := subscribe("e", "10.0.0.1", branchURI); err == nil || watched() != "a1b1c1d1" {
		t.Errorf("the third of an address: %v, %s", err, watched())
	}
	// b has been without a stream for longest; a has one.
	if err := subscribe("e", "10.0.0.4", branchURI); err != nil || watched() != "a1c1d1e1" {
		t.Errorf("the fifth of all: %v, %s", err, watched())
	}
	if err := subscribe("d", "10.0.0.3", "repo://repo"); err != nil || watched() != "a1d2e1" {
		t.Errorf("one more of a session: %v, %s", err, watched())
	}
	// A forgotten client subscribes again.
	if err := subscribe("b", "10.0.0.1", branchURI); err != nil || watched() != "a1b1e1" {
		t.Errorf("one that comes back: %v, %s", err, watched())
	}
	for _, session := range []string{"a", "b", "e"} {
		s.Unsubscribe(session, branchURI)
	}
	// Only the session with a stream is known now, and nothing is left of others.
	if s.total != 0 || watched() != "a0" || len(s.clients) != 1 || len(s.byAddress) != 0 || len(s.waiting) != 0 ||
		s.watcher.Len() != 0 {
		t.Errorf("left: %d, %s, %v", s.total, watched(), s.byAddress)
	}
	s.Disconnect("a", stream)
	if len(s.clients) != 0 {
		t.Errorf("left: %v", s.clients)
	}
}

func TestSubscriptionsOfAllWithAStreamAreNotEvicted(t *testing.T) {
	s := subscriptionsOf(t, t.TempDir(), Options{Total: 2})
	for _, session := range []string{"a", "b"} {
		s.Connect(t.Context(), session, &Stream{Send: make(ear, 1).send})
		if err := s.Subscribe(t.Context(), session, "", branchURI); err != nil {
			t.Fatal(err)
		}
	}
	var bound *BoundError
	if err := s.Subscribe(t.Context(), "c", "", branchURI); !errors.As(err, &bound) || bound.Bound != Total ||
		bound.Most != 2 {
		t.Errorf("a third: %v", err)
	}
	if len(s.clients) != 2 {
		t.Errorf("%d clients are known, want 2", len(s.clients))
	}
}
