package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// What is in the way of one file leaves all where they were.
func TestAllFilesAreMovedOrNone(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inTheWay := filepath.Join(to, "b")
	if err := os.MkdirAll(filepath.Join(inTheWay, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := moveAll(from, to); err == nil {
		t.Fatal("there was no fault")
	}
	if left, _ := filepath.Glob(filepath.Join(from, "*")); len(left) != 3 {
		t.Errorf("there are %q", left)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := moveAll(from, to); err != nil {
		t.Error(err)
	}
	if all, _ := filepath.Glob(filepath.Join(to, "*")); len(all) != 3 {
		t.Errorf("there are %q", all)
	}
}

// A fault of the disk is no verdict about the state.
func TestStateThatCannotBeReadIsNotDamaged(t *testing.T) {
	t.Parallel()
	f := &folder{state: t.TempDir()}
	if err := os.Mkdir(f.path(stateName), 0o700); err != nil { // reading a folder is a fault of the system
		t.Fatal(err)
	}
	s, err := f.readState()
	if err == nil || errors.Is(err, ErrState) {
		t.Errorf("readState gives %v", err)
	}
	s.close()
}

// A run that is killed while it finds out what the file system can do leaves a file, which the next one removes.
func TestProbesOfAKilledRunAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.dir = filepath.Join(t.TempDir(), "a [folder]*")
	p.commit(gittest.Regular("a", "a"))
	p.sync(nil)
	left := p.at(stateFolder + "/.repomcp-tmp-able-1")
	p.must(os.WriteFile(left, nil, 0o600))
	p.sync(nil)
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
