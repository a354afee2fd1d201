package content_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive/content"
	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/pretty"
	"github.com/repomcp/repomcp/internal/git/snapshottest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// opened are the entries of main, in archive order, with an opener of their content.
type opened struct {
	*content.Opener
	snapshot *git.Snapshot
	batch    tree.Batch
}

func open(t *testing.T, repo *gittest.Repo, options tree.Options) *opened {
	t.Helper()
	options.Limits = options.Limits.WithDefaults()
	o := &opened{snapshot: snapshottest.Open(t, repo.Dir)}
	head, err := o.snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.ReadFolder(o.snapshot, head.Tree)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tree.Select(t.Context(), root, options)
	if err != nil {
		t.Fatal(err)
	}
	walk, err := s.Walk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.batch.Reset(o.snapshot, 1000)
	if more, err := walk.Fill(&o.batch); err != nil || more {
		t.Fatal(more, err)
	}
	o.Opener = content.NewOpener(t.Context(), o.snapshot, head.Commit, options.Limits, new(pretty.Descriptions))
	return o
}

// entry is that of a path.
func (o *opened) entry(t *testing.T, path string) tree.Entry {
	t.Helper()
	for e := range o.batch.All() {
		if string(e.Path) == path {
			return e
		}
	}
	t.Fatalf("there is no %s", path)
	return tree.Entry{}
}

// read writes a file.
func (o *opened) read(t *testing.T, e tree.Entry) (string, error) {
	t.Helper()
	size, write, err := o.Open(e)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return "", err
	}
	if size != int64(b.Len()) {
		t.Errorf("%s: Open says %d bytes, and writes %d", e.Path, size, b.Len())
	}
	return b.String(), nil
}

// Each file has the content that git archive gives it, and the size that is said before.
func TestContentIsThatOfGitArchive(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	large := strings.Repeat("line\n", 100_000)
	repo.Commit("main",
		gittest.Regular(".gitattributes", "*.crlf eol=crlf\n*.sub export-subst\n*.both export-subst eol=crlf\n"+
			"*.16 working-tree-encoding=UTF-16LE\n*.auto text=auto\n*.id ident\n*.bin -text eol=crlf\n*.no working-tree-encoding=no-such\n"),
		gittest.Regular("plain", "content\n"), gittest.Regular("empty", ""), gittest.Regular("empty.crlf", ""),
		gittest.Regular("a.crlf", "one\ntwo\n"), gittest.Regular("mixed.crlf", "one\r\ntwo\n"),
		gittest.Regular("large.crlf", large), gittest.Regular("large", large),
		gittest.Regular("a.sub", "$Format:%H %h %an %s$ and $Format:%cd$\n"), gittest.Regular("none.sub", "$Format$\n"),
		gittest.Regular("a.both", "$Format:%H$\nx\n"), gittest.Regular("a.16", "é\n"), gittest.Regular("a.auto", "x\n"),
		gittest.Regular("a.id", "$Id$\n$Id: old $\n"), gittest.Regular("a.bin", "\x00\n"), gittest.Executable("run", "x\n"))
	o := open(t, repo, tree.Options{Attributes: tree.ForArchive})
	files := 0
	for reader := tar.NewReader(bytes.NewReader(repo.Archive("--format=tar", "main"))); ; files++ {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			files--
			continue
		}
		want, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		e := o.entry(t, h.Name)
		if size, err := o.Size(e); err != nil || size != int64(len(want)) {
			t.Errorf("%s: the size is %d, %v, want %d", h.Name, size, err, len(want))
		}
		if got, err := o.read(t, e); err != nil || got != string(want) {
			t.Errorf("%s: %.200q, %v, git has %.200q", h.Name, got, err, want)
		}
	}
	if files != 16 {
		t.Errorf("%d files were compared, want 16", files)
	}
}

// pointer is that of a Git LFS object.
func pointer(object string, size int) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n",
		sha256.Sum256([]byte(object)), size)
}

// A pointer is replaced where it was asked for, its object is there, and has the size that the pointer says.
func TestPointersAreReplaced(t *testing.T) {
	t.Parallel()
	const object = "the object\n"
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular(".gitattributes", "*.bin filter=lfs\n"),
		gittest.Regular("a.bin", pointer(object, len(object))), gittest.Regular("absent.bin", pointer("absent", 6)),
		gittest.Regular("wrong.bin", pointer(object, 3)), gittest.Regular("none.bin", "no pointer\n"),
		gittest.Regular("a.txt", pointer(object, len(object))))
	oid := fmt.Sprintf("%x", sha256.Sum256([]byte(object)))
	repo.WriteFile(filepath.Join("lfs/objects", oid[:2], oid[2:4], oid), []byte(object))
	for _, lfs := range []bool{false, true} {
		o := open(t, repo, tree.Options{Attributes: tree.ForArchive, LFS: lfs})
		for path, want := range map[string]string{
			"a.bin":      map[bool]string{false: pointer(object, len(object)), true: object}[lfs],
			"absent.bin": pointer("absent", 6), "none.bin": "no pointer\n", "a.txt": pointer(object, len(object)),
		} {
			e := o.entry(t, path)
			if got, err := o.read(t, e); err != nil || got != want {
				t.Errorf("lfs %t: %s is %q, %v, want %q", lfs, path, got, err, want)
			}
			if size, err := o.Size(e); err != nil || size != int64(len(want)) {
				t.Errorf("lfs %t: the size of %s is %d, %v, want %d", lfs, path, size, err, len(want))
			}
			if lacks, err := o.LacksObject(e); err != nil || lacks != (lfs && path == "absent.bin") {
				t.Errorf("lfs %t: %s lacks its object: %t, %v", lfs, path, lacks, err)
			}
		}
		if _, err := o.read(t, o.entry(t, "wrong.bin")); errors.Is(err, git.ErrLFS) != lfs {
			t.Errorf("lfs %t: an object of another size: %v", lfs, err)
		}
	}
}

// Content that names refs, as %d does, is not that of the commit alone.
func TestContentMayDependOnRefs(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular(".gitattributes", "* export-subst\n"), gittest.Regular("id", "$Format:%H$"),
		gittest.Regular("names", "$Format:%d$"), gittest.Regular("described", "$Format:%(describe)$"),
		gittest.Regular("plain", "%d"))
	o := open(t, repo, tree.Options{Attributes: tree.ForArchive})
	for path, want := range map[string]bool{"id": false, "plain": false, "names": true, "described": true} {
		if got, err := o.DependsOnRefs(o.entry(t, path)); err != nil || got != want {
			t.Errorf("%s depends on refs: %t, %v, want %t", path, got, err, want)
		}
	}
}

func TestLimitsBoundContent(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular(".gitattributes", "*.crlf eol=crlf\n*.sub export-subst\n"),
		gittest.Regular("within", strings.Repeat("x", 100)), gittest.Regular("beyond", strings.Repeat("x", 101)),
		gittest.Regular("beyond.crlf", strings.Repeat("x", 101)), gittest.Regular("beyond.sub", strings.Repeat("x", 101)),
		gittest.Symlink("link", strings.Repeat("x", tree.MaxLinkBytes+1)))
	o := open(t, repo, tree.Options{Attributes: tree.ForArchive, Limits: tree.Limits{BlobBytes: 100}})
	for path, want := range map[string]error{
		"within": nil, "beyond": tree.ErrLimit, "beyond.crlf": tree.ErrLimit, "beyond.sub": tree.ErrLimit,
	} {
		e := o.entry(t, path)
		if _, err := o.Size(e); !errors.Is(err, want) {
			t.Errorf("the size of %s: %v, want %v", path, err, want)
		}
		if _, err := o.read(t, e); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := o.Size(o.entry(t, "link")); !errors.Is(err, tree.ErrLink) {
		t.Errorf("a long link: %v, want %v", err, tree.ErrLink)
	}
}
