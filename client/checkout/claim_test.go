package checkout

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestFoldersOfOthersAreRefused without leave, and nothing in them is touched.
func TestFoldersOfOthersAreRefused(t *testing.T) {
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("d/b", "1"))
	refused := func(what string, change func(*Options)) {
		t.Helper()
		before := p.onDisk()
		for _, dry := range []bool{false, true} {
			o := p.options()
			o.DryRun = dry
			if change != nil {
				change(&o)
			}
			if _, err := Sync(t.Context(), p.client, o); !errors.Is(err, ErrOccupied) || CodeOf(err) != CodeOccupied {
				t.Errorf("%s: %v", what, err)
			}
		}
		p.same(before)
		if _, err := os.Lstat(filepath.Join(p.dir, stateFolder)); err == nil {
			t.Errorf("%s: a state was made", what)
		}
	}
	p.write("a", "mine")
	refused("a folder with files", nil)
	if got := p.sync(func(o *Options) { o.IntoExisting = true }); got.KeptCount != 1 {
		t.Errorf("with leave: %+v", got)
	}
	p.same(tree{"a": "file mine", "d/b": "file 1"})
	p.sync(nil) // it is a synced one now

	// The state may be deleted; what is there is then compared, with leave.
	if err := os.RemoveAll(filepath.Join(p.dir, stateFolder)); err != nil {
		t.Fatal(err)
	}
	refused("without its state", nil)

	home := t.TempDir()
	t.Setenv("HOME", home)
	p.dir = home
	refused("an empty home folder", nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	refused("a link to it", func(o *Options) { o.Dir = link })
	refused("the root", func(o *Options) { o.Dir = filepath.VolumeName(home) + string(filepath.Separator) })
	t.Chdir(string(filepath.Separator))
	refused("the root, in another way", func(o *Options) { o.Dir = "." })
	p.sync(func(o *Options) { o.IntoExisting = true })
	p.sync(nil)
	p.same(p.archived())
}

func TestEmptyFoldersAreTaken(t *testing.T) {
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	for name, make := range map[string]func(dir string) error{
		"nothing":   func(string) error { return nil },
		"empty":     func(dir string) error { return os.Mkdir(dir, 0o755) },
		"the state": func(dir string) error { return os.MkdirAll(filepath.Join(dir, stateFolder), 0o755) },
	} {
		p.dir = filepath.Join(t.TempDir(), name)
		if err := make(p.dir); err != nil {
			t.Fatal(err)
		}
		p.sync(func(o *Options) { o.DryRun = true })
		p.sync(nil)
		p.same(p.archived())
	}
}

// TestAnInterruptedFirstRunIsGoneOnWith, without leave: by a kill while files appear, and
// by a server that breaks off.
func TestAnInterruptedFirstRunIsGoneOnWith(t *testing.T) {
	p := newPlace(t)
	p.commit(manyFiles("new ")...)
	p.server.cut(1000, 300_000)
	c, err := client.New(p.server.proxy+"/mcp", client.Options{Retries: -1, HTTP: p.http()})
	if err != nil {
		t.Fatal(err)
	}
	o := p.options()
	o.Plain = true
	if _, err := Sync(t.Context(), c, o); err == nil {
		t.Fatal("it was not interrupted")
	}
	p.server.cut(0, 0)
	p.client = p.connect()
	p.sync(nil)
	p.same(p.archived())

	// As a kill leaves it between two files that get their names.
	p.dir = filepath.Join(t.TempDir(), "killed")
	f, err := open(p.options())
	if err != nil {
		t.Fatal(err)
	}
	j, err := createJournal(f.path(journalName))
	if err != nil {
		t.Fatal(err)
	}
	p.write("d0/f000", "new 0")
	if err := errors.Join(j.add(record{path: "d0/f000", kind: plainFile, flag: brought}), j.close(), f.close()); err != nil {
		t.Fatal(err)
	}
	p.sync(nil)
	p.same(p.archived())
}
