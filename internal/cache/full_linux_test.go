package cache

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A real disk that is full.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("ABSENT: a full file system, only injected faults were tested: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	d, err := OpenDisk(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	c := New(Options{Disk: d})
	defer c.Close()
	small, large := &source{bytes: content(1, 3*chunkBytes)}, &source{bytes: content(2, 30*chunkBytes)}
	mustRead(t, c, KeyOf("small"), small)
	idle(c)
	mustRead(t, c, KeyOf("large"), large)
	idle(c)
	mustRead(t, c, KeyOf("small"), small)
	mustRead(t, c, KeyOf("large"), large)
	if s := c.Stats(); s.DiskFaults != 1 || s.Entries != 1 || small.runs.Load() != 1 || large.runs.Load() != 2 {
		t.Errorf("%+v, %d and %d builds", s, small.runs.Load(), large.runs.Load())
	}
	if left := files(t, dir, temporary); len(left) != 0 {
		t.Errorf("%v", left)
	}
}
