package cache

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// faulty makes one operation of a folder fail.
type faulty struct {
	folder
	operation string
	after     int64 // bytes that can be written
	err       error
	written   atomic.Int64
	creates   atomic.Int64
}

func (f *faulty) fail(operation string) error {
	if f.operation == operation {
		return f.err
	}
	return nil
}

func (f *faulty) create(name string) (file, error) {
	f.creates.Add(1)
	if err := f.fail("create"); err != nil {
		return nil, err
	}
	inner, err := f.folder.create(name)
	return &faultyFile{inner, f}, err
}

func (f *faulty) open(name string) (file, error) {
	if err := f.fail("open"); err != nil {
		return nil, err
	}
	inner, err := f.folder.open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{inner, f}, nil
}

func (f *faulty) rename(from, to string) error {
	if err := f.fail("rename"); err != nil {
		return err
	}
	return f.folder.rename(from, to)
}

func (f *faulty) touch(name string, when time.Time) error {
	if err := f.fail("touch"); err != nil {
		return err
	}
	return f.folder.touch(name, when)
}

type faultyFile struct {
	file
	folder *faulty
}

func (f *faultyFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.folder.fail("write"); err != nil && f.folder.written.Add(int64(len(p))) > f.folder.after {
		n, _ := f.file.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return f.file.WriteAt(p, at)
}

func (f *faultyFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.folder.fail("read"); err != nil {
		return 0, err
	}
	n, err := f.file.ReadAt(p, at)
	if f.folder.operation == "flip" && n > 0 {
		p[0] ^= 1
	}
	return n, err
}

func (f *faultyFile) Sync() error {
	if err := f.folder.fail("sync"); err != nil {
		return err
	}
	return f.file.Sync()
}

func TestAFailingDiskIsNoCache(t *testing.T) {
	for _, operation := range []string{"create", "write", "sync", "touch", "rename", "read", "flip"} {
		for _, cause := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EIO} {
			for _, after := range []int64{0, chunkBytes, 3*chunkBytes + 1, 6*chunkBytes + 1} {
				if operation != "write" && after > 0 {
					continue
				}
				t.Run(fmt.Sprint(operation, cause, after), func(t *testing.T) {
					synctest.Test(t,
						func(t *testing.T) { failOne(t, &faulty{operation: operation, after: after, err: cause}) })
				})
			}
		}
	}
}

func failOne(t *testing.T, f *faulty) {
	dir := t.TempDir()
	inner, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.folder = inner
	d, err := newDisk(f, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	c := New(Options{Disk: d})
	defer c.Close()
	s := &source{bytes: content(1, 6*chunkBytes+5)}
	for range 3 {
		mustRead(t, c, KeyOf("x"), s)
		idle(c)
	}
	stats := c.Stats()
	reads := f.operation == "read" || f.operation == "flip"
	if s.runs.Load() < 2 || stats.DiskFaults+stats.Damaged == 0 || !reads && (stats.Entries != 0 || stats.Bytes != 0) {
		t.Errorf("%d builds, %+v", s.runs.Load(), stats)
	}
	if left := files(t, dir, ""); !reads && len(left) != 0 {
		t.Errorf("left are %v", left)
	}
	if n := f.creates.Load(); !reads && n != 1 {
		t.Errorf("a broken disk was written to %d times", n)
	}
	// It is tried again once the disk may have recovered.
	f.operation = ""
	time.Sleep(diskPause)
	mustRead(t, c, KeyOf("x"), s)
	idle(c)
	builds := s.runs.Load()
	mustRead(t, c, KeyOf("x"), s)
	if s.runs.Load() != builds {
		t.Error("a disk that recovered is not used")
	}
}

func TestDescriptorsMayRunOut(t *testing.T) {
	inner, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{folder: inner}
	d, err := newDisk(f, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	c := New(Options{Disk: d})
	defer c.Close()
	s := &source{bytes: content(1, 1000)}
	mustRead(t, c, KeyOf("x"), s)
	idle(c)
	f.operation, f.err = "open", syscall.EMFILE
	mustRead(t, c, KeyOf("x"), s)
	idle(c)
	if stats := c.Stats(); stats.Damaged != 0 || stats.DiskFaults == 0 || stats.Entries != 1 {
		t.Errorf("%+v", stats)
	}
}
