package httpx_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
)

// An archive of a tag of a tree is had on every route, under a name that lasts.
func TestArchiveOfATagOfATree(t *testing.T) {
	s := &target{root: t.TempDir()}
	repo := gittest.At(t, s.root+"/trees.git")
	repo.Commit("main", gittest.Regular("a/file", strings.Repeat("content\n", 1000)), gittest.Regular("b", "x"))
	hidden := repo.Git("rev-parse", "main:a")
	id := repo.GitInput([]byte("object "+repo.Git("rev-parse", "main^{tree}")+
		"\ntype tree\ntag data\ntagger A <a@b.c> 1110000000 +0000\n\nof a folder\n"), "mktag")
	repo.SetRef("refs/tags/data", id)
	s.serve(t, targetOptions{})
	for _, format := range []string{"tar", "tar.gz", "zip", "manifest.json"} {
		path := "/archive/trees/data." + format
		whole := s.get(t, path)
		last := s.get(t, "/archive/trees/"+id+"."+format)
		tag := whole.header.Get("Etag")
		if whole.err != nil || whole.status != http.StatusOK || !bytes.Equal(whole.body, last.body) ||
			tag == "" || strings.HasPrefix(tag, "W/") || tag != last.header.Get("Etag") {
			t.Errorf("%s: %d %v, %v", path, whole.status, whole.header, whole.err)
		}
		if link := whole.header.Get("Link"); !strings.Contains(link, id) {
			t.Errorf("%s: the link %q does not last", path, link)
		}
		if !strings.Contains(last.header.Get("Cache-Control"), "immutable") ||
			strings.Contains(whole.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %v", path, last.header)
		}
		if modified := whole.header.Get("Last-Modified"); modified != "" &&
			modified != "Sat, 05 Mar 2005 05:20:00 GMT" {
			t.Errorf("%s: of %s, and the tag is of 2005", path, modified)
		}
		n := len(whole.body)
		part := s.get(t, path, fmt.Sprintf("Range: bytes=%d-%d", n/3, n/2), "If-Range: "+tag)
		if part.status != http.StatusPartialContent || !bytes.Equal(part.body, whole.body[n/3:n/2+1]) {
			t.Errorf("%s: a part has %d bytes with %d", path, len(part.body), part.status)
		}
		if same := s.get(t, path, "If-None-Match: "+tag); same.status != http.StatusNotModified {
			t.Errorf("%s: %d", path, same.status)
		}
		stream := s.do(t, s.call(modernVersion, "resources/stream", map[string]any{"uri": "repo://trees/archive/data." +
			format}))
		if got, want := stream.header.Get("Content-Location"), "repo://trees/archive/"+id+"."+format; got != want ||
			!bytes.Equal(stream.body, whole.body) {
			t.Errorf("%d %q, want %q", stream.status, got, want)
		}
	}
	for _, unserved := range []string{hidden, repo.Git("rev-parse", "main^{tree}"), repo.Git("rev-parse", "main:b"),
		"main:a"} {
		if a := s.get(t, "/archive/trees/"+unserved+".tar"); a.status < 400 {
			t.Errorf("%s: %d", unserved, a.status)
		}
	}
	of := s.get(t, "/archive/trees/main%5E%7Btree%7D.tar")
	if want := repo.Git("rev-parse", "main") + "%5E%7Btree%7D"; of.status != http.StatusOK ||
		!strings.Contains(of.header.Get("Link"), want) {
		t.Errorf("%d, %v, want a link to %s", of.status, of.header, want)
	}
	_, link, _ := strings.Cut(of.header.Get("Link"), "<")
	link, _, _ = strings.Cut(link, ">")
	if again := s.get(t, strings.TrimPrefix(link, s.url)); !bytes.Equal(again.body, of.body) {
		t.Errorf("%s: %d", link, again.status)
	}
}

// A tag of a file leads to nothing that an archive could be made of, or that has paths. It
// is not there for such a request, which says why, and its repository is not damaged.
func TestATagOfAFileIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	log := &journal{}
	s := newTarget(t, targetOptions{
		links: newLinks(t).linking(t), tools: true,
		http: httpx.Options{Logger: slog.New(slog.NewTextHandler(log, nil))},
		build: func(root string) {
			repo := gittest.At(t, filepath.Join(root, "tags.git"))
			repo.Commit("main", gittest.Regular("key", "of a person\n"))
			blob := repo.Git("rev-parse", "main:key")
			repo.SetRef("refs/tags/light", blob)
			repo.Git("tag", "-m", "x", "annotated", blob)
			repo.Git("tag", "-m", "x", "nested", "annotated")
			for _, tag := range []string{"light", "annotated", "nested"} {
				if _, ok := repo.TryArchive("--format=tar", tag); ok {
					t.Errorf("git archives %s", tag)
				}
			}
		},
	})
	const reason = "leads to a file (blob "
	for _, tag := range []string{"light", "annotated", "nested", "refs/tags/nested", "annotated%5E%7B%7D", "nested~1"} {
		paths := []string{"/raw/tags/" + tag + "/key"}
		for _, format := range []string{"tar", "tar.gz", "tar.zst", "tar.xz", "zip", "manifest.json"} {
			paths = append(paths, "/archive/tags/"+tag+"."+format)
		}
		for _, path := range paths {
			head := s.fetch(t, http.MethodHead, path)
			if a := s.get(t, path); a.status != http.StatusNotFound || !strings.Contains(string(a.body), reason) ||
				head.status != a.status {
				t.Errorf("%s: %v, HEAD %d, want 404 with the reason", path, a, head.status)
			}
		}
		uri := "repo://tags/archive/" + tag + ".tar"
		for _, a := range []answer{
			s.do(t, s.call(modernVersion, methodStream, map[string]any{"uri": uri})), s.do(t, s.linkCall(modernVersion, uri)),
		} {
			if a.reason != "not_found" || !strings.Contains(string(a.body), reason) {
				t.Errorf("%s: %v, want not_found with the reason", uri, a)
			}
		}
		for _, tool := range []string{"list_commits", "get_file_contents", "get_repository_tree", "get_archive_link"} {
			name, err := url.PathUnescape(tag)
			if err != nil {
				t.Fatal(err)
			}
			call := s.call(modernVersion, "tools/call", map[string]any{
				"name": tool, "arguments": map[string]any{"repo": "tags", "ref": name},
			})
			call.header.Set("Mcp-Name", tool)
			if a := s.do(t, call); !strings.Contains(string(a.body), reason) || !strings.Contains(string(a.body), `"isError":true`) {
				t.Errorf("%s of %s: %v, want an error with the reason", tool, name, a)
			}
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("a sound repository is in the log: %s", log)
	}
}
