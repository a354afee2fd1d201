package httpx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// shownList is what lists and folders have in common.
type shownList struct {
	Next string
	Refs []struct {
		Name, Commit, Target string
		Damaged              bool
	}
	Entries []struct{ Name, Mode, ID, URI string }
}

// readJSON reads a resource that is JSON; the reason of a refusal is "" otherwise.
func (s *target) readJSON(t *testing.T, uri string, into any) (text string, meta map[string]any, reason string) {
	t.Helper()
	a := s.do(t, s.call(modernVersion, methodRead, map[string]any{"uri": uri}))
	if a.reason != "" {
		return "", nil, a.reason
	}
	var reply struct {
		Result struct {
			Contents []struct {
				Text string
				Meta map[string]any `json:"_meta"`
			} `json:"contents"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.body, &reply); err != nil || len(reply.Result.Contents) != 1 {
		t.Fatalf("%s: %v, %v", uri, a, err)
	}
	text = reply.Result.Contents[0].Text
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v: %s", uri, err, text)
	}
	return text, reply.Result.Contents[0].Meta, ""
}

// pages follows a list from page to page, and returns the names in it.
func (s *target) pages(t *testing.T, uri string) (names []string, pages int) {
	t.Helper()
	for uri != "" {
		var page shownList
		text, meta, reason := s.readJSON(t, uri, &page)
		if reason != "" || len(text) > 64<<10 {
			t.Fatalf("%s: %s, %d bytes", uri, reason, len(text))
		}
		if next, _ := meta["io.github.repomcp/next"].(string); next != page.Next {
			t.Errorf("%s: goes on at %q, and in _meta at %q", uri, page.Next, next)
		}
		for _, ref := range page.Refs {
			names = append(names, ref.Name)
		}
		for _, entry := range page.Entries {
			names = append(names, entry.Name)
		}
		pages++
		uri = page.Next
	}
	return names, pages
}

// large is a repository with a folder of many entries, many tags, and refs that
// are neither branches nor tags.
func large(t *testing.T, root string) *gittest.Repo {
	repo := gittest.At(t, filepath.Join(root, "large.git"))
	var files []gittest.File
	for i := range 450 {
		files = append(files, gittest.Regular(fmt.Sprintf("wide/f %03d", i), "x"),
			gittest.Regular(fmt.Sprintf("wide/f %03d.d/x", i%7), "x"))
	}
	id := repo.Commit("main", files...)
	var packed strings.Builder
	for i := range 450 {
		fmt.Fprintf(&packed, "%s refs/tags/v%03d\n", id, i)
	}
	write(t, filepath.Join(repo.Dir, "packed-refs"), "# pack-refs with: sorted \n"+id+" refs/pull/1/head\n"+
		packed.String())
	return repo
}

func TestFoldersAndListsAreReadInPages(t *testing.T) {
	t.Parallel()
	var repo *gittest.Repo
	s := newTarget(t, targetOptions{build: func(root string) { repo = large(t, root) }})
	for _, uri := range []string{"repo://large/contents/wide", "repo://large/refs/heads/main/contents/wide/"} {
		names, pages := s.pages(t, uri)
		if want := strings.Split(repo.Git("ls-tree", "--name-only", "main:wide"), "\n"); !slices.Equal(names, want) ||
			pages != 3 {
			t.Errorf("%s: %d entries on %d pages, want %d", uri, len(names), pages, len(want))
		}
	}
	all := strings.Split(repo.Git("for-each-ref", "--format=%(refname)"), "\n")
	shown := slices.DeleteFunc(slices.Clone(all),
		func(name string) bool { return strings.HasPrefix(name, "refs/pull/") })
	for uri, want := range map[string][]string{"repo://large/refs": shown, "repo://large/refs?all=1": all} {
		if names, pages := s.pages(t, uri); !slices.Equal(names, want) || pages != 3 || len(want) < 450 {
			t.Errorf("%s: %d refs on %d pages, want %d", uri, len(names), pages, len(want))
		}
	}
	// Downloads are whole.
	for route, want := range map[string]int{"/refs/large": len(shown), "/refs/large?all=1": len(all),
		"/refs/large?after=refs/tags/v440": 9} {
		var list shownList
		if a := s.get(t, route); json.Unmarshal(a.body, &list) != nil || len(list.Refs) != want {
			t.Errorf("%s: %d refs, want %d", route, len(list.Refs), want)
		}
	}
	direct := s.call(modernVersion, methodStream, map[string]any{"uri": "repo://large/refs"})
	direct.header.Set("Accept", "*/*, application/json, text/event-stream")
	if a := s.do(t, direct); !bytes.Equal(a.body, s.get(t, "/refs/large").body) {
		t.Errorf("%s of the refs: %d bytes", methodStream, len(a.body))
	}
	for uri, want := range map[string]string{
		"repo://large/contents/wide?after=none": notFound, "repo://large/contents/wide/f%20000?after=x": invalidURI,
		"repo://large/contents/wide?all=1": invalidURI,
		"repo://large/refs?all=2":          invalidURI, "repo://large/refs?after=": invalidURI,
		"repo://large?after=x": invalidURI, "repo://large/refs/heads/main?after=x": invalidURI,
	} {
		if _, _, reason := s.readJSON(t, uri, new(shownList)); reason != want {
			t.Errorf("%s: %s, want %s", uri, reason, want)
		}
	}
}

// A page goes on with the commit that it began with.
func TestPagesAreOfOneCommit(t *testing.T) {
	t.Parallel()
	var repo *gittest.Repo
	s := newTarget(t, targetOptions{build: func(root string) { repo = large(t, root) }})
	want := strings.Split(repo.Git("ls-tree", "--name-only", "main:wide"), "\n")
	var first shownList
	s.readJSON(t, "repo://large/contents/wide", &first)
	repo.Commit("main", gittest.Regular("wide/other", "x"))
	names, _ := s.pages(t, first.Next)
	if len(first.Entries)+len(names) != len(want) || names[len(names)-1] != want[len(want)-1] {
		t.Errorf("%d entries and then %d, want %d", len(first.Entries), len(names), len(want))
	}
}

// Over damage no route lists fewer refs than there are.
func TestListsOfADamagedMirrorAreNeverShort(t *testing.T) {
	t.Parallel()
	cut := func(pattern string, keep func(size int64) int64) func(*gittest.Repo) {
		return func(repo *gittest.Repo) {
			names, err := filepath.Glob(filepath.Join(repo.Dir, pattern))
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %v", pattern, err)
			}
			for _, name := range names {
				info, err := os.Stat(name)
				if err := errors.Join(err, os.Chmod(name, 0o600), os.Truncate(name, keep(info.Size()))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	lists := 0
	for name, damage := range map[string]func(*gittest.Repo){
		"index": cut("objects/pack/*.idx", func(size int64) int64 { return size / 2 }),
		"pack":  cut("objects/pack/*.pack", func(int64) int64 { return 60 }),
		"refs":  cut("refs/heads/b/*", func(int64) int64 { return 0 }),
	} {
		var repo *gittest.Repo
		s := newTarget(t, targetOptions{build: func(root string) {
			repo = gittest.At(t, filepath.Join(root, "hurt.git"))
			for i := range 5 {
				id := repo.Commit(fmt.Sprintf("b/%d", i), gittest.Regular("a", fmt.Sprint(i)))
				repo.Git("tag", "-a", "-m", "x", fmt.Sprintf("t%d", i), id)
			}
			repo.Git("repack", "-adq")
			damage(repo)
		}})
		const count = 10
		check := func(route string, list shownList) {
			marked := 0
			for _, ref := range list.Refs {
				if ref.Damaged {
					marked++
				}
				if ref.Damaged != (ref.Commit == "") {
					t.Errorf("%s, %s: %+v", name, route, ref)
				}
			}
			if len(list.Refs) != count || marked == 0 {
				t.Errorf("%s, %s: %d refs, %d of them marked", name, route, len(list.Refs), marked)
			}
			lists++
		}
		var plain, read shownList
		if a := s.get(t, "/refs/hurt"); a.status != http.StatusOK || json.Unmarshal(a.body, &plain) != nil {
			t.Errorf("%s: %v", name, a)
		}
		check("/refs", plain)
		if _, _, reason := s.readJSON(t, "repo://hurt/refs", &read); reason != "" {
			t.Errorf("%s: %s", name, reason)
		}
		check("resources/read", read)
		if _, _, reason := s.readJSON(t, "repo://hurt/refs/heads/b/1", new(shownList)); reason != "corrupt_repository" {
			t.Errorf("%s: one ref: %q", name, reason)
		}
		var card struct{ Branches, Tags int }
		if _, _, reason := s.readJSON(t, "repo://hurt", &card); reason == "" && card.Branches+card.Tags != count {
			t.Errorf("%s: %+v", name, card)
		}
	}
	if lists != 6 {
		t.Errorf("%d lists", lists)
	}
}

// A named pipe in one mirror is nothing to the others.
func TestANamedPipeHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{build: func(root string) {
		for _, name := range []string{"packed-refs", "description", "shallow", "info/attributes", "HEAD"} {
			repo := gittest.At(t, filepath.Join(root, strings.ReplaceAll(name, "/", "-")+".git"))
			repo.Commit("main", gittest.Regular("a", "1"))
			pipe := filepath.Join(repo.Dir, name)
			_ = os.Remove(pipe) // not all are there
			if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o755), syscall.Mkfifo(pipe, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		gittest.At(t, filepath.Join(root, "sound.git")).Commit("main", gittest.Regular("a", "1"))
	}})
	if a := s.do(t, s.call(modernVersion, "resources/list", map[string]any{})); a.reason != "" ||
		!bytes.Contains(a.body, []byte("repo://sound/archive/refs/heads/main.tar.gz")) {
		t.Errorf("resources/list: %v", a)
	}
	for route, status := range map[string]int{
		"/refs/packed-refs": 500, "/archive/packed-refs/main.tar": 500, "/archive/info-attributes/HEAD.tar": 500,
		"/archive/description/HEAD.tar": 200, "/archive/sound/HEAD.tar": 200,
	} {
		if a := s.get(t, route); a.status != status {
			t.Errorf("%s: %v, want %d", route, a.status, status)
		}
	}
}

func TestPlainDownloadsTakeRevisionsOfGit(t *testing.T) {
	t.Parallel()
	var repo *gittest.Repo
	s := newTarget(t, targetOptions{build: func(root string) {
		repo = gittest.At(t, filepath.Join(root, "r.git"))
		for i := range 3 {
			repo.Commit("feature/x", gittest.Regular("a", fmt.Sprint(i)), gittest.Regular("d/back~1", fmt.Sprint(i)))
		}
		repo.Git("tag", "-a", "-m", "x", "v1", "feature/x~1")
		repo.SetRef("HEAD", "ref: refs/heads/feature/x")
	}})
	for _, revision := range []string{"HEAD~1", "@", "@^", "feature/x~2", "heads/feature/x^", "refs/heads/feature/x~1",
		"v1^{}", "tags/v1", "v1~1", strings.ToUpper(repo.Git("rev-parse", "v1"))} {
		escaped := strings.NewReplacer("^", "%5E", "{", "%7B", "}", "%7D").Replace(revision)
		if a := s.get(t, "/archive/r.git/"+escaped+".tar"); !bytes.Equal(a.body,
			repo.Archive("--format=tar", revision)) {
			t.Errorf("the archive of %s: %d, %d bytes", revision, a.status, len(a.body))
		}
		for _, path := range []string{"a", "d/back~1"} {
			if a := s.get(t, "/raw/r/"+escaped+"/"+path); a.status != http.StatusOK ||
				string(a.body) != repo.Git("show", revision+":"+path) {
				t.Errorf("%s of %s: %v", path, revision, a)
			}
		}
	}
	if a := s.get(t, "/raw/r/feature/x/d/back~1"); string(a.body) != "2" {
		t.Errorf("a name with ~: %v", a)
	}
	if a := s.get(t, "/archive/r/HEAD@%7B1%7D.tar"); a.status != http.StatusBadRequest ||
		!strings.Contains(string(a.body), "reflog") {
		t.Errorf("a reflog: %v", a)
	}
	if a := s.get(t, "/archive/r/HEAD.tar?prefix=../x"); a.status != http.StatusBadRequest ||
		strings.Contains(string(a.body), "malformed URI") {
		t.Errorf("a bad option: %v", a)
	}
}
