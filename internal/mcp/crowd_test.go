package mcp

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// page is a page of resources/list.
type page struct {
	Resources  []struct{ Name, URI string }
	NextCursor string
}

// names are those of the repositories on a page.
func (p page) names() (names []string) {
	for _, r := range p.Resources {
		if r.URI == resources.Scheme+r.Name {
			names = append(names, r.Name)
		}
	}
	return names
}

func TestPagesStayRightWhileRepositoriesComeAndGo(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := t.TempDir()
	all := gittest.Crowd(t, root, 230)
	s := serverOf(t, root, resources.Linking{})
	var seen []string
	cursor := ""
	for i := 0; ; i++ {
		var p page
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if code, reply := ask(t, s, "resources/list", params, &p); code != 0 {
			t.Fatal(reply)
		}
		if len(p.Resources) > 2*pageSize {
			t.Errorf("a page has %d resources", len(p.Resources))
		}
		seen = append(seen, p.names()...)
		if cursor = p.NextCursor; cursor == "" {
			break
		}
		// The last of the page goes, and one comes before and one after it.
		last := seen[len(seen)-1]
		if err := os.RemoveAll(filepath.Join(root, last+".git")); err != nil {
			t.Fatal(err)
		}
		gittest.At(t, filepath.Join(root, last+"-before-the-cursor-no"+fmt.Sprint(i)+".git"))
		gittest.At(t, filepath.Join(root, "a-new-one-"+fmt.Sprint(i)+".git"))
		again, err := repos.Open(root, repos.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.options.Catalogue = again
		defer func() { _ = again.Close() }()
	}
	if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
		t.Error("a repository is listed twice, or out of order")
	}
	for _, name := range all {
		if !slices.Contains(seen, name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestCursorsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.Crowd(t, root, pageSize+1)
	s := serverOf(t, root, resources.Linking{})
	var p page
	ask(t, s, "resources/list", nil, &p)
	if p.NextCursor == "" {
		t.Fatal("there is one page")
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, cursor := range []string{
		"?", "AA==", "AAAA", encode("zzzz"), encode("group"), encode("51"), encode(cursorPrefix), encode(cursorPrefix + "../x"),
		encode(cursorPrefix + "a\x00b"), encode(cursorPrefix + "a\xffb"),
		p.NextCursor + "\n", p.NextCursor[:len(p.NextCursor)-1], p.NextCursor + p.NextCursor,
		string(cursorAfter("a"))[:len(cursorAfter("a"))-2] + "F=",
	} {
		for _, method := range []string{MethodList, MethodTemplates, MethodToolsList, MethodPromptsList} {
			code, reply := ask(t, s, method, map[string]any{"cursor": cursor}, &struct{}{})
			if code != -32602 || !strings.Contains(reply, "nextCursor") {
				t.Errorf("%q of %s: %s", cursor, method, reply)
			}
		}
	}
	for _, method := range []string{MethodTemplates, MethodToolsList, MethodPromptsList} {
		if code, reply := ask(t, s, method, map[string]any{"cursor": p.NextCursor}, &struct{}{}); code != -32602 {
			t.Errorf("a cursor of resources/list, of %s: %s", method, reply)
		}
	}
	var last page
	if code, reply := ask(t, s, "resources/list", map[string]any{"cursor": p.NextCursor}, &last); code != 0 ||
		len(last.names()) != 1 || last.NextCursor != "" {
		t.Errorf("the last page: %s", reply)
	}
}

// crowdSize is how many repositories the benchmarks have.
const crowdSize = 10_000

// linked are signed links, so that lists have httpUrls.
func linked(t testing.TB) resources.Linking {
	t.Helper()
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	base, err := links.ParseBase("https://git.example.com")
	if err != nil {
		t.Fatal(err)
	}
	authority, err := links.New(links.Options{Keys: keys, Base: base})
	if err != nil {
		t.Fatal(err)
	}
	return resources.Linking{Authority: authority, Base: base}
}

// BenchmarkCrowd measures a root with 10,000 repositories: how long it takes to
// start, to make a page of the list, to complete a name, and to scan the root when
// nothing has changed.
//
//	go test -run '^$' -bench Crowd ./internal/mcp
func BenchmarkCrowd(b *testing.B) {
	root := b.TempDir()
	gittest.Crowd(b, root, crowdSize)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			catalogue, err := repos.Open(root, repos.Options{})
			if err != nil || len(catalogue.Names()) != crowdSize {
				b.Fatal(err)
			}
			if err := catalogue.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	s := serverOf(b, root, linked(b))
	b.Run("page", func(b *testing.B) {
		timed := &timing{}
		cursor := ""
		for b.Loop() {
			params := map[string]any{}
			if cursor != "" {
				params["cursor"] = cursor
			}
			var p page
			timed.run(func() { ask(b, s, "resources/list", params, &p) })
			if len(p.Resources) != 2*pageSize {
				b.Fatalf("a page has %d resources", len(p.Resources))
			}
			cursor = p.NextCursor
		}
		timed.report(b)
	})
	const branches, commits = "repo://{+repo}/refs/heads/{branch}", "repo://{+repo}/sha/{sha}/contents{/path*}"
	for name, c := range map[string]struct{ template, variable, typed string }{
		"complete/repo": {"repo://{+repo}", "repo", "project-0"}, "complete/nothing": {"repo://{+repo}", "repo", "zzz"},
		"complete/branch": {branches, "branch", "f"}, "complete/ref": {archiveTemplate(), "ref", ""},
		"complete/sha": {commits, "sha", ""}, "complete/digits": {commits, "sha", "abcd"},
		"complete/path":    {"repo://{+repo}/contents{/path*}", "path", "src/"},
		"complete/unknown": {branches, "branch", "f"},
	} {
		b.Run(name, func(b *testing.B) {
			timed := &timing{}
			for i := 0; b.Loop(); i++ {
				known := map[string]string{"repo": s.options.Catalogue.For(b.Context()).Names()[i*7919%crowdSize]}
				if name == "complete/unknown" {
					known["repo"] = "no/such/repository"
				}
				timed.run(func() { complete(b, s, c.template, c.variable, c.typed, known) })
			}
			timed.report(b)
		})
	}
}

// timing keeps how long each call took.
type timing struct {
	took      []time.Duration
	processor time.Duration // of the whole process: what it takes on a busy machine
}

func (m *timing) run(call func()) {
	start, before := time.Now(), processor()
	call()
	m.took = append(m.took, time.Since(start))
	m.processor += processor() - before
}

func processor() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (m *timing) report(b *testing.B) {
	slices.Sort(m.took)
	b.ReportMetric(float64(m.took[len(m.took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(m.processor.Microseconds())/1000/float64(len(m.took)), "cpu-ms/op")
}
