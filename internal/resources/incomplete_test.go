package resources

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// incompleteMirrors makes the mirror whole, and others that lack its large files by design: partial clones with
// three filters, one that borrows objects from outside of the root, and one with a partial clone as a submodule.
func incompleteMirrors(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	whole := gittest.At(t, filepath.Join(root, "whole.git"))
	whole.Commit("main", gittest.Regular("large", gittest.Noise(5000)), gittest.Regular("small", "x\n"),
		gittest.Regular("dir/small", "y\n"), gittest.Symlink("link", strings.Repeat("l", 3000)))
	whole.Commit("main", gittest.Regular("large", gittest.Noise(5001)), gittest.Regular("small", "x\n"),
		gittest.Regular("dir/small", "y\n"))
	whole.Git("config", "uploadpack.allowFilter", "true")
	clone := func(name, filter string) {
		whole.Git("clone", "-q", "--bare", "--filter="+filter, "file://"+whole.Dir, filepath.Join(root, name+".git"))
	}
	clone("none", "blob:none")
	clone("limit", "blob:limit=2k")
	clone("tree", "tree:0")
	clone("beyond", "blob:limit=2k")
	gittest.At(t, filepath.Join(root, "super.git")).Commit("main",
		gittest.Regular(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = ../limit.git\n"),
		gittest.Gitlink("m", whole.Git("rev-parse", "main")))
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.git")
	whole.Git("clone", "-q", "--bare", whole.Dir, elsewhere)
	beyond := gittest.Existing(t, filepath.Join(root, "beyond.git"))
	beyond.WriteFile("config", []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"))
	beyond.WriteFile("objects/info/alternates", []byte(filepath.Join(elsewhere, "objects")+"\n"))
	promisors, err := filepath.Glob(filepath.Join(beyond.Dir, "objects/pack/*.promisor"))
	if err != nil || len(promisors) != 1 || os.Remove(promisors[0]) != nil {
		t.Fatal(promisors, err)
	}
	return root
}

// TestWhatAMirrorLacksIsRefusedBeforeTheFirstByte asks incomplete mirrors, in every format, for what they lack and
// for what they have.
func TestWhatAMirrorLacksIsRefusedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	s := newService(t, incompleteMirrors(t), Options{})
	wants := map[string]Want{
		"GET": {Method: Get}, "HEAD": {Method: Head}, "a range": {Method: Get, Range: newRange(0, 10)},
		"a reply": {Method: Get, Reply: true, Limit: 1 << 20},
	}
	cases := 0
	incomplete := func(uri, word string) {
		t.Helper()
		for how, want := range wants {
			failure := refusal(t, s, uri, want)
			if failure == nil || failure.Reason != ReasonIncompleteRepo || !strings.Contains(failure.Message, word) {
				t.Errorf("%s of %s: %v, want %s with %q", how, uri, failure, ReasonIncompleteRepo, word)
			}
			cases++
		}
	}
	for name, word := range map[string]string{"none": "partial clone", "limit": "partial clone",
		"tree": "partial clone", "beyond": "outside of the server's root"} {
		for _, format := range archive.Formats() {
			for _, query := range []string{"", "?profile=full&prefix=p/", "?base=main~1&profile=full", "?path=large"} {
				incomplete("repo://"+name+"/archive/main."+string(format)+query, word)
			}
		}
	}
	for _, format := range archive.Formats() { // a submodule of a whole mirror
		uri := "repo://super/archive/main." + string(format)
		incomplete(uri+"?submodules=content", "partial clone")
		contentOf(t, mustFind(t, s, uri))
		for _, name := range []string{"limit", "beyond"} {
			for _, query := range []string{"?exclude=large", "?path=dir", "?path=large&path=small&exclude=large"} {
				file := "/archive/main." + string(format) + query
				got, want := contentOf(t, mustFind(t, s, "repo://"+name+file)), contentOf(t, mustFind(t, s, "repo://whole"+file))
				if !bytes.Equal(got, want) {
					t.Errorf("%s of %s: %d bytes, want the %d of the whole mirror", file, name, len(got), len(want))
				}
				cases++
			}
		}
	}
	if cases < 400 {
		t.Errorf("only %d cases", cases)
	}
}

// A git-lfs object that differs from its pointer is nothing that git fsck finds.
func TestAWrongObjectOfLFSSaysWhatToDo(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	oid := strings.Repeat("ab", 32)
	repo.Commit("main", gittest.Regular(".gitattributes", "* filter=lfs\n"), gittest.Regular("a",
		"version https://git-lfs.github.com/spec/v1\noid sha256:"+oid+"\nsize 12345\n"))
	repo.WriteFile("lfs/objects/ab/ab/"+oid, []byte("shorter"))
	s := newService(t, root, Options{})
	for _, format := range archive.Formats() {
		uri := "repo://repo/archive/main." + string(format)
		failure := refusal(t, s, uri+"?lfs=content", Want{Method: Get})
		if failure == nil || failure.Reason != ReasonCorruptRepo || !strings.Contains(failure.Message, "git lfs fetch") ||
			strings.Contains(failure.Message, "fsck") {
			t.Errorf("%s with content of lfs: %v, want %s that names git lfs fetch", uri, failure, ReasonCorruptRepo)
		}
		contentOf(t, mustFind(t, s, uri))
	}
}

// Damage is reported in place of a digest.
func TestChecksumsOfDamagedMirrorsAreRefused(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("b", "2"))
	id := repo.Git("rev-parse", "main:b")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	s := newService(t, root, Options{})
	for _, want := range []Want{{Method: Get}, {Method: Get, Range: newRange(0, 10)}} {
		if failure := refusal(t, s, "repo://repo/archive/main.tar.gz.sha256", want); failure == nil ||
			failure.Reason != ReasonCorruptRepo {
			t.Errorf("a checksum over damage: %v, want %s", failure, ReasonCorruptRepo)
		}
	}
}
