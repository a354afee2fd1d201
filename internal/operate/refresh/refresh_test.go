package refresh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/logtest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a root of mirrors, and a program that is the hook.
type folder struct {
	t    *testing.T
	root string
	*repos.Catalogue
}

// mirrors makes mirrors, of which git noted no fetch.
func mirrors(t *testing.T, names ...string) *folder {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		gittest.At(t, filepath.Join(root, name+".git"))
	}
	return &folder{t, root, repostest.Open(t, root, repos.Options{})}
}

func (f *folder) get(name string) *repos.Repository {
	f.t.Helper()
	repository, err := f.Get(name)
	if err != nil {
		f.t.Fatal(err)
	}
	return repository
}

// script writes a program.
func script(t *testing.T, lines string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hook")
	gittest.WriteProgram(t, name, "#!/bin/sh\n"+lines)
	return name
}

// run runs a refresher until the test ends, or stop is called.
func run(t *testing.T, options Options) (r *Refresher, log *logtest.Log, stop func()) {
	t.Helper()
	log = &logtest.Log{}
	options.Logger = slog.New(slog.NewTextHandler(log, nil))
	r, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return r, log, stop
}

// noteFetch does what git does after a fetch, which it made so long ago.
func noteFetch(t *testing.T, repository *repos.Repository, ago time.Duration, content string) time.Time {
	t.Helper()
	name, at := filepath.Join(repository.Folder(), "FETCH_HEAD"), time.Now().Add(-ago).Truncate(time.Second)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
	return at
}

// A program that fetches makes the next answer new.
func TestAProgramRefreshesTheMirror(t *testing.T) {
	t.Parallel()
	upstream := gittest.At(t, filepath.Join(t.TempDir(), "upstream.git"))
	first := upstream.Commit("main", gittest.Regular("f", "1\n"))
	root := t.TempDir()
	gittest.Existing(t, root).Git("clone", "--quiet", "--mirror", upstream.Dir, "group/app.git")
	catalogue := repostest.Open(t, root, repos.Options{})
	repository, err := catalogue.Get("group/app")
	if err != nil {
		t.Fatal(err)
	}
	noteFetch(t, repository, time.Hour, "what came\n")
	second := upstream.Commit("main", gittest.Regular("f", "2\n"))
	told := filepath.Join(t.TempDir(), "told")
	r, log, _ := run(t, Options{Hook: script(t, `echo "$# $1 $REPOMCP_MIRROR $REPOMCP_FETCHED" >> `+told+`
exec git fetch --quiet`)})
	head := func() string {
		t.Helper()
		ref, err := repostest.Snapshot(t, catalogue, "group/app").Head()
		if err != nil {
			t.Fatal(err)
		}
		return ref.Commit.String()
	}
	if stale := r.Ask(repository); !stale || head() != first && head() != second {
		t.Error("the first answer is not called stale")
	}
	gittest.Await(t, "a call", func() bool { return r.Stats().Done == 1 })
	if r.Ask(repository) || head() != second {
		t.Errorf("after the fetch the mirror is at %s, want %s; %s", head(), second, log)
	}
	said, err := os.ReadFile(told)
	if err != nil || !strings.HasPrefix(string(said), "1 group/app "+repository.Folder()+" 20") ||
		strings.Count(string(said), "\n") != 1 {
		t.Errorf("the program was told %q, %v", said, err)
	}
}

func TestOnlyOldMirrorsAreAskedFor(t *testing.T) {
	t.Parallel()
	f := mirrors(t, "never", "young", "old", "failed-now", "failed-once")
	noteFetch(t, f.get("young"), time.Minute, "what came\n")
	noteFetch(t, f.get("old"), 6*time.Minute, "what came\n")
	noteFetch(t, f.get("failed-now"), time.Minute, "")
	noteFetch(t, f.get("failed-once"), 6*time.Minute, "")
	told := filepath.Join(t.TempDir(), "told")
	r, _, _ := run(t, Options{Hook: script(t, `echo $1 >> `+told)})
	for name, stale := range map[string]bool{
		"never": true, "young": false, "old": true, "failed-now": true, "failed-once": true,
	} {
		if got := r.Ask(f.get(name)); got != stale {
			t.Errorf("%s: stale is %v", name, got)
		}
	}
	gittest.Await(t, "three calls", func() bool { return r.Stats().Done == 3 })
	said, err := os.ReadFile(told)
	if names := strings.Fields(string(said)); err != nil || len(names) != 3 || slices.Contains(names, "young") ||
		slices.Contains(names, "failed-now") {
		t.Errorf("%q, %v", said, err)
	}
	if (*Refresher)(nil).Ask(f.get("old")) || (*Refresher)(nil).Stats() != (Stats{}) {
		t.Error("without a hook something is asked for")
	}
}

// A flood of requests is one call, and the next comes after the interval.
func TestAFloodIsOneCall(t *testing.T) {
	t.Parallel()
	f := mirrors(t, "app")
	repository := f.get("app")
	r, _, _ := run(t, Options{Hook: script(t, "exit 0")})
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() {
			for range 100 {
				if !r.Ask(repository) {
					t.Error("not stale")
				}
			}
		})
	}
	requests.Wait()
	gittest.Await(t, "a call", func() bool { s := r.Stats(); return s.Done == 1 && s.Waiting == 0 && s.Running == 0 })
	r.Ask(repository)
	if s := r.Stats(); s != (Stats{Done: 1}) {
		t.Errorf("%+v", s)
	}
	m := mirror{name: "app", folder: repository.Folder()}
	r.enqueue(m, time.Now().Add(DefaultAge-time.Second))
	r.enqueue(m, time.Now().Add(DefaultAge+time.Second))
	gittest.Await(t, "the second call", func() bool { return r.Stats().Done == 2 })
}

// A hanging hook delays no request. A limited number of hooks runs, the others wait or are dropped,
// and all end with the server, including child processes.
func TestAHangingHookEndsWithTheServer(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const count = Concurrency + maxWaiting + 50
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("m%03d", i)
	}
	root := t.TempDir()
	gittest.Crowd(t, root, count)
	catalogue := repostest.Open(t, root, repos.Options{})
	ids := t.TempDir()
	// It passes SIGTERM over; what it starts does not.
	r, _, stop := run(t, Options{Hook: script(t, `trap '' TERM
sh -c 'trap - TERM; echo $$ > `+ids+`/$$; exec sleep 600' &
wait; wait; sleep 600`)})
	start := time.Now()
	ask := func(names []string) {
		for _, name := range names {
			repository, err := catalogue.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			r.Ask(repository)
		}
	}
	all := catalogue.Names()
	ask(all[:Concurrency])
	started := func() []os.DirEntry {
		entries, err := os.ReadDir(ids)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	gittest.Await(t, "so many calls", func() bool { return len(started()) == Concurrency })
	ask(all[Concurrency:])
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("asking took %s", took)
	}
	if s := r.Stats(); s.Running != Concurrency || s.Waiting != maxWaiting || s.Dropped != 50 {
		t.Errorf("%+v", s)
	}
	start = time.Now()
	stop()
	if took := time.Since(start); took > 3*gracePeriod {
		t.Errorf("the end took %s", took)
	}
	for _, entry := range started() {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		gittest.Await(t, "the end of what a hook started", func() bool { return !alive(id) })
	}
	if s := r.Stats(); s.Failed != 0 || s.Running != 0 {
		t.Errorf("what the end of the server broke off counts as failed: %+v", s)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(id int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return errors.Is(syscall.Kill(id, 0), nil)
	}
	_, after, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestFailuresAreToldOnceInAMinute(t *testing.T) {
	t.Parallel()
	f := mirrors(t, "app", "lib")
	r, log, _ := run(t, Options{
		Age: time.Millisecond,
		Hook: script(t,
			"echo what went before >&2; head -c 5000 /dev/zero | tr '\\0' x; echo; echo it is broken; exit 3"),
	})
	for range 5 {
		for _, name := range []string{"app", "lib"} {
			failed := r.Stats().Failed
			gittest.Await(t, "a call begins", func() bool {
				r.Ask(f.get(name)) // does nothing until the last call is as old as Age
				s := r.Stats()
				return s.Failed > failed || s.Running+s.Waiting > 0
			})
			gittest.Await(t, "it fails", func() bool {
				s := r.Stats()
				return s.Failed > failed && s.Running+s.Waiting == 0
			})
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines of the log", len(lines))
	}
	for i, name := range []string{"app", "lib"} {
		if !strings.Contains(lines[i], "repository="+name) || !strings.Contains(lines[i], "it is broken") ||
			!strings.Contains(lines[i], "exit status 3") || len(lines[i]) > 1000 {
			t.Errorf("%s", lines[i])
		}
	}
}

func TestACallHasATimeLimit(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(silent)
	for _, hook := range []string{script(t, "exec sleep 600"), server.URL} {
		f := mirrors(t, "app")
		r, log, _ := run(t, Options{Hook: hook, Timeout: 50 * time.Millisecond})
		r.Ask(f.get("app"))
		gittest.Await(t, "the end", func() bool { return r.Stats().Failed == 1 })
		if !strings.Contains(log.String(), "it took longer than 50ms, and was ended") {
			t.Error(log)
		}
	}
}

func TestAnAddressIsCalled(t *testing.T) {
	t.Parallel()
	f := mirrors(t, "group/app", "never")
	at := noteFetch(t, f.get("group/app"), time.Hour, "what came\n")
	var mu sync.Mutex
	got := make(map[string]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var told struct{ Repository string }
		if err := json.Unmarshal(body, &told); err != nil {
			t.Error(err)
		}
		user, password, _ := r.BasicAuth()
		mu.Lock()
		defer mu.Unlock()
		got[told.Repository] = fmt.Sprintf("%s %s %s %s:%s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"),
			user, password, body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	r, log, _ := run(t, Options{Hook: strings.Replace(server.URL, "http://", "http://me:secret@", 1) + "/fetch"})
	r.Ask(f.get("group/app"))
	r.Ask(f.get("never"))
	gittest.Await(t, "two calls", func() bool { return r.Stats().Done == 2 })
	mu.Lock()
	defer mu.Unlock()
	for name, fetched := range map[string]string{"group/app": `"` + at.UTC().Format(time.RFC3339) + `"`,
		"never": "null"} {
		want := `POST /fetch application/json me:secret {"repository":"` + name + `","fetched":` + fetched + `}`
		if got[name] != want {
			t.Errorf("%q, want %q; %s", got[name], want, log)
		}
	}
}

// A reply of another kind is a failure, nothing is followed, and the log has no secret of
// the address.
func TestFailuresOfAnAddress(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("a redirect is followed")
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved/SECRET" {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			return
		}
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	defer server.Close()
	for hook, want := range map[string]string{
		server.URL + "/moved/SECRET": "307", server.URL + "/SECRET": "500",
		"http://me:SECRET@127.0.0.1:1/SECRET": "refused",
	} {
		f := mirrors(t, "app")
		r, log, _ := run(t, Options{Hook: hook})
		r.Ask(f.get("app"))
		gittest.Await(t, "a failure", func() bool { return r.Stats().Failed == 1 })
		if !strings.Contains(log.String(), want) || strings.Contains(log.String(), "SECRET") {
			t.Errorf("%s: %s", hook, log)
		}
	}
}

func TestWhatIsNoHook(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"/none/such", plain, "no-such-program-anywhere", "https://", "http://:80/x",
		"https://%zz"} {
		if _, err := New(Options{Hook: hook}); err == nil {
			t.Errorf("%q is taken", hook)
		}
	}
}

// What is remembered of mirrors that are long gone does not grow.
func TestMirrorsAreForgotten(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Hook: script(t, "exit 0")})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i := range 5 * pruneFrom {
		r.enqueue(mirror{name: strconv.Itoa(i)}, now)
		select {
		case m := <-r.waiting:
			r.begin()
			r.end(t.Context(), m, nil)
		default:
		}
		now = now.Add(time.Second)
	}
	if len(r.known) > pruneFrom {
		t.Errorf("%d are remembered", len(r.known))
	}
}
