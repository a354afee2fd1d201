package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestDiskKeepsBytes(t *testing.T) {
	for _, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 77} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := t.TempDir()
			s := &source{bytes: content(1, size)}
			key := KeyOf("kept", fmt.Sprint(size))
			c := testCache(t, Options{Disk: testDisk(t, dir, 1<<30)})
			for range 3 {
				mustRead(t, c, key, s)
				idle(c)
			}
			if n := s.runs.Load(); n != 1 {
				t.Errorf("%d builds", n)
			}
			e, ok := c.Find(t.Context(), key, media, s.build, unreserved)
			if !ok {
				t.Fatal("nothing is found")
			}
			defer e.Close()
			if id, ok := e.Identity(); !ok || id.Size != int64(size) {
				t.Errorf("the identity is %v, %v", id, ok)
			}
			checkRanges(t, e, s.bytes)
		})
	}
}

func checkRanges(t *testing.T, e *Entry, want []byte) {
	t.Helper()
	size := int64(len(want))
	for _, at := range [][2]int64{{0, -1}, {0, size}, {size, 0}, {size, -1}, {0, size + 1}, {size + 1, 0}, {-1, 1},
		{1, 1<<63 - 1},
		{size / 2, size - size/2}, {size / 3, size / 3}, {chunkBytes - 1, 2}, {chunkBytes, chunkBytes}, {size - 1, 1}} {
		var out bytes.Buffer
		offset, length := at[0], at[1]
		err := e.WriteRange(t.Context(), &out, offset, length)
		if within := offset >= 0 && offset <= size && length <= size-offset; !within {
			if !errors.Is(err, io.ErrUnexpectedEOF) || out.Len() > 0 {
				t.Errorf("range %v of %d: %d bytes and %v", at, size, out.Len(), err)
			}
			continue
		}
		if length < 0 {
			length = size - offset
		}
		if err != nil || !bytes.Equal(out.Bytes(), want[offset:offset+length]) {
			t.Errorf("range %v of %d: %d bytes and %v", at, size, out.Len(), err)
		}
	}
}

func TestWhatIsAlteredIsDroppedAndBuiltAgain(t *testing.T) {
	const size = 4*chunkBytes + 1234
	s := &source{bytes: content(2, size)}
	length := int64(size + 5*32 + footerBytes)
	type damage struct {
		name string
		do   func(f *os.File) error
	}
	var cases []damage
	flip := func(at int64) {
		cases = append(cases, damage{fmt.Sprintf("byte %d", at), func(f *os.File) error {
			b := make([]byte, 1)
			if _, err := f.ReadAt(b, at); err != nil {
				return err
			}
			b[0] ^= 1
			_, err := f.WriteAt(b, at)
			return err
		}})
	}
	cut := func(at int64) {
		cases = append(cases, damage{fmt.Sprintf("length %d", at), func(f *os.File) error { return f.Truncate(at) }})
	}
	const ofContent = 20 // cases, the first ones
	for k := int64(0); k < 5; k++ {
		flip(k * chunkBytes)
		flip(min(size, (k+1)*chunkBytes) - 1)
		cut(k * chunkBytes)
		cut(k*chunkBytes + 1)
	}
	for at := int64(size); at < length; at += int64(gittest.Volume(3, 1)) {
		flip(at)
	}
	for _, at := range []int64{size, size + 1, size + 5*32, length - 1, length + 1, length + chunkBytes} {
		cut(at)
	}
	if len(cases) < gittest.Volume(100, 300) {
		t.Fatalf("only %d cases", len(cases))
	}
	// Open says whether a reader has the file open while it is altered.
	for _, open := range []bool{false, true} {
		c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)})
		if open {
			// The end of the file was read by then.
			cases = cases[:ofContent]
		}
		for _, d := range cases {
			if err := alterOne(t, c, KeyOf("x"), s, d.do, open); err != nil {
				t.Errorf("%s, open %v: %v", d.name, open, err)
			}
		}
		if n := c.Stats().Damaged; open && n == 0 || !open && n != int64(len(cases)) {
			t.Errorf("%d of %d were noticed, open %v", n, len(cases), open)
		}
	}
}

func alterOne(t *testing.T, c *Cache, key Key, s *source, do func(*os.File) error, open bool) error {
	mustRead(t, c, key, s)
	idle(c)
	d := c.disk
	stored := d.index[key].Value.(*stored)
	var e *Entry
	if open {
		var err error
		if e, err = c.Get(t.Context(), key, media, s.build, unreserved); err != nil {
			return err
		}
		defer e.Close()
	}
	f, err := os.OpenFile(filepath.Join(d.folder.(*rootFolder).root.Name(), stored.name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(do(f), f.Close()); err != nil {
		return err
	}
	if open {
		var out bytes.Buffer
		if err := e.WriteTo(t.Context(), &out); err != nil || !bytes.Equal(out.Bytes(), s.bytes) {
			return fmt.Errorf("an open one gives %d bytes and %w", out.Len(), errors.Join(err, errors.New("are wrong")))
		}
	}
	mustRead(t, c, key, s)
	idle(c)
	return nil
}

// A wrong byte in a file must not reach a client, but for what a range reads.
func TestARangeIsCheckedToo(t *testing.T) {
	s := &source{bytes: content(3, 5*chunkBytes)}
	c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30)})
	for k := range 5 {
		key := KeyOf(fmt.Sprint(k))
		mustRead(t, c, key, s)
		idle(c)
		name := filepath.Join(c.disk.folder.(*rootFolder).root.Name(), c.disk.index[key].Value.(*stored).name)
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		raw[k*chunkBytes+5] ^= 0x80
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		e, ok := c.Find(t.Context(), key, media, s.build, unreserved)
		if !ok {
			t.Fatal("nothing is found")
		}
		builds := s.runs.Load()
		for _, other := range []int{(k + 1) % 5, k} {
			var out bytes.Buffer
			offset := int64(other*chunkBytes + 3)
			if err := e.WriteRange(t.Context(), &out, offset, 10); err != nil ||
				!bytes.Equal(out.Bytes(), s.bytes[offset:offset+10]) {
				t.Errorf("chunk %d gives %x and %v", other, out.Bytes(), err)
			}
		}
		if s.runs.Load() != builds+1 {
			t.Errorf("%d builds for one wrong chunk", s.runs.Load()-builds)
		}
		e.Close()
		idle(c)
	}
}

// neverFinish is the child: it keeps one archive, begins another, and waits to
// be killed.
func neverFinish(dir string) {
	d, err := OpenDisk(dir, 1<<30)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c := New(Options{Disk: d})
	whole := &source{bytes: content(4, 3*chunkBytes)}
	e, _ := c.Get(context.Background(), KeyOf("whole"), media, whole.build, unreserved)
	_ = e.WriteTo(context.Background(), io.Discard)
	e.Close()
	c.wg.Wait()
	half := &source{bytes: content(5, 10*chunkBytes), before: func(_ context.Context, offset int) error {
		if offset > 5*chunkBytes {
			fmt.Println("half")
			select {}
		}
		return nil
	}}
	e, _ = c.Get(context.Background(), KeyOf("half"), media, half.build, unreserved)
	_ = e.WriteTo(context.Background(), io.Discard)
	os.Exit(1)
}

func TestAKillDuringABuildLeavesNothingPartial(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		child := exec.Command(self)
		child.Env = append(os.Environ(), childFolder+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 5)
		if _, err := io.ReadFull(out, line); err != nil || string(line) != "half\n" {
			t.Fatalf("the child says %q and %v", line, err)
		}
		if _, err := OpenDisk(dir, 1<<30); !errors.Is(err, ErrInUse) {
			t.Errorf("a folder in use: %v", err)
		}
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		if n := len(files(t, dir, temporary)); n != 1 {
			t.Fatalf("round %d: the kill left %d unfinished files", round, n)
		}
		afterKill(t, dir)
	}
}

func afterKill(t *testing.T, dir string) {
	t.Helper()
	d, err := OpenDisk(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	c := New(Options{Disk: d})
	defer c.Close()
	if left := files(t, dir, temporary); len(left) != 0 {
		t.Errorf("unfinished files are left: %v", left)
	}
	if _, ok := c.Find(t.Context(), KeyOf("half"), media, nil, unreserved); ok {
		t.Error("what is not whole is found")
	}
	whole := &source{bytes: content(4, 3*chunkBytes)}
	mustRead(t, c, KeyOf("whole"), whole)
	if n := whole.runs.Load(); n != 0 {
		t.Errorf("the whole one was built %d times", n)
	}
}

func TestTheLeastRecentlyUsedGoFirst(t *testing.T) {
	dir := t.TempDir()
	const size = 100_000
	each := cost(size + 32 + footerBytes)
	open := func() (*Disk, *Cache) {
		d, err := OpenDisk(dir, 4*each)
		if err != nil {
			t.Fatal(err)
		}
		return d, New(Options{Disk: d})
	}
	sources := make(map[string]*source)
	get := func(c *Cache, names ...string) {
		for i, name := range names {
			if sources[name] == nil {
				sources[name] = &source{bytes: content(uint64(name[0])+uint64(i)<<8, size)}
			}
			mustRead(t, c, KeyOf(name), sources[name])
			idle(c)
		}
	}
	d, c := open()
	get(c, "a", "b", "c", "d", "a", "e") // b goes
	get(c, "c")                          // the order is d a e c
	if s := c.Stats(); s.Evicted != 1 || s.Entries != 4 || s.Bytes != 4*each {
		t.Errorf("%+v", s)
	}
	c.Close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, c = open()
	get(c, "f", "g") // d and a go
	kept := func(names ...string) (n int) {
		for _, name := range names {
			if d.has(KeyOf(name)) {
				n++
			}
		}
		return n
	}
	if kept("e", "c", "f", "g") != 4 || kept("a", "b", "d") != 0 {
		t.Errorf("wrong ones are kept: %v", d.index)
	}
	get(c, "e", "c", "f", "g")
	for _, name := range []string{"e", "c"} {
		if n := sources[name].runs.Load(); n != 1 {
			t.Errorf("%s was built %d times", name, n)
		}
	}
	c.Close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// A smaller limit holds at once.
	d = testDisk(t, dir, 2*each)
	s := testCache(t, Options{Disk: d}).Stats()
	if s.Entries != 2 || s.Bytes > 2*each || len(files(t, dir, "")) != 2 || kept("f", "g") != 2 {
		t.Errorf("%+v, %v", s, files(t, dir, ""))
	}
}

func TestWhatIsTooLargeIsStreamedOnly(t *testing.T) {
	dir := t.TempDir()
	c := testCache(t, Options{Disk: testDisk(t, dir, 8*chunkBytes)})
	small, large := &source{bytes: content(1, 1000)}, &source{bytes: content(2, 20*chunkBytes)}
	mustRead(t, c, KeyOf("small"), small)
	idle(c)
	mustRead(t, c, KeyOf("large"), large)
	idle(c)
	if s := c.Stats(); s.Refused != 1 || s.DiskFaults != 0 || s.Entries != 1 || s.Bytes != blockBytes {
		t.Errorf("%+v", s)
	}
	if left := files(t, dir, ""); len(left) != 1 {
		t.Errorf("%v", left)
	}
	mustRead(t, c, KeyOf("small"), small)
	if n := small.runs.Load(); n != 1 {
		t.Errorf("a large one pushed out a small one: %d builds", n)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	key := KeyOf("x").String()
	names := []string{"README", "x.tmp", key, key + ".tmp", key + ".12.tmp", strings.ToUpper(key) + ".0123456789abcdef",
		key + ".0123456789abcdeg"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, key+".0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	d := testDisk(t, dir, 1<<20)
	s := testCache(t, Options{Disk: d}).Stats()
	if s.Entries != 0 || s.Bytes != 0 || len(files(t, dir, "")) != len(names)+1 {
		t.Errorf("%+v %v", s, files(t, dir, ""))
	}
}
