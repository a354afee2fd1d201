package repos_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

type visitorKey struct{}

// visiting is a context whose visitor sees what a function says.
func visiting(ctx context.Context, visible func(name string) bool) context.Context {
	return context.WithValue(ctx, visitorKey{}, visible)
}

func visibleTo(ctx context.Context) func(name string) bool {
	visible, _ := ctx.Value(visitorKey{}).(func(name string) bool)
	return visible
}

func TestAViewHasWhatItsVisitorMayKnowOf(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"a", "a/b", "c", "c/d", "e", "odd.git/.git"} {
		dir := filepath.Join(root, name+".git")
		if strings.HasSuffix(name, "/.git") {
			dir = filepath.Join(root, name)
		}
		gittest.At(t, dir)
	}
	catalogue := repostest.Open(t, root, repos.Options{Visible: visibleTo})
	everything := []string{"a", "a/b", "c", "c/d", "e", "odd.git"}
	if all := catalogue.For(t.Context()); !slices.Equal(all.Names(), everything) ||
		!slices.Equal(catalogue.Names(), everything) {
		t.Errorf("all are %q", all.Names())
	}
	seen := []string{"a/b", "c", "e", "odd"}
	view := catalogue.For(visiting(t.Context(), func(name string) bool { return slices.Contains(seen, name) }))
	if got := view.Names(); !slices.Equal(got, []string{"a/b", "c", "e"}) {
		t.Errorf("names %q", got)
	}
	for after, want := range map[string]string{"": "a/b c +", "a": "a/b c +", "a/b": "c e", "b": "c e", "c/d": "e",
		"e": ""} {
		names, more := view.Page(after, 2)
		if more {
			names = append(names, "+")
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("after %q: %q, want %q", after, got, want)
		}
	}
	for path, want := range map[string]string{
		"a": "", "a/b": "a/b ", "a/b/c": "a/b /c", "a.git": "", "a/b.git/x": "a/b /x", "c/d": "c /d", "c/d/x": "c /d/x",
		"c.git": "c ",
		"e":     "e ", "odd.git": "", "odd": "", "ab": "", "": "", strings.Repeat("c/", 2000): "c /" +
			strings.Repeat("c/", 1999),
	} {
		for way, find := range map[string]func(string) (*repos.Repository, string, error){"longest": view.Longest,
			"known": view.LongestKnown} {
			r, rest, err := find(path)
			got := ""
			if err == nil {
				got = r.Name() + " " + rest
			}
			if got != want || err != nil && !errors.Is(err, git.ErrNotFound) {
				t.Errorf("%s, %.20q: %.20q, %v, want %.20q", way, path, got, err, want)
			}
		}
		r, err := view.Get(path)
		known, knownErr := view.Known(path)
		if r != known || (err == nil) != (knownErr == nil) || (err == nil) != (strings.HasSuffix(want, " ")) {
			t.Errorf("%.20q: get %v, known %v", path, err, knownErr)
		}
	}
}

// TestForbiddenTakesTheWayOfUnknown counts what a lookup does: the questions to the
// rules, and the walks of the root.
func TestForbiddenTakesTheWayOfUnknown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "group", "hidden.git"))
	gittest.At(t, filepath.Join(root, "group", "open.git"))
	catalogue := repostest.Open(t, root, repos.Options{Visible: visibleTo})
	var asked []string
	view := catalogue.For(visiting(t.Context(), func(name string) bool {
		asked = append(asked, name)
		return name == "group/open"
	}))
	type trace struct {
		questions, walks int
		err              string
	}
	lookups := map[string]func(name string) error{
		"get":   func(name string) error { _, err := view.Get(name); return err },
		"known": func(name string) error { _, err := view.Known(name); return err },
		"snapshot": func(name string) error {
			_, err := view.Snapshot(name)
			return err
		},
		"longest": func(name string) error { _, _, err := view.Longest(name + "/main/a"); return err },
		"sibling": func(name string) error {
			of, err := view.Get("group/open")
			if err != nil {
				return err
			}
			_, err = view.Sibling(of, "https://git.example/"+name)
			return err
		},
	}
	walked := catalogue.CountWalks()
	for kind, lookup := range lookups {
		for _, suffix := range []string{"", ".git"} {
			traces := map[string]trace{}
			for _, name := range []string{"group/hidden", "group/absent"} {
				catalogue.Forget(time.Hour) // the last walk was long ago
				asked = nil
				before := walked()
				err := lookup(name + suffix)
				if err == nil || !errors.Is(err, git.ErrNotFound) {
					t.Errorf("%s of %s%s: %v", kind, name, suffix, err)
					continue
				}
				traces[name] = trace{len(asked), walked() - before, err.Error()}
			}
			if traces["group/hidden"] != traces["group/absent"] || traces["group/hidden"].questions == 0 ||
				(traces["group/hidden"].walks != 1) == (kind != "known") {
				t.Errorf("%s%s: %+v", kind, suffix, traces)
			}
		}
	}
	// One that came meanwhile is found by the walk, and only by principals that may know of it.
	if err := os.Rename(filepath.Join(root, "group", "open.git"),
		filepath.Join(root, "group", "late.git")); err != nil {
		t.Fatal(err)
	}
	catalogue.Forget(time.Hour)
	if _, err := view.Get("group/late"); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("a forbidden one that came: %v", err)
	}
	if _, err := catalogue.Known("group/late"); err != nil {
		t.Errorf("the walk did not find it: %v", err)
	}
}
