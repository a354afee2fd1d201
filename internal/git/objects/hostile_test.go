package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestHostilePacksAreRefusedInBoundedMemory(t *testing.T) {
	gittest.Long(t)
	base := packtest.Whole("the base of deltas")
	size := uint64(len("the base of deltas"))
	back := int64(len(base.Head) + len(base.Data)) // from the entry after base
	bomb := packtest.Deflated(make([]byte, 64<<20))
	cases := []struct {
		name string
		pack *packtest.Pack
		ask  ID
		want error
	}{
		{"ofs-delta on itself", packtest.New(base, onOffset("x", 0, packtest.Delta(size, 1, 1, 'a'))),
			packtest.Named("x"), ErrCorrupt},
		{"ofs-delta before the pack", packtest.New(base, onOffset("x", 1<<20, packtest.Delta(size, 1, 1, 'a'))),
			packtest.Named("x"), ErrCorrupt},
		{"ofs-delta into the header", packtest.New(base, onOffset("x", back+8, packtest.Delta(size, 1, 1, 'a'))),
			packtest.Named("x"), ErrCorrupt},
		{"ofs-delta into the middle of an entry",
			packtest.New(base, onOffset("x", back-3, packtest.Delta(size, 1, 1, 'a'))), packtest.Named("x"),
			ErrCorrupt},
		{"distance without end",
			packtest.New(base,
				packtest.Entry{ID: packtest.Named("x"),
					Head: packtest.EntryHead(6, 4, bytes.Repeat([]byte{0xff}, 24)...)}), packtest.Named("x"),
			ErrCorrupt},
		{"ref-delta on itself", packtest.New(onID("x", packtest.Named("x"), packtest.Delta(size, 1, 1, 'a'))),
			packtest.Named("x"), ErrCorrupt},
		{"ref-deltas in a cycle", packtest.New(onID("x", packtest.Named("y"), packtest.Delta(1, 1, 1, 'a')),
			onID("y", packtest.Named("x"), packtest.Delta(1, 1, 1, 'a'))), packtest.Named("x"), ErrCorrupt},
		{"ref-delta without base", packtest.New(onID("x", packtest.Named("nothing"), packtest.Delta(size, 1, 1, 'a'))),
			packtest.Named("x"), ErrCorrupt},
		{"chain of 5000", chain(5000), packtest.Named("link 5000"), ErrTooLarge},
		{"copy beyond the base",
			packtest.New(base, onOffset("x", back, packtest.Delta(size, 10, 0x91, byte(size-5), 10))),
			packtest.Named("x"), ErrCorrupt},
		{"copy from beyond the base",
			packtest.New(base, onOffset("x", back, packtest.Delta(size, 10, 0x9f, 0xff, 0xff, 0xff, 0xff, 10))),
			packtest.Named("x"), ErrCorrupt},
		{"result longer than declared",
			packtest.New(base, onOffset("x", back, packtest.Delta(size, 2, 3, 'a', 'b', 'c'))), packtest.Named("x"),
			ErrCorrupt},
		{"result shorter than declared",
			packtest.New(base, onOffset("x", back, packtest.Delta(size, 9, 3, 'a', 'b', 'c'))), packtest.Named("x"),
			ErrCorrupt},
		{"another size of the base",
			packtest.New(base, onOffset("x", back, packtest.Delta(size+1, 3, 3, 'a', 'b', 'c'))), packtest.Named("x"),
			ErrCorrupt},
		{"reserved instruction", packtest.New(base, onOffset("x", back, packtest.Delta(size, 3, 0, 3, 'a', 'b', 'c'))),
			packtest.Named("x"), ErrCorrupt},
		{"literal beyond the delta", packtest.New(base, onOffset("x", back, packtest.Delta(size, 9, 9, 'a'))),
			packtest.Named("x"), ErrCorrupt},
		{"copy cut off", packtest.New(base, onOffset("x", back, packtest.Delta(size, 9, 0xff, 1))), packtest.Named("x"),
			ErrCorrupt},
		{"empty delta", packtest.New(base, onOffset("x", back, nil)), packtest.Named("x"), ErrCorrupt},
		{"delta of a size of 2^63",
			packtest.New(base, onOffset("x", back, packtest.Delta(size, 1<<63, 3, 'a', 'b', 'c'))), packtest.Named("x"),
			ErrCorrupt},
		{"delta of a result of 2^50",
			packtest.New(base, onOffset("x", back, packtest.Delta(size, 1<<50, 3, 'a', 'b', 'c'))), packtest.Named("x"),
			ErrCorrupt},
		{"64 MiB where 10 bytes are declared",
			packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 10), Data: bomb}),
			packtest.Named("x"), ErrCorrupt},
		{"64 MiB where 10 bytes of delta are declared",
			packtest.New(base,
				packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(6, 10, packtest.Distance(back)...),
					Data: bomb}), packtest.Named("x"), ErrCorrupt},
		{"2^40 bytes declared", packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 1<<40),
			Data: packtest.Deflated([]byte("x"))}), packtest.Named("x"), ErrCorrupt},
		{"2^62 bytes declared", packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 1<<62),
			Data: packtest.Deflated([]byte("x"))}), packtest.Named("x"), ErrCorrupt},
		{"2^63 bytes declared", packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 1<<63),
			Data: packtest.Deflated([]byte("x"))}), packtest.Named("x"), ErrCorrupt},
		{"size without end",
			packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: bytes.Repeat([]byte{0xbf}, 60)}),
			packtest.Named("x"), ErrCorrupt},
		{"type 0", packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(0, 1),
			Data: packtest.Deflated([]byte("x"))}), packtest.Named("x"), ErrCorrupt},
		{"type 5", packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(5, 1),
			Data: packtest.Deflated([]byte("x"))}), packtest.Named("x"), ErrCorrupt},
		{"stream with a dictionary",
			packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 1),
				Data: []byte{0x78, 0xbb, 0, 0, 0, 0, 0, 0}}), packtest.Named("x"), ErrCorrupt},
		{"stream of zeros", packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 1),
			Data: make([]byte, 50)}), packtest.Named("x"), ErrCorrupt},
		{"stream that ends with the pack",
			packtest.New(packtest.Entry{ID: packtest.Named("x"), Head: packtest.EntryHead(3, 5000),
				Data: packtest.Deflated([]byte(gittest.SeededNoise(1, 5000)))[:3000]}), packtest.Named("x"),
			ErrCorrupt},
		{"wrong checksum of a stream", packtest.New(spoilt(packtest.Whole("spoilt content"))),
			packtest.SumOf(Blob, []byte("spoilt content")), ErrCorrupt},
		{"four billion entries", with(packtest.New(base), func(c *packtest.Pack) { c.Count = 1<<32 - 1 }), base.ID,
			ErrCorrupt},
		{"version 4", with(packtest.New(base), func(c *packtest.Pack) { c.Version = 4 }), base.ID, ErrCorrupt},
		{"another trailer",
			with(packtest.New(base), func(c *packtest.Pack) { c.Trailer = func(sum []byte) { sum[3]++ } }), base.ID,
			ErrCorrupt},
		{"offset in the header", packtest.New(packtest.Entry{ID: base.ID, Head: base.Head, Data: base.Data, Offset: 5}),
			base.ID, ErrCorrupt},
		{"offset beyond the pack",
			packtest.New(packtest.Entry{ID: base.ID, Head: base.Head, Data: base.Data, Offset: 1 << 20}), base.ID,
			ErrCorrupt},
		{"offset in the trailer",
			packtest.New(packtest.Entry{ID: base.ID, Head: base.Head, Data: base.Data, Offset: 12 + back + 3}), base.ID,
			ErrCorrupt},
		{"offset of 2^40", packtest.New(packtest.Entry{ID: base.ID, Head: base.Head, Data: base.Data, Offset: 1 << 40}),
			base.ID, ErrCorrupt},
		{"offset of 2^64-1",
			with(packtest.New(packtest.Entry{ID: base.ID, Head: base.Head, Data: base.Data, Offset: 1 << 40}),
				func(c *packtest.Pack) {
					c.Index = func(b []byte) []byte { copy(b[len(b)-28:], bytes.Repeat([]byte{0xff}, 8)); return b }
				}), base.ID, ErrCorrupt},
		{"64-bit offset that is not there", with(packtest.New(base), func(c *packtest.Pack) {
			c.Index = func(b []byte) []byte { copy(b[len(b)-24:], "\xff\xff\xff\xff"); return b }
		}), base.ID, ErrCorrupt},
		{"fan-out that decreases", with(packtest.New(base), func(c *packtest.Pack) {
			c.Index = func(b []byte) []byte { b[8+3] = 9; return b }
		}), base.ID, ErrCorrupt},
		{"fan-out of four billion", with(packtest.New(base), func(c *packtest.Pack) {
			c.Index = func(b []byte) []byte { copy(b[8+255*4:], "\xff\xff\xff\xff"); return b }
		}), base.ID, ErrCorrupt},
		{"index of version 3", with(packtest.New(base), func(c *packtest.Pack) {
			c.Index = func(b []byte) []byte { b[7] = 3; return b }
		}), base.ID, ErrCorrupt},
		{"index that is too long", with(packtest.New(base), func(c *packtest.Pack) {
			c.Index = func(b []byte) []byte { return append(b, make([]byte, 100)...) }
		}), base.ID, ErrCorrupt},
		{"bytes after the last entry", with(packtest.New(base), func(c *packtest.Pack) { c.Junk = []byte("junk") }),
			base.ID, nil},
		{"one id twice", packtest.New(base, base), base.ID, nil},
		{"a damaged and a sound copy", packtest.New(spoilt(base), base), base.ID, errEither},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			repo := gittest.New(t)
			c.pack.Write(t, repo)
			snap := snapshot(t, newStore(t, nil, repo), repo)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := readHostile(snap, c.ask)
			runtime.ReadMemStats(&after)
			switch {
			case errors.Is(c.want, errEither) && (err == nil || errors.Is(err, ErrCorrupt)):
			case c.want == nil && err != nil, c.want != nil && !errors.Is(err, c.want):
				t.Errorf("gives %v, want %v", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

var errEither = errors.New("damage or the right content")

// readHostile reads an object in every way. No way may end early without an
// error, or say io.EOF.
func readHostile(snap *Snapshot, id ID) error {
	_, size, statErr := stat(snap, id)
	_, data, readErr := snap.ReadVerified(id, 1<<62, nil)
	var streamErr error
	object, err := snap.Open(id)
	if err == nil {
		var streamed []byte
		streamed, streamErr = io.ReadAll(object)
		if streamErr == nil && (int64(len(streamed)) != object.Size() || statErr == nil && size != object.Size()) {
			return fmt.Errorf("the stream gives %d bytes of %d, Stat says %d", len(streamed), object.Size(), size)
		}
		if streamErr == nil && readErr == nil && !bytes.Equal(streamed, data) {
			return fmt.Errorf("ReadVerified gives %d bytes, the stream %d", len(data), len(streamed))
		}
		_ = object.Close()
	} else {
		streamErr = err
	}
	if errors.Is(statErr, io.EOF) || errors.Is(readErr, io.EOF) || errors.Is(streamErr, io.EOF) {
		return fmt.Errorf("a bare end of file: %w, %w, %w", statErr, readErr, streamErr)
	}
	if streamErr != nil && readErr == nil || streamErr == nil && statErr != nil {
		return fmt.Errorf("the ways differ: Stat %w, ReadVerified %w, Open %w", statErr, readErr, streamErr)
	}
	return streamErr
}

// readStream reads an object that need not have its id.
func readStream(snap *Snapshot, id ID) (Type, []byte, error) {
	object, err := snap.Open(id)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = object.Close() }()
	content, err := io.ReadAll(object)
	return object.Type(), content, err
}

func with(c *packtest.Pack, change func(*packtest.Pack)) *packtest.Pack {
	change(c)
	return c
}

// spoilt changes the checksum of an entry's stream.
func spoilt(e packtest.Entry) packtest.Entry {
	e.Data = bytes.Clone(e.Data)
	e.Data[len(e.Data)-1]++
	return e
}

// chain is a pack of deltas, each on the one before.
func chain(depth int) *packtest.Pack {
	start := packtest.Whole("start")
	link := onOffset("", int64(len(start.Head)+len(start.Data)), packtest.Delta(5, 5, 0x90, 5))
	entries := []packtest.Entry{start}
	for i := 1; i <= depth; i++ {
		link.ID = packtest.Named(fmt.Sprint("link ", i))
		entries = append(entries, link)
		link.Head = packtest.EntryHead(6, 4, packtest.Distance(int64(len(link.Head)+len(link.Data)))...)
	}
	return packtest.New(entries...)
}

func TestChainOfAnyDepthIsReadWhenAllowed(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	chain(5000).Write(t, repo)
	snap := snapshot(t, newStore(t, func(l *limits) { l.packs.DeltaDepth = 5000 }, repo), repo)
	for range 2 {
		kind, data, err := readStream(snap, packtest.Named("link 5000"))
		if err != nil || kind != Blob || string(data) != "start" {
			t.Errorf("%v %q %v", kind, data, err)
		}
		if kind, size, err := stat(snap, packtest.Named("link 4999")); err != nil || kind != Blob || size != 5 {
			t.Errorf("%v %d %v", kind, size, err)
		}
	}
}

func TestDeltaThatMultipliesIsStreamedInFixedMemory(t *testing.T) {
	base := packtest.Whole(strings.Repeat("b", 1<<16))
	instructions := bytes.Repeat([]byte{0x80}, 4096) // each copies 64 KiB
	repo := gittest.New(t)
	packtest.New(base, onOffset("x", int64(len(base.Head)+len(base.Data)),
		packtest.Delta(1<<16, 4096<<16, instructions...))).Write(t, repo)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	object, err := snap.Open(packtest.Named("x"))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, object)
	runtime.ReadMemStats(&after)
	if n != 4096<<16 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	_ = object.Close()
}

// TestEveryByteOfAPackChanged changes each byte of a small pack in turn. With
// verification an answer is right or an error; without, nothing panics and no
// stream ends early.
func TestEveryByteOfAPackChanged(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	for i := range 2 {
		repo.Commit("main", gittest.Regular("f", gittest.Lines(1, 12+i)))
	}
	repo.Git("repack", "-adfq")
	all := facts(t, repo)
	file := mend(t, repo.Dir+"/objects/pack/*.pack")
	defer func() { _ = file.Close() }()
	original, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, nil, repo)
	for at := range original {
		if _, err := file.WriteAt([]byte{original[at] ^ 1<<(at%8)}, int64(at)); err != nil {
			t.Fatal(err)
		}
		s.CloseIdle(0)
		snap, err := openSnapshot(s, "repo.git")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			_ = readHostile(snap, f.id)
			if err := compareStream(snap, f); err != nil && !errors.Is(err, ErrCorrupt) &&
				!errors.Is(err, ErrTooLarge) && !strings.Contains(err.Error(), "Open gives") {
				t.Errorf("byte %d: %v", at, err)
			}
		}
		if err := snap.Verify(t.Context()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d: Verify gives %v", at, err)
		}
		_ = snap.Close()
		if _, err := file.WriteAt(original[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	s.CloseIdle(0)
	compare(t, snapshot(t, s, repo), all)
}

// onOffset is an ofs-delta under an id of its own.
func onOffset(name string, back int64, data []byte) packtest.Entry {
	return packtest.Entry{
		ID: packtest.Named(name), Head: packtest.EntryHead(6, uint64(len(data)), packtest.Distance(back)...),
		Data: packtest.Deflated(data),
	}
}

// onID is a ref-delta under an id of its own.
func onID(name string, base ID, data []byte) packtest.Entry {
	return packtest.Entry{
		ID: packtest.Named(name), Head: packtest.EntryHead(7, uint64(len(data)), base[:]...),
		Data: packtest.Deflated(data),
	}
}
