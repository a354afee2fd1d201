package resources

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
)

// shownList has the members that lists and folders share.
type shownList struct {
	Next string
	Refs []struct {
		Name, Commit, Target string
		Damaged              bool
	}
	Entries      []struct{ Name string }
	Repositories []struct{ Name, URI string }
}

func readList(t *testing.T, found *Found) (list shownList) {
	t.Helper()
	if err := json.Unmarshal(contentOf(t, found), &list); err != nil || found.MIMEType != TypeJSON {
		t.Fatalf("%s: %s, %v, want JSON", found.URI, found.MIMEType, err)
	}
	return list
}

// names are those of all entries.
func (l shownList) names() (names []string) {
	for _, ref := range l.Refs {
		names = append(names, ref.Name)
	}
	for _, entry := range l.Entries {
		names = append(names, entry.Name)
	}
	for _, repository := range l.Repositories {
		names = append(names, repository.Name)
	}
	return names
}

// findPage finds the page that resources/read returns.
func findPage(t *testing.T, s *Service, uri string) (*Found, error) {
	t.Helper()
	found, err := s.FindPage(t.Context(), uri)
	if err == nil {
		closeAfter(t, found)
	}
	return found, err
}

// pages follows a list from page to page, and returns the names in it.
func pages(t *testing.T, s *Service, uri string) (names []string, count int) {
	t.Helper()
	for uri != "" {
		found, err := findPage(t, s, uri)
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		page := readList(t, found)
		if next, _ := found.Meta[metaNext].(string); next != page.Next || found.Size > 64<<10 {
			t.Errorf("%s: %d bytes, next %q, and in _meta %q", uri, found.Size, page.Next, next)
		}
		names = append(names, page.names()...)
		count++
		uri = page.Next
	}
	return names, count
}

// TestAListIsTheSameByEveryWay finds short lists by URI, as a page, by plain URL and by link.
func TestAListIsTheSameByEveryWay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "team/app.git")).Commit("main", gittest.Regular("a", "1"))
	gittest.At(t, filepath.Join(root, "empty.git"))
	s := newService(t, root, Options{Links: newKeys(t).linking(t)})
	for uri, url := range map[string]string{"repo://": "/repositories", "repo://team/app/refs": "/refs/team/app"} {
		whole := mustFind(t, s, uri)
		page, err := findPage(t, s, uri)
		if err != nil {
			t.Fatal(err)
		}
		want := contentOf(t, whole)
		for way, found := range map[string]*Found{
			"as a page": page, "by URL": mustDownload(t, s, url), "by link": mustFollow(t, s, whole).Found,
		} {
			if got := contentOf(t, found); !bytes.Equal(got, want) || found.ETag != whole.ETag || found.Immutable ||
				!found.Streamable || found.Permalink != "" {
				t.Errorf("%s %s: %q of %+v, want %q", uri, way, got, found, want)
			}
		}
		if part, err := bytesOf(t, whole, Want{Range: newRange(3, 7)}); err != nil || !bytes.Equal(part, want[3:10]) {
			t.Errorf("%s, a part: %q, %v", uri, part, err)
		}
	}
	list := readList(t, mustFind(t, s, "repo://"))
	if !slices.Equal(list.names(), []string{"empty", "team/app"}) {
		t.Errorf("the repositories are %q", list.names())
	}
	for _, repository := range list.Repositories {
		mustFind(t, s, repository.URI)
	}
}

// large is a repository with a folder of many entries, many tags, and a ref that is neither a
// branch nor a tag.
func large(t *testing.T) (s *Service, repo *gittest.Repo) {
	t.Helper()
	root := t.TempDir()
	repo = gittest.At(t, filepath.Join(root, "large.git"))
	var files []gittest.File
	for i := range 450 {
		files = append(files, gittest.Regular(fmt.Sprintf("wide/f %03d", i), "x"),
			gittest.Regular(fmt.Sprintf("wide/f %03d.d/x", i%7), "x"))
	}
	id := repo.Commit("main", files...)
	packed := "# pack-refs with: sorted \n" + id + " refs/pull/1/head\n"
	for i := range 450 {
		packed += fmt.Sprintf("%s refs/tags/v%03d\n", id, i)
	}
	repo.WriteFile("packed-refs", []byte(packed))
	return newService(t, root, Options{}), repo
}

func TestFoldersAndListsAreReadInPages(t *testing.T) {
	t.Parallel()
	s, repo := large(t)
	folder := strings.Split(repo.Git("ls-tree", "--name-only", "main:wide"), "\n")
	all := strings.Split(repo.Git("for-each-ref", "--format=%(refname)"), "\n")
	shown := slices.DeleteFunc(slices.Clone(all),
		func(name string) bool { return strings.HasPrefix(name, "refs/pull/") })
	for uri, want := range map[string][]string{
		"repo://large/contents/wide": folder, "repo://large/refs/heads/main/contents/wide/": folder,
		"repo://large/refs": shown, "repo://large/refs?all=1": all,
	} {
		if names, count := pages(t, s, uri); !slices.Equal(names, want) || count != 3 || len(want) < 450 {
			t.Errorf("%s: %d entries on %d pages, want %d on 3", uri, len(names), count, len(want))
		}
	}
	for url, want := range map[string]int{ // downloads are whole
		"/refs/large": len(shown), "/refs/large?all=1": len(all), "/refs/large?after=refs/tags/v440": 9,
	} {
		if list := readList(t, mustDownload(t, s, url)); len(list.Refs) != want {
			t.Errorf("%s: %d refs, want %d", url, len(list.Refs), want)
		}
	}
	for uri, want := range map[string]Reason{
		"repo://large/contents/wide?after=none": ReasonNotFound, "repo://large/contents/wide/f%20000?after=x": ReasonURI,
		"repo://large/contents/wide?all=1": ReasonURI,
		"repo://large/refs?all=2":          ReasonURI, "repo://large/refs?after=": ReasonURI,
		"repo://large?after=x": ReasonURI, "repo://large/refs/heads/main?after=x": ReasonURI,
	} {
		if failure := refusal(t, s, uri, Want{}); failure == nil || failure.Reason != want {
			t.Errorf("%s: %v, want %s", uri, failure, want)
		}
	}
}

// A page goes on with the commit that the first page belongs to.
func TestPagesAreOfOneCommit(t *testing.T) {
	t.Parallel()
	s, repo := large(t)
	want := strings.Split(repo.Git("ls-tree", "--name-only", "main:wide"), "\n")
	found, err := findPage(t, s, "repo://large/contents/wide")
	if err != nil {
		t.Fatal(err)
	}
	first := readList(t, found)
	repo.Commit("main", gittest.Regular("wide/other", "x"))
	rest, _ := pages(t, s, first.Next)
	if got := append(first.names(), rest...); !slices.Equal(got, want) {
		t.Errorf("%d entries, want the %d of the first commit", len(got), len(want))
	}
}

// truncateFiles cuts files of a mirror, each to the size that keep returns.
func truncateFiles(t *testing.T, repo *gittest.Repo, pattern string, keep func(size int64) int64) {
	t.Helper()
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

// A list of a damaged mirror has all refs, and marks those whose commits cannot be read.
func TestListsOfADamagedMirrorAreNeverShort(t *testing.T) {
	t.Parallel()
	for pattern, keep := range map[string]func(size int64) int64{
		"objects/pack/*.idx":  func(size int64) int64 { return size / 2 },
		"objects/pack/*.pack": func(int64) int64 { return 60 },
		"refs/heads/b/*":      func(int64) int64 { return 0 },
	} {
		const count = 10
		root := t.TempDir()
		repo := gittest.At(t, filepath.Join(root, "hurt.git"))
		for i := range count / 2 {
			id := repo.Commit(fmt.Sprintf("b/%d", i), gittest.Regular("a", fmt.Sprint(i)))
			repo.Git("tag", "-a", "-m", "x", fmt.Sprintf("t%d", i), id)
		}
		repo.Git("repack", "-adq")
		truncateFiles(t, repo, pattern, keep)
		s := newService(t, root, Options{})
		page, err := findPage(t, s, "repo://hurt/refs")
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		for way, list := range map[string]shownList{
			"plain URL": readList(t, mustDownload(t, s, "/refs/hurt")), "page": readList(t, page),
		} {
			marked := 0
			for _, ref := range list.Refs {
				if ref.Damaged {
					marked++
				}
				if ref.Damaged != (ref.Commit == "") {
					t.Errorf("%s, %s: %+v", pattern, way, ref)
				}
			}
			if len(list.Refs) != count || marked == 0 {
				t.Errorf("%s, %s: %d refs, %d of them marked, want %d with marks", pattern, way, len(list.Refs), marked, count)
			}
		}
		if failure := refusal(t, s, "repo://hurt/refs/heads/b/1", Want{}); failure == nil ||
			failure.Reason != ReasonCorruptRepo {
			t.Errorf("%s: one ref: %v, want %s", pattern, failure, ReasonCorruptRepo)
		}
		found, err := findPage(t, s, "repo://hurt")
		if err != nil {
			continue // a card may be refused
		}
		var card struct{ Branches, Tags int }
		if err := json.Unmarshal(contentOf(t, found), &card); err != nil || card.Branches+card.Tags != count {
			t.Errorf("%s: the card has %+v, %v, want %d refs", pattern, card, err, count)
		}
	}
}

// mustFollow makes a link for many uses, and follows it.
func mustFollow(t *testing.T, s *Service, found *Found) Linked {
	t.Helper()
	url, _ := s.LinkMeta(t.Context(), found)[MetaHTTP].(string)
	linked, err := s.FindLink(t.Context(), url[strings.LastIndexByte(url, '/')+1:], links.Use{Method: "GET"})
	if err != nil {
		t.Fatalf("the link %q of %s: %v", url, found.URI, err)
	}
	closeAfter(t, linked.Found)
	return linked
}
