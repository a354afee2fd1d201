package unpack

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestAbilitiesOfAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a, err := AbilitiesOf(folder)
	if unix := runtime.GOOS != "windows"; err != nil || a.Modes != unix || unix && !a.Links {
		t.Errorf("%+v, %v", a, err)
	}
	if file, err := os.CreateTemp(folder, probePrefix); err != nil || file.Close() != nil { // of a killed run
		t.Fatal(err)
	}
	if err := RemoveProbes(folder); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := AbilitiesOf(folder + "/absent"); err == nil {
		t.Error("an absent folder has abilities")
	}
}

// Where there are no symbolic links, a file has the target, and the report says so.
func TestLinksAreFilesWhereThereAreNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	u := New(p.root, Options{})
	u.noLinks = true
	report, err := u.Tar(t.Context(), bytes.NewReader(archive(t, sym("d/l", "../a"), reg("a", "x"), sym("out", "/etc"))))
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || refused.Reason != Outside || report.Symlinks != 1 || report.TextLinks != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	p.has(t, `a "x"`, "d", `d/l "../a"`)
	p = newPlace(t)
	if report, err = p.unpack(t, archive(t, sym("l", "a"))); err != nil || report.Symlinks != 1 || report.TextLinks != 0 {
		t.Errorf("with links: %+v, %v", report, err)
	}
}

// A fault of the disk says nothing about what the file system can do.
func TestAFaultIsNoInability(t *testing.T) {
	t.Parallel()
	for err, unable := range map[error]bool{
		syscall.EPERM: true, syscall.ENOSYS: true, syscall.EOPNOTSUPP: true,
		syscall.EACCES: false, syscall.EIO: false, syscall.ENOSPC: false, syscall.EINTR: false,
	} {
		got := unlessUnable(&os.LinkError{Op: "symlink", Err: err})
		if want := unable || runtime.GOOS == "windows"; (got == nil) != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
