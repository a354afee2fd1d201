package history

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// line makes a history of commits one after the other, each with its own file
// content.
func line(t *testing.T, commits int) (*gittest.Repo, []string) {
	t.Helper()
	repo := gittest.New(t)
	var ids []string
	parent := ""
	for i := range commits {
		blob := repo.Store("blob", strings.Repeat("same\n", 20)+fmt.Sprintf("line %d\n", i))
		tree := repo.Store("tree", "100644 f\x00"+string(bytesOf(t, blob)))
		id := repo.Store("commit", fmt.Sprintf(
			"tree %s\n%sauthor A <a@b> %[3]d +0000\ncommitter A <a@b> %[3]d +0000\n\nmessage\n", tree, parent, 1000+i))
		parent = "parent " + id + "\n"
		ids = append(ids, id)
	}
	repo.SetRef("refs/heads/main", ids[len(ids)-1])
	slices.Reverse(ids)
	return repo, ids
}

func bytesOf(t *testing.T, hex string) []byte {
	id := id(t, hex)
	return id[:]
}

func TestLogStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	repo, ids := line(t, 50)
	snapshot := open(t, repo.Dir)
	o := LogOptions{Start: id(t, ids[0]), Skip: 20, Limit: 5, MaxLooked: 8}
	var got []string
	stops := 0
	for range 100 {
		page, err := Log(t.Context(), snapshot, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		if page.Looked > o.MaxLooked {
			t.Errorf("looked at %d commits", page.Looked)
		}
		if page.Stopped {
			stops++
		}
		for _, c := range page.Commits {
			got = append(got, c.ID.String())
		}
		if page.Next == "" {
			break
		}
		o.Cursor, o.Skip = page.Next, 0
	}
	if !slices.Equal(got, ids[20:]) || stops < 2 {
		t.Errorf("%d stops and %d commits, want %d", stops, len(got), len(ids)-20)
	}
}

func TestLogRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	repo, ids := line(t, 3)
	snapshot := open(t, repo.Dir)
	start := id(t, ids[0])
	first, err := Log(t.Context(), snapshot, nil, LogOptions{Start: start, Limit: 1})
	if err != nil || first.Next == "" {
		t.Fatal(err)
	}
	forged, err := base64.RawURLEncoding.DecodeString(first.Next)
	if err != nil {
		t.Fatal(err)
	}
	forged[10] ^= 1 // in the start
	for name, c := range map[string]struct {
		options LogOptions
		want    error
	}{
		"page":          {LogOptions{Limit: MaxPage + 1}, git.ErrInvalid},
		"negative page": {LogOptions{Limit: -1}, git.ErrInvalid},
		"skip":          {LogOptions{Skip: -1}, git.ErrInvalid},
		"paths":         {LogOptions{Paths: make([]string, MaxPaths+1)}, git.ErrInvalid},
		"long path":     {LogOptions{Paths: []string{strings.Repeat("x", MaxPathBytes+1)}}, git.ErrInvalid},
		"up":            {LogOptions{Paths: []string{"a/../b"}}, git.ErrInvalid},
		"NUL":           {LogOptions{Paths: []string{"a\x00b"}}, git.ErrInvalid},
		"follow two":    {LogOptions{Paths: []string{"a", "b"}, Follow: true}, git.ErrInvalid},
		"follow none":   {LogOptions{Follow: true}, git.ErrInvalid},
		"no cursor":     {LogOptions{Cursor: "!"}, git.ErrInvalid},
		"short cursor":  {LogOptions{Cursor: first.Next[:20]}, git.ErrInvalid},
		"other options": {LogOptions{Cursor: first.Next, Author: "x"}, git.ErrInvalid},
		"other start":   {LogOptions{Cursor: base64.RawURLEncoding.EncodeToString(forged)}, git.ErrNotFound},
		"missing":       {LogOptions{Start: id(t, strings.Repeat("12", 20))}, git.ErrCorrupt},
	} {
		if c.options.Start.IsZero() {
			c.options.Start = start
		}
		if _, err := Log(t.Context(), snapshot, nil, c.options); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBlameRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	repo, ids := line(t, 6)
	empty := repo.Commit("empty", gittest.Regular("e", ""), gittest.Regular("d/f", "x\n"), gittest.Gitlink("g", ids[0]))
	snapshot := open(t, repo.Dir)
	for name, c := range map[string]struct {
		options BlameOptions
		want    error
	}{
		"missing":     {BlameOptions{Commit: id(t, ids[0]), Path: "none"}, git.ErrNotFound},
		"folder":      {BlameOptions{Commit: id(t, empty), Path: "d"}, git.ErrNotFound},
		"submodule":   {BlameOptions{Commit: id(t, empty), Path: "g"}, git.ErrNotFound},
		"below":       {BlameOptions{Commit: id(t, empty), Path: "e/x"}, git.ErrNotFound},
		"up":          {BlameOptions{Commit: id(t, ids[0]), Path: "../f"}, git.ErrInvalid},
		"beyond":      {BlameOptions{Commit: id(t, ids[0]), Path: "f", First: 22}, git.ErrInvalid},
		"backwards":   {BlameOptions{Commit: id(t, ids[0]), Path: "f", First: 3, Last: 2}, git.ErrInvalid},
		"line of no":  {BlameOptions{Commit: id(t, empty), Path: "e", First: 2}, git.ErrInvalid},
		"commits":     {BlameOptions{Commit: id(t, ids[0]), Path: "f", MaxCommits: 5}, git.ErrTooLarge},
		"enough":      {BlameOptions{Commit: id(t, ids[0]), Path: "f", MaxCommits: 6}, nil},
		"fewer lines": {BlameOptions{Commit: id(t, ids[0]), Path: "f", First: 21, MaxCommits: 1}, nil},
		"empty file":  {BlameOptions{Commit: id(t, empty), Path: "e"}, nil},
	} {
		if _, err := Blame(t.Context(), snapshot, nil, c.options); !errors.Is(err, c.want) || err != nil &&
			c.want == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBlameRefusesLargeFiles(t *testing.T) {
	t.Parallel()
	for _, content := range []string{strings.Repeat("x", MaxBlameBytes+1), strings.Repeat("\n", MaxBlameLines+1)} {
		repo := gittest.New(t)
		tree := repo.Store("tree", "100644 f\x00"+string(bytesOf(t, repo.Store("blob", content))))
		commit := repo.Store("commit", "tree "+tree+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n")
		if _, err := Blame(t.Context(), open(t, repo.Dir), nil, BlameOptions{Commit: id(t, commit),
			Path: "f"}); !errors.Is(err, git.ErrTooLarge) {
			t.Error(err)
		}
	}
}

func TestLargeMessagesEndPages(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	tree, parent := repo.Store("tree", ""), ""
	var tip string
	for range 5 {
		tip = repo.Store("commit", "tree "+tree+"\n"+parent+"author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n"+
			strings.Repeat("x", MaxPageBytes/2))
		parent = "parent " + tip + "\n"
	}
	snapshot := open(t, repo.Dir)
	var sizes []int
	for o := (LogOptions{Start: id(t, tip)}); ; {
		page, err := Log(t.Context(), snapshot, nil, o)
		if err != nil || page.Stopped != (page.Next != "") {
			t.Fatal(page.Stopped, page.Next, err)
		}
		sizes = append(sizes, len(page.Commits))
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if !slices.Equal(sizes, []int{2, 2, 1}) {
		t.Error(sizes)
	}
}

func TestWalksEndWithTheirContext(t *testing.T) {
	t.Parallel()
	repo, ids := line(t, 5)
	snapshot := open(t, repo.Dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Log(ctx, snapshot, nil, LogOptions{Start: id(t, ids[0])}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Blame(ctx, snapshot, nil, BlameOptions{Commit: id(t, ids[0]), Path: "f"}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}

func TestShallowHistoryEndsThere(t *testing.T) {
	t.Parallel()
	repo, ids := line(t, 8)
	repo.WriteFile("shallow", []byte(ids[3]+"\n"))
	for _, cut := range ids[4:] {
		if err := os.Remove(filepath.Join(repo.Dir, "objects", cut[:2], cut[2:])); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := open(t, repo.Dir)
	cache := NewCache(0)
	for _, paths := range [][]string{nil, {"f"}} {
		o := LogOptions{Start: id(t, ids[0]), Paths: paths}
		if got, want := hexes(all(t, snapshot, cache, o)), strings.Fields(
			repo.Git(append([]string{"log", "--format=%H", ids[0], "--"}, paths...)...)); !slices.Equal(got, want) ||
			len(got) != 4 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	page, err := Log(t.Context(), snapshot, cache, LogOptions{Start: id(t, ids[0])})
	if err != nil || page.Next != "" || len(page.Commits) != 4 || len(page.Commits[3].Parents) != 0 {
		t.Error(page, err)
	}
	blame, err := Blame(t.Context(), snapshot, cache, BlameOptions{Commit: id(t, ids[0]), Path: "f"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSuffix(porcelain(blame), "\n"), repo.Git("blame", "--line-porcelain", ids[0], "--",
		"f"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestDamageIsNoEndOfHistory(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]string{"missing": "", "empty": " ", "no tree": "parent x\n",
		"bad parent": "tree %s\nparent zz\n\n"} {
		repo, ids := line(t, 3)
		tree := repo.Git("rev-parse", ids[0]+"^{tree}")
		parent := strings.Repeat("ab", 20)
		if object != "" {
			parent = repo.Store("commit", strings.ReplaceAll(object, "%s", tree))
		}
		tip := repo.Store("commit", "tree "+tree+"\nparent "+parent+
			"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n")
		snapshot := open(t, repo.Dir)
		want := git.ErrCorrupt
		if name == "bad parent" {
			want = nil // too short to be taken for a parent: git's too
		}
		for _, paths := range [][]string{nil, {"f"}} {
			if _, err := Log(t.Context(), snapshot, nil, LogOptions{Start: id(t, tip), Paths: paths}); !errors.Is(err,
				want) || err != nil && want == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestFactsKeepTheirBound also goes through several walks at once.
func TestFactsKeepTheirBound(t *testing.T) {
	t.Parallel()
	repo, ids := line(t, 150)
	snapshot := open(t, repo.Dir)
	const bytes = 20_000 // one block of commits, and less than their paths need
	cache := NewCache(bytes)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				page, err := Log(t.Context(), snapshot, cache, LogOptions{Start: id(t, ids[0]), Paths: []string{"f"},
					Limit: 150})
				if err != nil || len(page.Commits) != 150 {
					t.Error(len(page.Commits), err)
				}
			}
		})
	}
	group.Wait()
	if cache, taken := cache.known.Size(); cache == 0 || taken < bytes/4 || taken > bytes {
		t.Errorf("%d cache take %d bytes", cache, taken)
	}
	// Another repository that is asked for the same finds nothing there.
	other := gittest.At(t, filepath.Join(t.TempDir(), "other.git"))
	if _, err := Log(t.Context(), open(t, other.Dir), cache, LogOptions{Start: id(t, ids[0])}); !errors.Is(err,
		git.ErrCorrupt) {
		t.Errorf("what another repository has was read: %v", err)
	}
}

// TestTreeBombsEnd compares folders that have more files than can be counted.
func TestTreeBombsEnd(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	bomb := func(inner string) string {
		for range 40 {
			var tree strings.Builder
			for i := range 10 {
				fmt.Fprintf(&tree, "40000 d%d\x00%s", i, bytesOf(t, inner))
			}
			inner = repo.Store("tree", tree.String())
		}
		return inner
	}
	// Folders without files, which are the same to git.
	empty := repo.Store("tree", "")
	nested := repo.Store("tree", "40000 e\x00"+string(bytesOf(t, empty)))
	parent := ""
	var tip string
	for i, tree := range []string{bomb(empty), bomb(nested)} {
		tip = repo.Store("commit", fmt.Sprintf(
			"tree %s\n%sauthor A <a@b> %[3]d +0000\ncommitter A <a@b> %[3]d +0000\n\n", tree, parent, i))
		parent = "parent " + tip + "\n"
	}
	page, err := Log(t.Context(), open(t, repo.Dir), nil, LogOptions{Start: id(t, tip), Paths: []string{"d1", "d2"}})
	if err != nil || len(page.Commits) != 0 {
		t.Error(len(page.Commits), err)
	}
}
