package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/access/oauth/issuertest"
	"github.com/repomcp/repomcp/internal/gittest"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// linesOf runs one check alone, and returns its lines.
func linesOf(check func(*examination, context.Context), e *examination) string {
	e.now = func() time.Time { return noon }
	check(e, context.Background())
	var text strings.Builder
	for _, f := range e.findings {
		text.WriteString(f.line())
	}
	return text.String()
}

func TestClocksThatDiffer(t *testing.T) {
	for off, want := range map[time.Duration]string{
		0: "ok", 29 * time.Second: "ok", -29 * time.Second: "ok",
		31 * time.Second:            "warning   this machine is 31s ahead of Redis;",
		-time.Minute:                "warning   this machine is 1m0s behind Redis;",
		5*time.Minute + time.Second: "fault   this machine is 5m1s ahead of Redis;",
		-time.Hour:                  "fault   this machine is 1h0m0s behind Redis;",
	} {
		e := &examination{clocks: map[string]reading{"Redis": {theirs: noon, ours: noon.Add(off)}}}
		if got := linesOf((*examination).checkClocks, e); !strings.HasPrefix(strings.Join(strings.Fields(got), " "),
			strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%v apart: %q, want %q", off, got, want)
		}
	}
	if got := linesOf((*examination).checkClocks, new(examination)); got != "" {
		t.Errorf("without another machine: %q", got)
	}
}

func TestLimitsOfTheMachine(t *testing.T) {
	for name, test := range map[string]struct {
		check func(*examination, context.Context)
		e     examination
		want  string
	}{
		"a small container": {(*examination).checkMemory, examination{Settings: Settings{Budget: 115 << 20}},
			"within 115 MiB, which is too little for many requests at a time; give it 230 MiB, or a container of 256 MiB"},
		"no memory limit": {(*examination).checkMemory, examination{Settings: Settings{Budget: 1 << 30}},
			"within 1.0 GiB"},
		"a container that fits": {(*examination).checkMemory, examination{Settings: Settings{Budget: 900 << 20},
			machine: machine{memory: 1 << 30}}, "within 900 MiB"},
		"a budget above the limit": {
			(*examination).checkMemory, examination{Settings: Settings{Budget: 1 << 30},
				machine: machine{memory: 1 << 30}},
			"within 1.0 GiB, which is not below the container's limit of 1.0 GiB; leave out --memory-budget and GOMEMLIMIT, or set them to 921MiB",
		},
		"large caches": {(*examination).checkMemory,
			examination{Settings: Settings{Budget: 900 << 20, Memory: 600 << 20}}, "may take 600 MiB of 900 MiB"},
		"few watches": {(*examination).checkWatches, examination{Settings: Settings{Watched: 100},
			machine: machine{watches: 128}, mirrors: mirrors{count: 33}}, "128 are fewer than the 132"},
		"enough watches": {(*examination).checkWatches, examination{Settings: Settings{Watched: 10},
			machine: machine{watches: 128}, mirrors: mirrors{count: 33}}, "128 watches"},
		"few descriptors": {(*examination).checkDescriptors, examination{machine: machine{descriptors: 128, tasks: 512}},
			"leave none of 128"},
		"many packs": {(*examination).checkDescriptors, examination{machine: machine{descriptors: 1024, tasks: math.MaxInt},
			mirrors: mirrors{packs: 449}}, "449 packs, and 448 of 1024"},
		"enough descriptors": {(*examination).checkDescriptors, examination{machine: machine{descriptors: 1024, tasks: math.MaxInt},
			mirrors: mirrors{packs: 448}}, "1024, for 448 packs and as many as 512"},
		"few threads leave descriptors": {(*examination).checkDescriptors,
			examination{machine: machine{descriptors: 1024, tasks: 512}}, "0 packs and as many as 256"},
		"few threads": {(*examination).checkTasks, examination{Settings: Settings{Connections: 300},
			machine: machine{tasks: 512}}, "300 requests that wait for a disk need a thread each"},
		"enough threads": {(*examination).checkTasks, examination{Settings: Settings{Connections: 256},
			machine: machine{tasks: 512}}, "512 threads and processes"},
	} {
		if got := linesOf(test.check, &test.e); !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	if m := thisMachine(); m.descriptors < 0 || m.memory < 0 {
		t.Errorf("this machine has %+v", m)
	}
}

// A fetch that is under way, and a clock that is wrong, look at dates only.
func TestAgesOfMirrors(t *testing.T) {
	root := t.TempDir()
	names := gittest.Crowd(t, root, 4)
	for i, fetch := range []struct {
		text string
		ago  time.Duration
	}{{"x", 8 * 24 * time.Hour}, {"x", 6 * 24 * time.Hour}, {"", 30 * time.Minute}, {"x", -time.Hour}} {
		file := filepath.Join(root, names[i]+".git", "FETCH_HEAD")
		if err := os.WriteFile(file, []byte(fetch.text), 0o600); err != nil {
			t.Fatal(err)
		}
		when := noon.Add(-fetch.ago)
		if err := os.Chtimes(file, when, when); err != nil {
			t.Fatal(err)
		}
	}
	e := &examination{Settings: Settings{Root: root}}
	report := linesOf((*examination).checkRoot, e)
	for _, want := range []string{"0: it was last fetched 8 days ago;",
		"2: the last fetch began 30 minutes ago and has not ended, or it failed;", "3: it was fetched 1 hour in the future;"} {
		if strings.Count(report, want) != 1 || strings.Count(report, "\n") != 4 {
			t.Errorf("want %q in:\n%s", want, report)
		}
	}
}

// What many mirrors have in common is said in ten lines.
func TestManyMirrors(t *testing.T) {
	const count = 300
	root := t.TempDir()
	names := gittest.Crowd(t, root, count)
	for _, name := range names[:20] {
		if err := os.Remove(filepath.Join(root, name+".git", "packed-refs")); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	report := Examine(t.Context(), Settings{Root: root, Listen: "127.0.0.1:0", Budget: 1 << 30})
	t.Logf("%d mirrors took %v", count, time.Since(begun))
	var text, structured bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&structured).Encode(report); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); report.Repositories != count || report.Warnings != 20 ||
		lines > 30 || !strings.Contains(text.String(), "and 10 more") {
		t.Errorf("%d repositories, %d warnings, %d lines:\n%s", report.Repositories, report.Warnings, lines, &text)
	}
	if n := strings.Count(structured.String(), `"level":"warning"`); n != 20 {
		t.Errorf("JSON has %d warnings", n)
	}
}

// Neither a check that panics nor one that is cut short looks like a sound server.
func TestAnExaminationThatDoesNotEnd(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if report := Examine(ended, Settings{Root: t.TempDir()}); report.Faults == 0 {
		t.Errorf("it was cut short: %+v", report)
	}
	e := &examination{Settings: Settings{Root: t.TempDir(), CacheDir: t.TempDir(), CacheBytes: 1}, now: time.Now,
		machine: machine{free: func(string) (int64, error) { panic("a bug") }}}
	report := examine(t.Context(), e)
	if report.Faults != 1 || report.Findings[0].Check != "cache" || !strings.Contains(report.Findings[0].Text,
		"a bug") {
		t.Errorf("a panic: %+v", report.Findings)
	}
	if !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Check == "hosts" }) {
		t.Errorf("the others did not run: %+v", report.Findings)
	}
}

// Nothing is left behind, whatever fails, and nothing else is touched.
func TestNothingIsWritten(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	gittest.Crowd(t, root, 3)
	state := func() string {
		var all strings.Builder
		for _, top := range []string{root, dir} {
			err := filepath.Walk(top, func(name string, info os.FileInfo, err error) error {
				if top == dir && name == dir { // an object came and went
					return err
				}
				_, _ = fmt.Fprintln(&all, name, info.Size(), info.ModTime(), info.Mode())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return all.String()
	}
	before := state()
	report := Examine(t.Context(), Settings{Root: root, Deep: true, CacheDir: dir, CacheBytes: 1 << 20,
		Listen: "127.0.0.1:0"})
	if after := state(); after != before || report.Faults > 0 {
		t.Errorf("%+v\nbefore:\n%s\nafter:\n%s", report, before, after)
	}
}

// The report has the keys of an issuer that answers; an issuer that does not, or has another
// name, is a fault.
func TestTheIssuerIsAsked(t *testing.T) {
	issuer := issuertest.Start(t)
	ask := func(url string) string {
		e := &examination{Settings: Settings{Asking: Asking{Issuer: url, Audience: "https://git.example/mcp"}},
			check: "issuer"}
		return linesOf((*examination).checkIssuer, e)
	}
	got := ask(issuer.URL)
	if want := "ok       issuer       1 key, for tokens whose audience is https://git.example/mcp\n"; got != want {
		t.Errorf("an issuer with a key: %q, want %q", got, want)
	}
	other := strings.Replace(issuer.URL, "127.0.0.1", "localhost", 1)
	got = ask(other)
	if want := "fault    issuer       --oauth-issuer " + other + ": "; !strings.HasPrefix(got, want) ||
		!strings.Contains(got, issuer.URL) {
		t.Errorf("an issuer that calls itself %s: %q, want %q", issuer.URL, got, want)
	}
	issuer.SetDown(true)
	got = ask(issuer.URL)
	if want := "fault    issuer       --oauth-issuer " + issuer.URL + ": "; !strings.HasPrefix(got, want) {
		t.Errorf("an issuer that is down: %q, want %q", got, want)
	}
}

// A server that is well is the one that the settings are of; what else has the port is
// in its way.
func TestPortsThatAreTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	address := taken.Addr().String()
	for health, want := range map[error]string{
		nil:                        "ok                    " + address + " is taken by a server that is well: this one, if it runs\n",
		errors.New("no HTTP here"): "fault                 --listen " + address + ": another program listens there; stop it, or choose another address\n",
	} {
		probe := func(_ context.Context, asked string, secure bool) error {
			if asked != address || !secure {
				t.Errorf("asked %s, HTTPS %t, want %s over HTTPS", asked, secure, address)
			}
			return health
		}
		e := &examination{Settings: Settings{Listen: address, TLSCert: "cert", Probe: probe}}
		if got := linesOf((*examination).checkListening, e); got != want {
			t.Errorf("the health is %v: %q, want %q", health, got, want)
		}
	}
}
