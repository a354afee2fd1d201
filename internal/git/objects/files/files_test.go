package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

func TestWhyAFileCannotBeOpened(t *testing.T) {
	for cause, want := range map[error]error{
		fs.ErrNotExist: object.ErrNotFound, syscall.ENOTDIR: object.ErrNotFound, syscall.EACCES: object.ErrDenied,
		syscall.EPERM:  object.ErrDenied,
		syscall.EMFILE: object.ErrBusy, syscall.EIO: object.ErrCorrupt, syscall.ELOOP: object.ErrCorrupt,
	} {
		got := OpenError("objects/x", &fs.PathError{Op: "openat", Path: "objects/x", Err: cause})
		if !errors.Is(got, want) || !errors.Is(want, object.ErrCorrupt) && errors.Is(got, object.ErrCorrupt) {
			t.Errorf("%v: %v, want %v", cause, got, want)
		}
	}
}

// Root may read everything, so that permissions can be tried by others only.
func TestFilesThatMayNotBeReadAreCalledThat(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	mode, want := os.FileMode(0), object.ErrDenied
	if os.Geteuid() == 0 {
		mode, want = 0o600, nil
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	file, _, err := Open(root, "file")
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
	if err == nil {
		_ = file.Close()
	}
	makePipe(t, filepath.Join(dir, "pipe"))
	for _, name := range []string{"pipe", "."} {
		if _, _, err := Open(root, name); !errors.Is(err, object.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
