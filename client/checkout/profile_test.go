package checkout

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// checkedOut is what git checkout writes of the branch.
func (p *place) checkedOut() tree {
	p.t.Helper()
	git := &place{t: p.t, dir: p.repo.Checkout("main")}
	return git.onDisk()
}

// TestAFolderIsWhatGitChecksOut, after the first run and after updates that change
// contents, attributes and both.
func TestAFolderIsWhatGitChecksOut(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line\n", 2000)
	history := [][]gittest.File{
		{gittest.Regular(".gitattributes", "*.bat eol=crlf\n*.c ident\nhidden export-ignore\nv export-subst\n"),
			gittest.Regular("a.bat", "one\ntwo\n"), gittest.Regular("a.c", "/* $Id$ $$Id$ */\n"), gittest.Regular("hidden", "1"),
			gittest.Regular("v", "$Format:%H$\n"), gittest.Executable("run", "#!/bin/sh\n"), gittest.Symlink("l", "run"),
			gittest.Regular("large.bat", lines), gittest.Regular("large", lines)},
		{gittest.Regular("large.bat", lines+"more\n"), gittest.Regular("large", lines+"more\n"), gittest.Regular("a.c", "/* $Id: x $ */\n")},
		{gittest.Regular(".gitattributes", "*.c ident\n*.txt working-tree-encoding=UTF-16LE-BOM\n*.auto text=auto eol=crlf\n"),
			gittest.Regular("a.txt", "h\u00e4llo\n"), gittest.Regular("x.auto", "a\nb\n"), gittest.Regular("y.auto", "a\r\nb\n")},
		{gittest.Regular("d/.gitattributes", "* -text -ident\n"), gittest.Regular("d/a.c", "$Id$\n"), gittest.Regular("a.txt", "more\n")},
		{gittest.Regular(".gitattributes", "* eol=crlf\n")},
	}
	for _, plain := range []bool{false, true} {
		p := newPlace(t)
		p.repo.WriteFile("info/attributes", []byte("* eol=crlf export-ignore\n")) // of the mirror alone
		files := map[string]gittest.File{}
		for i, changes := range history {
			for _, f := range changes {
				files[f.Path] = f
			}
			var all []gittest.File
			for _, f := range files {
				all = append(all, f)
			}
			p.commit(all...)
			result := p.sync(func(o *Options) { o.Plain = plain })
			p.same(p.checkedOut())
			if result.Full != (i == 0) || result.KeptCount != 0 {
				t.Errorf("step %d: %+v", i, result)
			}
			if i == 1 && !plain && result.Bytes > 3000 {
				t.Errorf("%d bytes for lines that were added", result.Bytes)
			}
		}
		if again := p.sync(func(o *Options) { o.Verify = true }); again.KeptCount != 0 || again.Written != 0 {
			t.Errorf("%+v", again)
		}
	}
}

// TestAFolderKeepsItsProfile unless another is asked for, also one of the version before.
func TestAFolderKeepsItsProfile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	stored, archived := gittest.Regular("a.bat", "a\n"), gittest.Regular("hidden", "1")
	p.commit(gittest.Regular(".gitattributes", "*.bat eol=crlf\nhidden export-ignore\n"), stored, archived)
	is := func(profile, want string, change func(*Options)) {
		t.Helper()
		p.sync(change)
		if now, err := StatusOf(p.dir); err != nil || now.Profile != profile || !has(filepath.Join(p.dir, "a.bat"), want) {
			t.Errorf("%+v, %v, not %s", now, err, profile)
		}
	}
	is(ProfileFull, "a\n", func(o *Options) { o.Profile = ProfileFull })
	is(ProfileFull, "a\n", nil)
	at := filepath.Join(p.dir, stateFolder, stateName)
	state, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	state = changeTime.ReplaceAll(bytes.Replace(state, []byte(`"version":2`), []byte(`"version":1`), 1), []byte(" $1 "))
	if err := os.WriteFile(at, state, 0o600); err != nil {
		t.Fatal(err)
	}
	if before := p.mtime("hidden"); true {
		is(ProfileFull, "a\n", nil)
		if p.mtime("hidden") != before {
			t.Error("a file that is the same has another time")
		}
	}
	is(ProfileWorktree, "a\r\n", func(o *Options) { o.Profile = ProfileWorktree })
	is(ProfileWorktree, "a\r\n", nil)
	is(ProfileArchive, "a\r\n", func(o *Options) { o.Profile = ProfileArchive })
	if _, err := os.Lstat(filepath.Join(p.dir, "hidden")); err == nil {
		t.Error("git archive leaves it out")
	}
	p.dir = filepath.Join(t.TempDir(), "new")
	is(ProfileWorktree, "a\r\n", nil)
}

// TestContentFromOutsideOfTheCommit comes on request: objects of git-lfs, and what is in
// submodules.
func TestContentFromOutsideOfTheCommit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	pointer := func(content string) (pointer, name string) {
		oid := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(content)),
			"lfs/objects/" + oid[:2] + "/" + oid[2:4] + "/" + oid
	}
	there, name := pointer("an object")
	late, lateName := pointer("a late one")
	p.repo.WriteFile(name, []byte("an object"))
	lib := gittest.At(t, filepath.Join(filepath.Dir(p.repo.Dir), "lib.git"))
	first := lib.Commit("main", gittest.Regular("x", "1"))
	second := lib.Commit("main", gittest.Regular("x", "2"))
	gittest.Await(t, "the server has looked around", func() bool {
		_, err := p.client.Read(t.Context(), "repo://lib")
		return err == nil
	})
	commit := func(module string) {
		p.commit(gittest.Regular(".gitattributes", "*.bin filter=lfs -text\n"),
			gittest.Regular(".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n"),
			gittest.Regular("a.bin", there), gittest.Regular("late.bin", late), gittest.Regular("not.txt", there),
			gittest.Gitlink("lib", module))
	}
	commit(first)
	with := func(o *Options) { o.LFS, o.Submodules = true, true }
	p.sync(nil)
	p.same(p.checkedOut())
	p.sync(with)
	want := p.checkedOut()
	delete(want, "lib")
	want["a.bin"], want["lib/x"] = "file an object", "file 1"
	p.same(want)
	if again := p.sync(with); again.Written != 0 || again.Deleted != 0 || again.Full {
		t.Errorf("nothing is new: %+v", again)
	}
	p.write("lib/x", "mine")
	commit(second)
	if update := p.sync(with); !update.Full || update.KeptCount != 1 {
		t.Errorf("%+v", update)
	}
	p.write("lib/x", "2")
	p.repo.WriteFile(lateName, []byte("a late one"))
	p.sync(func(o *Options) { with(o); o.Verify = true })
	want["lib/x"], want["late.bin"] = "file 2", "file a late one"
	p.same(want)
	p.sync(nil) // and without again
	p.same(p.checkedOut())
}
