package mcp

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/watch"
)

// ways are how changes are noticed: told by the kernel, or by looking alone.
var ways = map[string]watch.Options{"events": {}, "looking": {NoEvents: true}}

// pushed is a mirror, the repository that is pushed to it, and what the test
// watches.
type pushed struct {
	mirror, source *gittest.Repo
}

func (p pushed) push(refspecs ...string) {
	p.source.Git(append([]string{"push", "--quiet", p.mirror.Dir}, refspecs...)...)
}

const (
	watchedBranch  = "repo://repo/refs/heads/main"
	watchedTag     = "repo://repo/refs/tags/v1"
	watchedFile    = "repo://repo/refs/heads/main/contents/src/a.go"
	watchedFolder  = "repo://repo/contents/src"
	watchedArchive = "repo://repo/archive/main.tar.gz"
	watchedFork    = "repo://repo/refs/heads/dir/fork"
	canary         = "repo://repo/refs/heads/canary"
)

// moves are what git does to a mirror, with what changes for subscribers.
var moves = []struct {
	name string
	do   func(p pushed)
	want []string
}{
	{"push to the path", func(p pushed) {
		p.source.Commit("main", gittest.Regular("src/a.go", "2"), gittest.Regular("doc/b", "1"))
		p.push("main")
	}, []string{watchedBranch, watchedFile, watchedFolder, watchedArchive}},
	{"push to another path", func(p pushed) {
		p.source.Commit("main", gittest.Regular("src/a.go", "2"), gittest.Regular("doc/b", "2"))
		p.push("main")
	}, []string{watchedBranch, watchedArchive}},
	{"push to another file of the folder", func(p pushed) {
		p.source.Commit("main", gittest.Regular("src/a.go", "2"), gittest.Regular("src/c.go", "2"),
			gittest.Regular("doc/b", "2"))
		p.push("main")
	}, []string{watchedBranch, watchedFolder, watchedArchive}},
	{"pack-refs", func(p pushed) { p.mirror.Git("pack-refs", "--all") }, nil},
	{"repack", func(p pushed) { p.mirror.Git("repack", "-adq") }, nil},
	{"gc", func(p pushed) { p.mirror.Git("gc", "--quiet", "--prune=now") }, nil},
	{"fetch of nothing",
		func(p pushed) { p.mirror.Git("fetch", "--quiet", p.source.Dir, "+refs/heads/main:refs/heads/main") }, nil},
	{"fetch", func(p pushed) {
		p.source.Commit("main", gittest.Executable("src/a.go", "2"), gittest.Regular("src/c.go", "2"),
			gittest.Regular("doc/b", "2"))
		p.mirror.Git("fetch", "--quiet", p.source.Dir, "+refs/heads/*:refs/heads/*")
	}, []string{watchedBranch, watchedFile, watchedFolder, watchedArchive}},
	{"forced push", func(p pushed) { p.push("--force", "main~1:refs/heads/main") },
		[]string{watchedBranch, watchedFile, watchedFolder, watchedArchive}},
	{"new tag", func(p pushed) { p.push("main:refs/tags/v1") }, []string{watchedTag}},
	{"moved tag", func(p pushed) { p.push("--force", "main~2:refs/tags/v1") }, []string{watchedTag}},
	{"deleted tag", func(p pushed) { p.push(":refs/tags/v1") }, []string{watchedTag}},
	{"new branch in a new folder", func(p pushed) { p.push("main:refs/heads/dir/fork") }, []string{watchedFork}},
	{"branch in place of the folder", func(p pushed) { p.push(":refs/heads/dir/fork"); p.push("main:refs/heads/dir") },
		[]string{watchedFork}},
	{"folder in place of the branch", func(p pushed) { p.push(":refs/heads/dir"); p.push("main:refs/heads/dir/fork") },
		[]string{watchedFork}},
	{"pack-refs of all that is loose", func(p pushed) { p.mirror.Git("pack-refs", "--all", "--prune") }, nil},
	{"deleted packed branch", func(p pushed) { p.push(":refs/heads/dir/fork") }, []string{watchedFork}},
	{"another default branch", func(p pushed) { p.mirror.Git("symbolic-ref", "HEAD", "refs/heads/other") },
		[]string{watchedFolder}},
}

func TestSubscribersHearOfWhatMovedAndOfNothingElse(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, mirror := newWatched(t, localOptions{watch: way})
			p := pushed{mirror: mirror, source: gittest.New(t)}
			p.source.Commit("main", gittest.Regular("src/a.go", "1"), gittest.Regular("doc/b", "1"))
			p.source.Commit("other", gittest.Regular("src/other", "1"))
			p.push("main", "other")
			clients := s.listeners(t, watchedBranch, watchedTag, watchedFile, watchedFolder, watchedArchive,
				watchedFork, canary)
			// Started after the first subscriptions: those must be found.
			stop := s.follow(t)
			defer stop()
			for i, move := range moves {
				move.do(p)
				// Gives wrong notifications the time to come before that of the canary; no event says that
				// none comes. The result of a right server does not depend on it.
				time.Sleep(250 * time.Millisecond)
				p.push("--force", fmt.Sprintf("%s:refs/heads/canary", []string{"main", "other"}[i%2]))
				want := map[string]int{canary: 1}
				for _, uri := range move.want {
					want[uri] = 1
				}
				for _, client := range clients {
					if got := drain(client, client.until(canary), want); !maps.Equal(got, want) {
						t.Errorf("%s: %s era: %v, want %v", move.name, client.era, got, want)
					}
				}
			}
		})
	}
}

// drain reads what is sent together with the canary: the order within one look
// is not fixed.
func drain(l listener, got, want map[string]int) map[string]int {
	for uri := range want {
		if got[uri] == 0 {
			for name, n := range l.until(uri) {
				got[name] += n
			}
		}
	}
	return got
}

func TestPushOfAThousandRefsIsOneNotification(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, mirror := newWatched(t, localOptions{})
	p := pushed{mirror: mirror, source: gittest.New(t)}
	first := p.source.Commit("main", gittest.Regular("a", "1"))
	p.push("main")
	const refs = 1000
	var commands strings.Builder
	for i := range refs {
		fmt.Fprintf(&commands, "create refs/heads/many/%d %s\n", i, first)
	}
	p.source.GitInput([]byte(commands.String()), "update-ref", "--stdin")
	uris := []string{"repo://repo", "repo://repo/refs", watchedBranch}
	for i := range 50 {
		uris = append(uris, fmt.Sprintf("repo://repo/refs/heads/many/%d", i*(refs/50)))
	}
	clients := s.listeners(t, uris...)
	stop := s.follow(t)
	defer stop()
	start := time.Now()
	p.push("refs/heads/many/*:refs/heads/many/*")
	took := time.Since(start)
	p.push("main~0:refs/heads/canary") // is in the card
	p.source.Commit("main", gittest.Regular("a", "2"))
	p.push("main")
	for _, client := range clients {
		got := client.until(watchedBranch)
		want := make(map[string]int)
		for _, uri := range uris {
			want[uri] = 1
		}
		got = drain(client, got, want)
		// The pushes took several times the time that changes are gathered for,
		// on a busy machine; each of the others is one, whenever it was seen.
		most := 2 + int(time.Since(start)/(500*time.Millisecond))
		for _, uri := range uris {
			limit := 1
			if uri == "repo://repo" || uri == "repo://repo/refs" {
				limit = most
			}
			if got[uri] < 1 || got[uri] > limit {
				t.Errorf("%s era: %d notifications of %s, want 1 to %d", client.era, got[uri], uri, limit)
			}
		}
		t.Logf("%s era: %d notifications of the card; the push took %v", client.era, got["repo://repo"], took)
	}
}

func TestListChangesAreNotified(t *testing.T) {
	t.Parallel()
	s, _ := newWatched(t, localOptions{repos: repos.Options{Rescan: 100 * time.Millisecond}})
	first := s.repo(t, "first")
	stop := s.follow(t)
	defer stop()
	const late = "repo://late/refs/heads/main"
	clients := s.listeners(t, "repo://first", late)
	const listChanged = "notifications/resources/list_changed"
	// One that did not ask.
	silent, _ := s.listen(t, "", false, late)
	<-silent // the acknowledgement

	s.repo(t, "late").Commit("main", gittest.Regular("a", "1"))
	for _, client := range clients {
		drain(client, client.until(listChanged), map[string]int{late: 1})
	}
	if err := os.RemoveAll(first.Dir); err != nil {
		t.Fatal(err)
	}
	for _, client := range clients {
		drain(client, client.until("repo://first"), map[string]int{listChanged: 1})
	}
	// A repository that takes the place of another.
	again := s.repo(t, "first")
	for _, client := range clients {
		drain(client, client.until("repo://first"), map[string]int{listChanged: 1})
	}
	again.Commit("main", gittest.Regular("a", "1"))
	for _, client := range clients {
		client.until("repo://first")
	}
	if err := os.RemoveAll(filepath.Join(s.root, "late.git")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if event := <-silent; !strings.Contains(event, late) {
			t.Errorf("a client that did not ask for the list got %s", event)
		}
	}
}

func TestRepositoryIsWatchedAsAWhole(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, repo := newWatched(t, localOptions{watch: way})
			repo.Commit("main", gittest.Regular("a", "1"))
			stop := s.follow(t)
			defer stop()
			clients := s.listeners(t, "repo://repo")
			for what, change := range map[string]func(){
				"description": func() { repo.WriteFile("description", []byte("what it is\n")) },
				"branch":      func() { repo.Commit("other", gittest.Regular("a", "1")) },
				"HEAD":        func() { repo.Git("symbolic-ref", "HEAD", "refs/heads/other") },
			} {
				change()
				for _, client := range clients {
					t.Log(what, client.until("repo://repo"))
				}
			}
		})
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	s, repo := newWatched(t, localOptions{watch: watch.Options{PerSession: 3, Total: 10}})
	repo.Commit("main", gittest.Regular("a", "1"))
	uri := func(i int) string { return fmt.Sprintf("repo://repo/contents/%d", i) }
	const address = "192.0.2.1"
	ask := func(session, method string, i int) received {
		c := s.call(sessionVersion, method, map[string]any{"uri": uri(i)})
		c.header.Set(HeaderSession, session)
		c.address = address
		return s.do(t, c)
	}
	session := s.initialize(t, sessionVersion, "{}")
	for i := range 3 {
		if a := ask(session, MethodSubscribe, i); a.failed() {
			t.Fatal(a)
		}
	}
	if a := ask(session, MethodSubscribe, 0); a.failed() {
		t.Errorf("the same again: %v", a)
	}
	if a := ask(session, MethodSubscribe, 4); a.code != -32000 || a.reason != "too_many_subscriptions" ||
		!strings.Contains(string(a.body), "may watch 3 resources") {
		t.Errorf("one too many for a session: %v", a)
	}
	// Two are left for the others of this address, which has a half of all. The
	// acknowledgement says so.
	modern, stop := s.listen(t, address, false, uri(7), "repo://repo/../x", uri(8), uri(9), uri(8))
	if ack := <-modern; !strings.Contains(ack, fmt.Sprintf(`"resourceSubscriptions":[%q,%q,%q]`, uri(7), uri(8), uri(8))) {
		t.Errorf("acknowledgement: %s", ack)
	}
	second := s.initialize(t, sessionVersion, "{}")
	if a := ask(second, MethodSubscribe, 0); !strings.Contains(string(a.body),
		"All clients of your address together watch 5 resources") {
		t.Errorf("one too many for an address: %v", a)
	}
	stop() // gives two back
	if a := ask(second, MethodSubscribe, 0); a.failed() {
		t.Errorf("nothing was given back: %v", a)
	}
	unsubscribed := ask(session, "resources/unsubscribe", 0)
	if a := ask(session, MethodSubscribe, 5); a.failed() {
		t.Errorf("after unsubscribing (%v): %v", unsubscribed, a)
	}
}

func TestMalformedURIsCannotBeSubscribedTo(t *testing.T) {
	t.Parallel()
	s, repo := newWatched(t, localOptions{})
	repo.Commit("main", gittest.Regular("a", "1"))
	session := s.initialize(t, sessionVersion, "{}")
	for _, uri := range []string{"repo://repo/../x", "repo://%zz", "repo://repo/archive/main.tar.gz?colour=red",
		"repo://repo/archive/main.tar.gz?strip=/x", "repo://repo/contents/" + strings.Repeat("a/", 200<<10)} {
		if a := s.subscribe(t, session, uri); a.code != -32602 || a.reason != invalidURI {
			t.Errorf("%s: %v", uri, a)
		}
	}
	// What is not there may come; whether it is must not show.
	for _, uri := range []string{"repo://nothing", "repo://repo/refs/heads/none", "repo://repo/nosuchkind",
		"https://example.com/x"} {
		if a := s.subscribe(t, session, uri); !strings.Contains(string(a.body), `"result":{}`) {
			t.Errorf("%s: %v", uri, a)
		}
	}
}

func TestGoneClientsDoNotHoldOthersUp(t *testing.T) {
	t.Parallel()
	s, repo := newWatched(t, localOptions{})
	repo.Commit("main", gittest.Regular("a", "0"))
	stop := s.follow(t)
	defer stop()
	// They have a session and never open its stream, or close it at once.
	for i := range 5 {
		session := s.initialize(t, sessionVersion, "{}")
		s.subscribe(t, session, watchedBranch)
		if i%2 == 0 {
			_, stop := s.events(t, session)
			stop()
		}
	}
	clients := s.listeners(t, watchedBranch)
	for i := range 3 {
		repo.Commit("main", gittest.Regular("a", fmt.Sprint(i+1)))
		for _, client := range clients {
			client.until(watchedBranch)
		}
	}
}

func TestSessionThatComesBackGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	s, repo := newWatched(t, localOptions{})
	repo.Commit("main", gittest.Regular("a", "1"))
	stop := s.follow(t)
	defer stop()
	session := s.initialize(t, sessionVersion, "{}")
	s.subscribe(t, session, watchedBranch)
	first, leave := s.events(t, session)
	repo.Commit("main", gittest.Regular("a", "2"))
	(listener{t, "session", first}).until(watchedBranch)
	leave()
	repo.Commit("main", gittest.Regular("a", "3"))
	again, _ := s.events(t, session)
	(listener{t, "session", again}).until(watchedBranch)
}

// The id of the last event is all that another server needs to go on with a session, or the same one after a restart.
func TestSessionGoesOnAtAnotherServer(t *testing.T) {
	t.Parallel()
	options := localOptions{key: []byte("a key of more than thirty-two bytes, for tests")}
	s, repo := newWatched(t, options)
	repo.Commit("main", gittest.Regular("a", "1"))
	session := s.initialize(t, sessionVersion, "{}")
	s.subscribe(t, session, watchedBranch)
	last := ""
	for i := range 3 {
		stop := s.follow(t)
		opened := s.OpenEvents(t.Context(), &Request{Session: session}, last, nil)
		messages, leave := stream(t, func(ctx context.Context, send func([]byte) error) {
			defer opened.Close()
			opened.Run(ctx, func(id string, message []byte) error {
				last = id
				return send(message)
			})
		})
		hears := listener{t, "session", messages}
		if i > 0 {
			hears.until(watchedBranch)
		}
		repo.Commit("main", gittest.Regular("a", fmt.Sprint("text ", i)))
		hears.until(watchedBranch)
		leave()
		stop()
		s = &local{root: s.root, sessions: make(map[string]string)}
		s.serve(t, options)
	}
}
