package httpx_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestWhatAMirrorLacksIsRefusedBeforeTheFirstByte asks mirrors that lack objects by
// design, in every format and on every route, for what they have not and what they have.
func TestWhatAMirrorLacksIsRefusedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	var whole *gittest.Repo
	s := newTarget(t, targetOptions{links: newLinks(t).linking(t), build: func(root string) {
		whole = gittest.At(t, filepath.Join(root, "whole.git"))
		whole.Commit("main", gittest.Regular("large", gittest.Noise(5000)), gittest.Regular("small", "x\n"),
			gittest.Regular("dir/small", "y\n"), gittest.Symlink("link", strings.Repeat("l", 3000)))
		whole.Commit("main", gittest.Regular("large", gittest.Noise(5001)), gittest.Regular("small", "x\n"),
			gittest.Regular("dir/small", "y\n"))
		whole.Git("config", "uploadpack.allowFilter", "true")
		for name, filter := range map[string]string{"none": "blob:none", "limit": "blob:limit=2k", "tree": "tree:0"} {
			whole.Git("clone", "-q", "--bare", "--filter="+filter, "file://"+whole.Dir, filepath.Join(root, name+".git"))
		}
		gittest.At(t, filepath.Join(root, "super.git")).Commit("main",
			gittest.Regular(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = ../limit.git\n"),
			gittest.Gitlink("m", whole.Git("rev-parse", "main")))
		// An alternate that is not below the root.
		elsewhere := filepath.Join(t.TempDir(), "elsewhere.git")
		whole.Git("clone", "-q", "--bare", whole.Dir, elsewhere)
		beyond := filepath.Join(root, "beyond.git")
		whole.Git("clone", "-q", "--bare", "--filter=blob:limit=2k", "file://"+whole.Dir, beyond)
		config := []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
		write(t, filepath.Join(beyond, "config"), string(config))
		write(t, filepath.Join(beyond, "objects/info/alternates"), filepath.Join(elsewhere, "objects")+"\n")
		if promisors, err := filepath.Glob(filepath.Join(beyond, "objects/pack/*.promisor")); err != nil || len(promisors) != 1 ||
			os.Remove(promisors[0]) != nil {
			t.Fatal(promisors, err)
		}
	}})
	words := map[string]string{"none": "partial clone", "limit": "partial clone", "tree": "partial clone",
		"beyond": "outside of the server's root"}
	cases := 0
	for name, word := range words {
		for _, format := range archive.Formats() {
			for _, query := range []string{"", "?profile=full&prefix=p/", "?base=main~1&profile=full", "?path=large"} {
				path := "/archive/" + name + "/main." + string(format) + query
				uri := "repo://" + name + "/archive/main." + string(format) + query
				for how, a := range map[string]answer{
					"GET": s.get(t, path), "HEAD": s.fetch(t, http.MethodHead, path), "range": s.get(t, path, "Range: bytes=0-9"),
				} {
					if a.status != http.StatusNotImplemented || how != "HEAD" && !strings.Contains(string(a.body), word) {
						t.Errorf("%s %s: %v, want 501 with %q", how, path, a, word)
					}
					cases++
				}
				for _, version := range eras {
					for _, call := range []*call{
						s.call(version, methodStream, map[string]any{"uri": uri}), s.linkCall(version, uri),
						s.call(version, methodRead, map[string]any{"uri": uri}),
					} {
						if a := s.do(t, call); a.reason != "incomplete_repository" || !strings.Contains(string(a.body), word) {
							t.Errorf("%s in %s: %v, want incomplete_repository", uri, version, a)
						}
						cases++
					}
				}
			}
		}
	}
	for _, format := range archive.Formats() { // a submodule of a whole mirror
		path := "/archive/super/main." + string(format)
		if a := s.get(t, path+"?submodules=content"); a.status != http.StatusNotImplemented {
			t.Errorf("%s with submodules: %v, want 501", path, a)
		}
		if a := s.get(t, path); a.status != http.StatusOK || a.err != nil {
			t.Errorf("%s: %v", path, a)
		}
		cases += 2
	}
	// What is there is served.
	for _, name := range []string{"limit", "beyond"} {
		for _, format := range archive.Formats() {
			for _, query := range []string{"?exclude=large", "?path=dir", "?path=large&path=small&exclude=large"} {
				a, want := s.get(t, "/archive/"+name+"/main."+string(format)+query),
					s.get(t, "/archive/whole/main."+string(format)+query)
				if a.status != http.StatusOK || !bytes.Equal(a.body, want.body) {
					t.Errorf("%s of %s: %v, want that of the whole mirror", query, name, a)
				}
				cases++
			}
		}
	}
	if cases < 800 {
		t.Errorf("%d cases", cases)
	}
}

// An object of git-lfs that is not what its pointer says is no matter of git fsck.
func TestAWrongObjectOfLFSSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "media.git"))
		oid := strings.Repeat("ab", 32)
		repo.Commit("main", gittest.Regular(".gitattributes", "* filter=lfs\n"), gittest.Regular("a",
			"version https://git-lfs.github.com/spec/v1\noid sha256:"+oid+"\nsize 12345\n"))
		repo.WriteFile("lfs/objects/ab/ab/"+oid, []byte("shorter"))
	}})
	for _, format := range archive.Formats() {
		path := "/archive/media/main." + string(format)
		a := s.get(t, path+"?lfs=content")
		if text := string(a.body); a.status != http.StatusInternalServerError || !strings.Contains(text, "git lfs fetch") ||
			strings.Contains(text, "fsck") {
			t.Errorf("%s with content of lfs: %v, want 500 that names git lfs fetch", path, a)
		}
		if a := s.get(t, path); a.status != http.StatusOK || a.err != nil {
			t.Errorf("%s: %v", path, a)
		}
	}
}
