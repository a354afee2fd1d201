package objects

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhyAFileCannotBeOpened(t *testing.T) {
	for cause, want := range map[error]error{
		fs.ErrNotExist: ErrNotFound, syscall.ENOTDIR: ErrNotFound, syscall.EACCES: ErrDenied, syscall.EPERM: ErrDenied,
		syscall.EMFILE: ErrBusy, syscall.EIO: ErrCorrupt, syscall.ELOOP: ErrCorrupt,
	} {
		got := openError("objects/x", &fs.PathError{Op: "openat", Path: "objects/x", Err: cause})
		if !errors.Is(got, want) || !errors.Is(want, ErrCorrupt) && errors.Is(got, ErrCorrupt) {
			t.Errorf("%v: %v, want %v", cause, got, want)
		}
	}
}

// Root may read everything, so that permissions can be tried by others only.
func TestFilesThatMayNotBeReadAreCalledThat(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	write(t, name, "x")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	mode, want := os.FileMode(0), ErrDenied
	if os.Geteuid() == 0 {
		mode, want = 0o600, nil
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	file, _, err := OpenRegular(root, "file")
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
	if err == nil {
		_ = file.Close()
	}
	makePipe(t, filepath.Join(dir, "pipe"))
	for _, name := range []string{"pipe", "."} {
		if _, _, err := OpenRegular(root, name); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
