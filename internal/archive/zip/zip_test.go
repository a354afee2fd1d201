package zip

import (
	stdzip "archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
	"github.com/repomcp/repomcp/internal/base/workers"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const commitID = "0123456789abcdef0123456789abcdef01234567"

// builder makes archives in tests.
type builder struct {
	t      testing.TB
	sched  *workers.Scheduler
	format *Format
}

// newBuilder returns one on n workers, which end with the test.
func newBuilder(t testing.TB, n int, mtime int64) *builder {
	t.Helper()
	s := workers.New(n)
	t.Cleanup(s.Close)
	return &builder{t, s, New(newCompressor(t, s), mtime)}
}

func newCompressor(t testing.TB, s *workers.Scheduler) *gzip.Compressor {
	t.Helper()
	c, err := gzip.New(s, gzip.DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// input is a member with its content.
type input struct {
	Member
	content string
	stream  bool
}

func file(path, content string) input {
	return input{Member: Member{Path: []byte(path), Mode: 0o100644}, content: content}
}

// part is what a worker makes of some members.
type part struct {
	out, records []byte
	err          error
}

// append makes members in tasks of so many, with the scheduler's workers.
func (b *builder) append(inputs []input, each int) []part {
	b.t.Helper()
	q := b.sched.Queue()
	defer q.Close()
	parts := make([]part, (len(inputs)+each-1)/each)
	var pending sync.WaitGroup
	for i := range parts {
		pending.Add(1)
		task := func(w *workers.Worker) {
			defer pending.Done()
			p := &parts[i]
			for _, in := range inputs[i*each : min((i+1)*each, len(inputs))] {
				if p.err == nil {
					p.out, p.records, p.err = b.format.Append(w, p.out, p.records, in.Member, []byte(in.content))
				}
			}
		}
		if err := q.Submit(workers.Func(task)); err != nil {
			b.t.Fatal(err)
		}
	}
	pending.Wait()
	return parts
}

// stream writes one member as a stream.
func (b *builder) stream(w io.Writer, in input) []byte {
	b.t.Helper()
	s, err := b.format.Stream(b.t.Context(), w, in.Member, int64(len(in.content)))
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Abort()
	if _, err := io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{strings.NewReader(in.content)},
		make([]byte, 10_000)); err != nil {
		b.t.Fatal(err)
	}
	records, err := s.Finish(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return records
}

// archive makes a whole archive of members.
func (b *builder) archive(inputs []input, each int, comment string) []byte {
	b.t.Helper()
	var out bytes.Buffer
	d := b.format.NewDirectory()
	for len(inputs) > 0 {
		whole := 0
		for whole < len(inputs) && !inputs[whole].stream {
			whole++
		}
		for _, p := range b.append(inputs[:whole], each) {
			if p.err != nil {
				b.t.Fatal(p.err)
			}
			out.Write(p.out)
			d.Add(p.records)
		}
		if inputs = inputs[whole:]; len(inputs) > 0 {
			d.Add(b.stream(&out, inputs[0]))
			inputs = inputs[1:]
		}
		if int64(d.length) != int64(out.Len()) {
			b.t.Fatalf("the directory counts %d bytes, %d were written", int64(d.length), out.Len())
		}
	}
	if err := d.Write(&out, comment); err != nil {
		b.t.Fatal(err)
	}
	return out.Bytes()
}

// samples are members of all kinds.
func samples() []input {
	noise := gittest.Noise(300_000)
	text := strings.Repeat("some text that compresses\n", 3000)
	return []input{
		{Member: Member{Path: []byte("dir/"), Mode: 0o040000}},
		file("dir/a.txt", "a\n"),
		file("dir/empty", ""),
		{Member: Member{Path: []byte("dir/link"), Mode: 0o120000}, content: "../target"},
		{Member: Member{Path: []byte("dir/run"), Mode: 0o100755}, content: text},
		{Member: Member{Path: []byte("dir/sub/"), Mode: 0o160000}},
		file("noise", noise),
		file("noise-short", noise[:50]),
		{Member: Member{Path: []byte("streamed"), Mode: 0o100644}, content: text + noise, stream: true},
		{Member: Member{Path: []byte("streamed-noise"), Mode: 0o100755}, content: noise, stream: true},
		file("text", text),
		file("zz\xff", "\x00binary"),
		file("zz\u00e9", "text\n"),
	}
}

func TestStandardReader(t *testing.T) {
	mtime := time.Date(2026, 3, 4, 5, 6, 8, 0, time.UTC)
	inputs := samples()
	p := newBuilder(t, 2, mtime.Unix()).archive(inputs, 3, commitID)
	zr, err := stdzip.NewReader(bytes.NewReader(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	if zr.Comment != commitID || len(zr.File) != len(inputs) {
		t.Fatalf("comment %q, %d files", zr.Comment, len(zr.File))
	}
	for i, f := range zr.File {
		in := inputs[i]
		if f.Name != string(in.Path) || !f.Modified.Equal(mtime) || f.CRC32 != crc32.ChecksumIEEE([]byte(in.content)) {
			t.Errorf("%q: header %+v", in.Path, f.FileHeader)
		}
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != in.content {
			t.Errorf("%q: %d bytes, %v", in.Path, len(got), err)
		}
	}
}

// golden are digests of the samples' archive. A change of them requires a new
// EncoderVersion or gzip.EncoderVersion.
var golden = map[string]string{"zip2+gz2": "59e690722e644494f5de60dd4a648971"}

func TestGolden(t *testing.T) {
	sum := sha256.Sum256(newBuilder(t, 2, 1_700_000_000).archive(samples(), 3, commitID))
	version := EncoderVersion + "+" + gzip.EncoderVersion
	if got := hex.EncodeToString(sum[:16]); got != golden[version] {
		t.Errorf("%s: digest %q, want %q", version, got, golden[version])
	}
}

func TestSameBytes_ForAnyWorkers(t *testing.T) {
	want := newBuilder(t, 1, 0).archive(samples(), 100, "")
	for _, n := range []int{1, 2, 8} {
		b := newBuilder(t, n, 0)
		for _, each := range []int{1, 2, 5} {
			if !bytes.Equal(b.archive(samples(), each, ""), want) {
				t.Errorf("%d workers, %d members in a task: other bytes", n, each)
			}
		}
	}
}

func TestMembersThatAreRefused(t *testing.T) {
	b := newBuilder(t, 1, 0)
	for _, c := range []struct {
		member  Member
		content string
		want    error
	}{
		{Member{Path: bytes.Repeat([]byte("p"), MaxPath+1), Mode: 0o100644}, "", ErrPath},
		{Member{Path: []byte("p"), Mode: 0o100664}, "", ErrMode},
		{Member{Path: []byte("p"), Mode: 0}, "", ErrMode},
		{Member{Path: []byte("p/"), Mode: 0o040000}, "content", ErrSize},
		{Member{Path: []byte("p/"), Mode: 0o160000}, "content", ErrSize},
	} {
		p := b.append([]input{file("before", "x"), {Member: c.member, content: c.content}}, 2)[0]
		before := b.append([]input{file("before", "x")}, 2)[0]
		if !errors.Is(p.err, c.want) || !bytes.Equal(p.out, before.out) || !bytes.Equal(p.records, before.records) {
			t.Errorf("%.10q %o: %v, %d bytes", c.member.Path, c.member.Mode, p.err, len(p.out))
		}
	}
	for _, c := range []struct {
		member Member
		size   int64
		want   error
	}{
		{Member{Path: bytes.Repeat([]byte("p"), MaxPath+1), Mode: 0o100644}, 0, ErrPath},
		{Member{Path: []byte("p"), Mode: 0o120000}, 0, ErrMode},
		{Member{Path: []byte("p"), Mode: 0o160000}, 0, ErrMode},
		{Member{Path: []byte("p"), Mode: 0o100644}, -1, ErrSize},
	} {
		var out bytes.Buffer
		if _, err := b.format.Stream(t.Context(), &out, c.member, c.size); !errors.Is(err, c.want) || out.Len() > 0 {
			t.Errorf("%.10q %o: %v, %d bytes", c.member.Path, c.member.Mode, err, out.Len())
		}
	}
}

func TestLongestPath(t *testing.T) {
	long := strings.Repeat("p", MaxPath)
	p := newBuilder(t, 1, 0).archive([]input{file(long, "x"), file(long[:MaxPath-1]+"q", "y"), file("z", "z")}, 1, "")
	members, _ := readMembers(t, p, 0)
	if len(members) != 3 || members[0].central.path != long || members[1].central.path != long[:MaxPath-1]+"q" ||
		members[2].central.path != "z" {
		t.Error("other paths")
	}
}

func TestStream_OfAnotherLength(t *testing.T) {
	b := newBuilder(t, 1, 0)
	m := Member{Path: []byte("p"), Mode: 0o100644}
	for _, size := range []int64{0, 9, 11, 1 << 20} {
		s, err := b.format.Stream(t.Context(), io.Discard, m, size)
		if err != nil {
			t.Fatal(err)
		}
		_, writeErr := s.Write([]byte("0123456789"))
		records, err := s.Finish([]byte("before"))
		if !errors.Is(err, ErrSize) || string(records) != "before" || size < 10 != errors.Is(writeErr, ErrSize) {
			t.Errorf("10 bytes for %d: Write: %v, Finish: %v", size, writeErr, err)
		}
		if _, err := s.Write([]byte("x")); !errors.Is(err, ErrSize) {
			t.Errorf("Write after the failure: %v", err)
		}
		s.Abort()
	}
}

// failing accepts some bytes and then returns an error, or accepts less.
type failing struct {
	left  int
	short bool
}

var errDestination = errors.New("destination failed")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left >= 0 {
		return len(p), nil
	}
	f.left = -1
	if f.short {
		return len(p) / 2, nil
	}
	return 0, errDestination
}

func TestDestinationFails(t *testing.T) {
	b := newBuilder(t, 2, 0)
	content := gittest.Noise(200_000)
	m := Member{Path: []byte("p"), Mode: 0o100644}
	run := func(dst io.Writer) error {
		d := b.format.NewDirectory()
		s, err := b.format.Stream(t.Context(), dst, m, int64(len(content)))
		if err != nil {
			return err
		}
		defer s.Abort()
		if _, err := io.Copy(struct{ io.Writer }{s}, strings.NewReader(content)); err != nil {
			return err
		}
		records, err := s.Finish(nil)
		if err != nil {
			return err
		}
		d.Add(records)
		return d.Write(dst, commitID)
	}
	var all counting
	all.Writer = io.Discard
	if err := run(&all); err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 10, 39, 40, 1000, 190_000, int(all.n) - 100, int(all.n) - 1} {
		if err := run(&failing{left: left}); !errors.Is(err, errDestination) {
			t.Errorf("after %d bytes: %v", left, err)
		}
		if err := run(&failing{left: left, short: true}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("short write after %d bytes: %v", left, err)
		}
	}
}

func TestStream_Cancelled(t *testing.T) {
	b := newBuilder(t, 1, 0)
	cause := errors.New("client gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	s, err := b.format.Stream(ctx, io.Discard, Member{Path: []byte("p"), Mode: 0o100644}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	if _, err := s.Finish(nil); !errors.Is(err, cause) {
		t.Errorf("Finish: %v", err)
	}
}

func TestStream_FinishedOrAborted(t *testing.T) {
	b := newBuilder(t, 1, 0)
	for _, finish := range []bool{true, false} {
		var out bytes.Buffer
		s, err := b.format.Stream(t.Context(), &out, Member{Path: []byte("p"), Mode: 0o100644}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if finish {
			if _, err := s.Finish(nil); err != nil {
				t.Fatal(err)
			}
		}
		n := out.Len()
		s.Abort()
		if _, err := s.Write([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("Write: %v", err)
		}
		if _, err := s.Finish(nil); !errors.Is(err, ErrClosed) {
			t.Errorf("Finish: %v", err)
		}
		if out.Len() != n {
			t.Error("something was written at the end")
		}
	}
}

// The memory for each member is small, and released when it is written.
func TestDirectoryIsCompact(t *testing.T) {
	d := newBuilder(t, 1, 0).format.NewDirectory()
	const n = 100_000
	var records []byte
	for i := range n {
		path := fmt.Appendf(nil, "src/some/folder/%d/file-%d.go", i/100, i)
		r := record{bits: bitDeflated, crc: 1, size: 12345, compressed: 4321, path: path}
		records = r.appendTo(records[:0], 0)
		d.Add(records)
	}
	total := 0
	for _, c := range d.chunks {
		if len(c) > chunkBytes {
			t.Errorf("a chunk of %d bytes", len(c))
		}
		total += cap(c)
	}
	if total > 24*n {
		t.Errorf("%d bytes for each member", total/n)
	}
	var out counting
	out.Writer = io.Discard
	if err := d.Write(&out, ""); err != nil {
		t.Fatal(err)
	}
	if out.n < n*(centralSize+mtimeSize) || d.chunks != nil || int64(d.length) != 0 {
		t.Errorf("%d bytes were written, %d chunks are left", out.n, len(d.chunks))
	}
}

func FuzzArchive(f *testing.F) {
	s := workers.New(2)
	f.Cleanup(s.Close)
	c := newCompressor(f, s)
	f.Add("a", "content", uint8(0), int64(1_700_000_000), true)
	f.Add("b\xff/", "", uint8(3), int64(-5), false)
	f.Add(strings.Repeat("é", 40_000), "target", uint8(2), int64(1)<<40, false)
	modes := []uint32{0o100644, 0o100755, 0o120000, 0o040000, 0o160000}
	f.Fuzz(func(t *testing.T, path, content string, kind uint8, mtime int64, stream bool) {
		b := &builder{t, s, New(c, mtime)}
		in := input{Member: Member{Path: []byte(path), Mode: modes[int(kind)%len(modes)]}, content: content}
		if in.Mode == 0o040000 || in.Mode == 0o160000 {
			in.content = ""
		}
		if len(path) > MaxPath {
			if p := b.append([]input{in}, 1)[0]; !errors.Is(p.err, ErrPath) {
				t.Errorf("a path of %d bytes: %v", len(path), p.err)
			}
			return
		}
		in.stream = stream && in.Mode&0o170000 == 0o100000
		inputs := []input{in, file(path, content), in}
		members, _ := readMembers(t, b.archive(inputs, 2, commitID), len(commitID))
		for i, m := range members {
			sum := crc32.ChecksumIEEE([]byte(inputs[i].content))
			if m.central.path != path || m.central.crc != sum || int(m.central.size) != len(inputs[i].content) {
				t.Errorf("member %d: %v", i, m.central)
			}
			if m.local.path != path || m.local.flags != m.central.flags || m.local.method != m.central.method {
				t.Errorf("member %d: %v", i, m.local)
			}
		}
	})
}
