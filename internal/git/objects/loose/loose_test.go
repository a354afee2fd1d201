//go:build linux

package loose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// readerOf returns a reader of the folder that holds a repository, and the
// objects directory of that.
func readerOf(t *testing.T, repo *gittest.Repo) (*Reader, []string) {
	t.Helper()
	root, err := os.OpenRoot(filepath.Dir(repo.Dir))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(root, new(object.Buffers))
	t.Cleanup(func() { _ = errors.Join(r.Close(), root.Close()) })
	return r, []string{filepath.Base(repo.Dir) + "/objects"}
}

func TestSmallLooseObjectsAreReadQuickly(t *testing.T) {
	repo := gittest.New(t)
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "%d line of %x\n", i, i*7919%1000003)
	}
	repo.Commit("main", gittest.Regular("empty", ""), gittest.Regular("text", text.String()),
		gittest.Regular("noise", gittest.Noise(smallFile-100)), gittest.Regular("beyond", gittest.Noise(2*smallFile)),
		gittest.Regular("zeros", string(make([]byte, 1<<20))))
	repo.Git("tag", "-a", "-m", "tagged", "v1", "main")
	r, dirs := readerOf(t, repo)
	quick, slow := 0, 0
	for line := range strings.Lines(repo.Git("cat-file", "--batch-all-objects", "--batch-check")) {
		words := strings.Fields(line)
		id, _ := object.ParseID(words[0])
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := r.Open(dirs, id)
		if err != nil || opened.Type().String() != words[1] || opened.Size() != size {
			t.Fatalf("%s: %v", line, err)
		}
		want, err := opened.AppendTo(nil) // compares it with the id
		if err != nil || opened.Close() != nil {
			t.Fatal(err)
		}
		kind, data, ok := r.AppendSmall([]byte("kept"), dirs, id, size)
		if !ok {
			slow++
			continue
		}
		quick++
		if kind != opened.Type() || string(data) != "kept"+string(want) {
			t.Errorf("%s: %v and %d bytes", line, kind, len(data))
		}
	}
	// The tag, the commit, the tree and three files; not the large file and not
	// the one that grows a thousandfold.
	if quick != 6 || slow != 2 {
		t.Errorf("%d were read quickly and %d not", quick, slow)
	}
}

// TestUnsoundLooseObjectsAreNotReadQuickly puts something else in the place of
// an object. What it is then called is for the tests of all readers.
func TestUnsoundLooseObjectsAreNotReadQuickly(t *testing.T) {
	const content = "content"
	id := packtest.SumOf(object.Blob, []byte(content))
	stored := func(object string) []byte { return packtest.Deflated([]byte(object)) }
	sound := stored("blob 7\x00" + content)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(data []byte) func(testing.TB, string) {
		return func(t testing.TB, name string) {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		make  func(testing.TB, string)
		sound bool
	}{
		{"sound", file(sound), true},
		{"nothing", func(testing.TB, string) {}, false},
		{"empty", file(nil), false},
		{"truncated", file(sound[:len(sound)-1]), false},
		{"trailing byte", file(append(sound[:len(sound):len(sound)], 0)), false},
		{"other content", file(stored("blob 7\x00CONTENT")), false},
		{"other type", file(stored("tree 7\x00" + content)), false},
		{"wrong size", file(stored("blob 8\x00" + content)), false},
		{"no header", file(stored(content)), false},
		{"link out of the root", func(t testing.TB, name string) {
			if err := os.Symlink(outside, name); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"folder", func(t testing.TB, name string) {
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"pipe", makePipe, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := gittest.New(t)
			repo.Commit("main", gittest.Regular("f", content))
			name := filepath.Join(repo.Dir, pathOf("objects", id))
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			c.make(t, name)
			r, dirs := readerOf(t, repo)
			kind, data, ok := r.AppendSmall(nil, dirs, id, 100)
			if ok != c.sound || ok && (kind != object.Blob || string(data) != content) {
				t.Errorf("%v %q %v", kind, data, ok)
			}
			if _, _, ok := r.AppendSmall(nil, dirs, id, int64(len(content)-1)); ok {
				t.Error("more than the limit was read")
			}
		})
	}
}
