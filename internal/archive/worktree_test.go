package archive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// profiles are all that there are.
var profiles = []archive.Profile{archive.ProfileArchive, archive.ProfileFull, archive.ProfileWorktree}

// files are what a tar or a folder has, by path: "file" or "exec" with the SHA-256 of the
// content, "link" with its target, "folder" of one with nothing in it.
type files map[string]string

func filesOfTar(t *testing.T, archived []byte) files {
	t.Helper()
	found := files{}
	for _, e := range gittest.ReadTar(t, bytes.NewReader(archived)) {
		path := strings.TrimSuffix(e.Name, "/")
		switch e.Type {
		case tar.TypeReg:
			found[path] = kindOf(fs.FileMode(e.Mode)) + e.SHA256
		case tar.TypeSymlink:
			found[path] = "link " + e.Link
		case tar.TypeDir:
			found[path] = "folder"
		default:
			continue
		}
		delete(found, filepath.Dir(path))
	}
	return found
}

func kindOf(mode fs.FileMode) string {
	if mode&0o100 != 0 {
		return "exec "
	}
	return "file "
}

func filesOfFolder(t *testing.T, dir string) files {
	t.Helper()
	found := files{}
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		path := strings.TrimPrefix(at, dir+"/")
		delete(found, filepath.Dir(path))
		switch info, err := e.Info(); {
		case err != nil:
			return err
		case e.IsDir():
			found[path] = "folder"
			return nil
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			found[path] = "link " + target
			return err
		default:
			content, err := os.ReadFile(at)
			found[path] = fmt.Sprintf("%s%x", kindOf(info.Mode()), sha256.Sum256(content))
			return err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (f files) compare(t *testing.T, what string, want files) {
	t.Helper()
	for path := range maps.Keys(want) {
		if f[path] != want[path] {
			t.Errorf("%s: %q is %.100q, git wrote %.100q", what, path, f[path], want[path])
		}
	}
	for path := range f {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %q is %.100q, git wrote nothing", what, path, f[path])
		}
	}
}

// nasty are trees whose attributes git checkout takes otherwise than git archive, or that
// are hard to write.
func nasty() map[string][]gittest.File {
	return map[string][]gittest.File{
		"attributes below": {gittest.Regular(".gitattributes", "* text=auto eol=crlf\n"),
			gittest.Regular("d/.gitattributes", "*.sh eol=lf\n*.bin -text\n"), gittest.Executable("d/a.sh", "a\nb\n"),
			gittest.Regular("d/a.bin", "a\nb\n"), gittest.Regular("d/e/.gitattributes", "[attr]odd eol=lf\na.txt odd\n"),
			gittest.Regular("d/e/a.txt", "a\nb\n"), gittest.Regular("a.txt", "a\nb\r\n"), gittest.Regular("b.txt", "a\n\xff\n")},
		"keywords": {gittest.Regular(".gitattributes", "* ident\n*.auto text=auto\n*.crlf eol=crlf\n"),
			gittest.Regular("a", "$$Id$ $Idx$Id: y$ $Id: a\tb $ $Id:a b$\n"),
			gittest.Regular("a.auto", "$$Id$ $Id: a\tb $ $Id:a b$\n"), gittest.Executable("a.crlf", "$$Id$\n$Id: x\n$\n")},
		"large keyword": {gittest.Regular(".gitattributes", "* ident\n"),
			gittest.Regular("a", "$Idx$Id: "+strings.Repeat("y", 300_000)+"$\n"+strings.Repeat("$$Id$\n", 100_000))},
		"large ends": {gittest.Regular(".gitattributes", "* eol=crlf\n"),
			gittest.Regular("a", strings.Repeat("line\n", 1_500_000))},
		"kept from archives": {gittest.Regular(".gitattributes", "secret export-ignore\n* export-subst\nd export-ignore\n"),
			gittest.Regular("secret", "$Format:%H$"), gittest.Regular("d/a", "1"), gittest.Symlink("l", "$Format:%H$")},
		"binary": {gittest.Regular(".gitattributes", "* text=auto eol=crlf\n*.png binary\n"),
			gittest.Regular("a.png", "a\nb\n"), gittest.Regular("b", "a\x00\nb\n")},
		"filters": {gittest.Regular(".gitattributes", "* filter=rot13 eol=crlf\n"), gittest.Regular("a", "a\n")},
	}
}

// TestWorktreeIsGitCheckout compares files, modes, links and folders. Only what the tree
// has counts: info/attributes are those of the mirror.
func TestWorktreeIsGitCheckout(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := attributed()
	maps.Copy(all, trees())
	maps.Copy(all, nasty())
	compared := 0
	for name, tree := range all {
		if name == "nothing" {
			continue // git checks out no commit without a file
		}
		repo := gittest.New(t)
		commit := repo.Commit("main", tree...)
		want := filesOfFolder(t, repo.Checkout(commit))
		for _, info := range []string{"", "* eol=crlf ident export-ignore\n"} {
			repo.WriteFile("info/attributes", []byte(info))
			p := plan(t, repo, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileWorktree})
			archived := write(t, p)
			filesOfTar(t, archived).compare(t, name, want)
			if measure, err := p.Measure(t.Context()); err != nil || measure.Bytes != int64(len(archived)) {
				t.Errorf("%s: measured %+v, %v; the archive has %d bytes", name, measure, err, len(archived))
			}
			if info == "" {
				compareRanges(t, name, p, archived)
			}
			if v := validatorOf(t, p); v.Weak {
				t.Errorf("%s: the bytes depend on the commit alone", name)
			}
			compared++
		}
	}
	if compared < 2*(len(all)-1) || compared < 80 {
		t.Errorf("compared %d archives", compared)
	}
}

// TestWorktreeOfSubmodules puts together what git checks out of each repository.
func TestWorktreeOfSubmodules(t *testing.T) {
	gittest.Long(t)
	g, below := family(t)
	p, err := g.plan("group/main", archive.Options{Profile: archive.ProfileWorktree})
	if err != nil {
		t.Fatal(err)
	}
	want := filesOfFolder(t, g.repo["group/main"].Checkout(p.Head().Commit.String()))
	for path, from := range below {
		delete(want, path)
		for inner, content := range filesOfFolder(t, g.repo[from[0]].Checkout(from[1])) {
			if _, other := below[path+"/"+inner]; !other {
				want[path+"/"+inner] = content
			}
		}
	}
	filesOfTar(t, write(t, p)).compare(t, "submodules", want)
}

// TestWorktreeDeltaBringsOtherAttributes: a file that only its attributes change comes,
// and nothing that they do not change.
func TestWorktreeDeltaBringsOtherAttributes(t *testing.T) {
	same := with(gittest.Regular("a.bat", "a\n"), gittest.Regular("b.bat", "none"), gittest.Regular("d/a.bat", "a\n"),
		gittest.Regular("d/e/f/c.txt", "$Id$\n"), gittest.Regular("g/x", "$Id$"))
	repo := gittest.New(t)
	base := repo.Commit("main", append(same, gittest.Regular(".gitattributes", "*.bat eol=lf\nsame/* export-ignore\n"),
		gittest.Regular("gone", "1"), gittest.Regular("g/.gitattributes", "x ident\n"))...)
	repo.Commit("main", append(same, gittest.Regular(".gitattributes", "*.bat eol=crlf\n"),
		gittest.Regular("d/.gitattributes", "*.bat -text\n"), gittest.Regular("d/e/.gitattributes", "*.txt ident\n"))...)
	options := archive.Options{Format: archive.Manifest, Profile: archive.ProfileWorktree, Base: base}
	m := readManifest(t, write(t, plan(t, repo, "main", options)))
	modified := strings.Join(m.Modified, " ")
	if modified != ".gitattributes a.bat b.bat d/e/f/c.txt g/x" {
		t.Errorf("%q are modified", modified)
	}
	options.Format, options.Base = archive.Tar, ""
	counts := map[string]int{}
	comparePair(t, open(t, repo), base, repo.Git("rev-parse", "main"), options, false, counts)
	if counts["worktree"] != 1 {
		t.Errorf("%v", counts)
	}
}
