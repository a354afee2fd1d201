package swap

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// place is a folder with files.
type place struct {
	t   *testing.T
	dir string
	*Folder
}

func newPlace(t *testing.T, plain bool, files map[string]string) place {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := Open(root, plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(folder.Close(), root.Close()); err != nil {
			t.Error(err)
		}
	})
	return place{t, dir, folder}
}

func (p place) has(want map[string]string) {
	p.t.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(p.dir, e.Name()))
		if e.IsDir() {
			content, err = []byte("folder"), nil
		}
		if err != nil {
			p.t.Fatal(err)
		}
		got[e.Name()] = string(content)
	}
	if !maps.Equal(got, want) {
		p.t.Errorf("the folder has %q, not %q", got, want)
	}
}

func TestExchange(t *testing.T) {
	p := newPlace(t, false, map[string]string{"a": "1", "b": "2"})
	if err := p.Exchange("a", "b"); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("the file system cannot do it")
	} else if err != nil {
		t.Fatal(err)
	}
	p.has(map[string]string{"a": "2", "b": "1"})
	if err := p.Exchange("a", "c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with a name that nothing has: %v", err)
	}
	plain := newPlace(t, true, map[string]string{"a": "1", "b": "2"})
	if err := plain.Exchange("a", "b"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("where it is not used: %v", err)
	}
	plain.has(map[string]string{"a": "1", "b": "2"})
}

func TestMoveReplacesNothing(t *testing.T) {
	for _, plain := range []bool{false, true} {
		p := newPlace(t, plain, map[string]string{"a": "1", "b": "2"})
		if err := os.Mkdir(filepath.Join(p.dir, "folder"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, taken := range [][2]string{{"a", "b"}, {"a", "folder"}, {"folder", "a"}} {
			if err := p.Move(taken[0], taken[1]); !errors.Is(err, fs.ErrExist) {
				t.Errorf("plain %v: %s to %s, which is taken: %v", plain, taken[0], taken[1], err)
			}
		}
		if err := p.Move("nothing", "c"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("plain %v: a name that nothing has: %v", plain, err)
		}
		if err := errors.Join(p.Move("a", "c"), p.Move("folder", "d")); err != nil {
			t.Errorf("plain %v: %v", plain, err)
		}
		p.has(map[string]string{"b": "2", "c": "1", "d": "folder"})
	}
}

func TestWritersAreSeen(t *testing.T) {
	p := newPlace(t, false, map[string]string{"a": "1"})
	if has, known := p.HasWriter("a"); !known {
		t.Skip("the file system does not tell")
	} else if has {
		t.Error("nothing has the file open")
	}
	reader, err := os.Open(filepath.Join(p.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if has, _ := p.HasWriter("a"); has {
		t.Error("it is open for reading only")
	}
	writer, err := os.OpenFile(filepath.Join(p.dir, "a"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if has, _ := p.HasWriter("a"); !has {
		t.Error("it is open for writing")
	}
	if err := errors.Join(reader.Close(), writer.Close()); err != nil {
		t.Fatal(err)
	}
	if has, _ := p.HasWriter("a"); has {
		t.Error("it was closed")
	}
	if _, known := p.HasWriter("nothing"); known {
		t.Error("it is known of a name that nothing has")
	}
}

// TestChangeTimeCannotBeSet: a program that gives a changed file its old time of
// modification is found out.
func TestChangeTimeCannotBeSet(t *testing.T) {
	p := newPlace(t, false, map[string]string{"a": "1"})
	at := filepath.Join(p.dir, "a")
	before, err := os.Lstat(at)
	if err != nil {
		t.Fatal(err)
	}
	if ChangeTime(before) == 0 {
		t.Skip("the system does not tell")
	}
	for after := before; ChangeTime(after) == ChangeTime(before); { // until the clock has gone on
		if err := errors.Join(os.WriteFile(at, []byte("2"), 0o600), os.Chtimes(at, time.Time{}, before.ModTime())); err != nil {
			t.Fatal(err)
		}
		if after, err = os.Lstat(at); err != nil || !after.ModTime().Equal(before.ModTime()) {
			t.Fatal(after.ModTime(), err)
		}
	}
}
