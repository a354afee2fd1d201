package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestHostilePacksAreRefusedInBoundedMemory(t *testing.T) {
	base := whole("the base of deltas")
	size := uint64(len("the base of deltas"))
	back := int64(len(base.head) + len(base.data)) // from the entry after base
	bomb := deflated(make([]byte, 64<<20))
	cases := []struct {
		name string
		pack *crafted
		ask  ID
		want error
	}{
		{"ofs-delta on itself", newCrafted(base, onOffset("x", 0, delta(size, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"ofs-delta before the pack", newCrafted(base, onOffset("x", 1<<20, delta(size, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"ofs-delta into the header", newCrafted(base, onOffset("x", back+8, delta(size, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"ofs-delta into the middle of an entry", newCrafted(base, onOffset("x", back-3, delta(size, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"distance without end", newCrafted(base, craftedEntry{id: named("x"), head: entryHead(ofsDelta, 4, bytes.Repeat([]byte{0xff}, 24)...)}), named("x"), ErrCorrupt},
		{"ref-delta on itself", newCrafted(onID("x", named("x"), delta(size, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"ref-deltas in a cycle", newCrafted(onID("x", named("y"), delta(1, 1, 1, 'a')), onID("y", named("x"), delta(1, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"ref-delta without base", newCrafted(onID("x", named("nothing"), delta(size, 1, 1, 'a'))), named("x"), ErrCorrupt},
		{"chain of 5000", chain(5000), named("link 5000"), ErrTooLarge},
		{"copy beyond the base", newCrafted(base, onOffset("x", back, delta(size, 10, 0x91, byte(size-5), 10))), named("x"), ErrCorrupt},
		{"copy from beyond the base", newCrafted(base, onOffset("x", back, delta(size, 10, 0x9f, 0xff, 0xff, 0xff, 0xff, 10))), named("x"), ErrCorrupt},
		{"result longer than declared", newCrafted(base, onOffset("x", back, delta(size, 2, 3, 'a', 'b', 'c'))), named("x"), ErrCorrupt},
		{"result shorter than declared", newCrafted(base, onOffset("x", back, delta(size, 9, 3, 'a', 'b', 'c'))), named("x"), ErrCorrupt},
		{"another size of the base", newCrafted(base, onOffset("x", back, delta(size+1, 3, 3, 'a', 'b', 'c'))), named("x"), ErrCorrupt},
		{"reserved instruction", newCrafted(base, onOffset("x", back, delta(size, 3, 0, 3, 'a', 'b', 'c'))), named("x"), ErrCorrupt},
		{"literal beyond the delta", newCrafted(base, onOffset("x", back, delta(size, 9, 9, 'a'))), named("x"), ErrCorrupt},
		{"copy cut off", newCrafted(base, onOffset("x", back, delta(size, 9, 0xff, 1))), named("x"), ErrCorrupt},
		{"empty delta", newCrafted(base, onOffset("x", back, nil)), named("x"), ErrCorrupt},
		{"delta of a size of 2^63", newCrafted(base, onOffset("x", back, delta(size, 1<<63, 3, 'a', 'b', 'c'))), named("x"), ErrCorrupt},
		{"delta of a result of 2^50", newCrafted(base, onOffset("x", back, delta(size, 1<<50, 3, 'a', 'b', 'c'))), named("x"), ErrCorrupt},
		{"64 MiB where 10 bytes are declared", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 10), data: bomb}), named("x"), ErrCorrupt},
		{"64 MiB where 10 bytes of delta are declared", newCrafted(base, craftedEntry{id: named("x"), head: entryHead(ofsDelta, 10, distance(back)...), data: bomb}), named("x"), ErrCorrupt},
		{"2^40 bytes declared", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 1<<40), data: deflated([]byte("x"))}), named("x"), ErrCorrupt},
		{"2^62 bytes declared", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 1<<62), data: deflated([]byte("x"))}), named("x"), ErrCorrupt},
		{"2^63 bytes declared", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 1<<63), data: deflated([]byte("x"))}), named("x"), ErrCorrupt},
		{"size without end", newCrafted(craftedEntry{id: named("x"), head: bytes.Repeat([]byte{0xbf}, 60)}), named("x"), ErrCorrupt},
		{"type 0", newCrafted(craftedEntry{id: named("x"), head: entryHead(0, 1), data: deflated([]byte("x"))}), named("x"), ErrCorrupt},
		{"type 5", newCrafted(craftedEntry{id: named("x"), head: entryHead(5, 1), data: deflated([]byte("x"))}), named("x"), ErrCorrupt},
		{"stream with a dictionary", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 1), data: []byte{0x78, 0xbb, 0, 0, 0, 0, 0, 0}}), named("x"), ErrCorrupt},
		{"stream of zeros", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 1), data: make([]byte, 50)}), named("x"), ErrCorrupt},
		{"stream that ends with the pack", newCrafted(craftedEntry{id: named("x"), head: entryHead(3, 5000), data: deflated([]byte(noise(1, 5000)))[:3000]}), named("x"), ErrCorrupt},
		{"wrong checksum of a stream", newCrafted(spoilt(whole("spoilt content"))), sumOf(Blob, []byte("spoilt content")), ErrCorrupt},
		{"four billion entries", with(newCrafted(base), func(c *crafted) { c.count = 1<<32 - 1 }), base.id, ErrCorrupt},
		{"version 4", with(newCrafted(base), func(c *crafted) { c.version = 4 }), base.id, ErrCorrupt},
		{"another trailer", with(newCrafted(base), func(c *crafted) { c.trailer = func(sum []byte) { sum[3]++ } }), base.id, ErrCorrupt},
		{"offset in the header", newCrafted(craftedEntry{id: base.id, head: base.head, data: base.data, offset: 5}), base.id, ErrCorrupt},
		{"offset beyond the pack", newCrafted(craftedEntry{id: base.id, head: base.head, data: base.data, offset: 1 << 20}), base.id, ErrCorrupt},
		{"offset in the trailer", newCrafted(craftedEntry{id: base.id, head: base.head, data: base.data, offset: 12 + back + 3}), base.id, ErrCorrupt},
		{"offset of 2^40", newCrafted(craftedEntry{id: base.id, head: base.head, data: base.data, offset: 1 << 40}), base.id, ErrCorrupt},
		{"offset of 2^64-1", with(newCrafted(craftedEntry{id: base.id, head: base.head, data: base.data, offset: 1 << 40}), func(c *crafted) {
			c.index = func(b []byte) []byte { copy(b[len(b)-28:], bytes.Repeat([]byte{0xff}, 8)); return b }
		}), base.id, ErrCorrupt},
		{"64-bit offset that is not there", with(newCrafted(base), func(c *crafted) {
			c.index = func(b []byte) []byte { copy(b[len(b)-24:], "\xff\xff\xff\xff"); return b }
		}), base.id, ErrCorrupt},
		{"fan-out that decreases", with(newCrafted(base), func(c *crafted) {
			c.index = func(b []byte) []byte { b[8+3] = 9; return b }
		}), base.id, ErrCorrupt},
		{"fan-out of four billion", with(newCrafted(base), func(c *crafted) {
			c.index = func(b []byte) []byte { copy(b[8+255*4:], "\xff\xff\xff\xff"); return b }
		}), base.id, ErrCorrupt},
		{"index of version 3", with(newCrafted(base), func(c *crafted) {
			c.index = func(b []byte) []byte { b[7] = 3; return b }
		}), base.id, ErrCorrupt},
		{"index that is too long", with(newCrafted(base), func(c *crafted) {
			c.index = func(b []byte) []byte { return append(b, make([]byte, 100)...) }
		}), base.id, ErrCorrupt},
		{"bytes after the last entry", with(newCrafted(base), func(c *crafted) { c.junk = []byte("junk") }), base.id, nil},
		{"one id twice", newCrafted(base, base), base.id, nil},
		{"a damaged and a sound copy", newCrafted(spoilt(base), base), base.id, errEither},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			repo := gittest.New(t)
			c.pack.write(t, repo)
			snap := snapshot(t, newStore(t, Options{}, repo), repo)
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
	_, _, statErr := snap.Stat(id)
	_, data, readErr := snap.Read(id, 1<<62, nil)
	var streamErr error
	object, err := snap.Open(id)
	if err == nil {
		var streamed []byte
		streamed, streamErr = io.ReadAll(object)
		if streamErr == nil && (!bytes.Equal(streamed, data) || int64(len(data)) != object.Size()) {
			return fmt.Errorf("Read gives %d bytes, the stream %d", len(data), len(streamed))
		}
		_ = object.Close()
	} else {
		streamErr = err
	}
	if errors.Is(statErr, io.EOF) || errors.Is(readErr, io.EOF) || errors.Is(streamErr, io.EOF) {
		return fmt.Errorf("a bare end of file: %w, %w, %w", statErr, readErr, streamErr)
	}
	if (readErr == nil) != (streamErr == nil) || readErr == nil && statErr != nil {
		return fmt.Errorf("the ways differ: Stat %w, Read %w, Open %w", statErr, readErr, streamErr)
	}
	return readErr
}

func with(c *crafted, change func(*crafted)) *crafted {
	change(c)
	return c
}

// spoilt changes the checksum of an entry's stream.
func spoilt(e craftedEntry) craftedEntry {
	e.data = bytes.Clone(e.data)
	e.data[len(e.data)-1]++
	return e
}

// chain is a pack of deltas, each on the one before.
func chain(depth int) *crafted {
	start := whole("start")
	link := onOffset("", int64(len(start.head)+len(start.data)), delta(5, 5, 0x90, 5))
	entries := []craftedEntry{start}
	for i := 1; i <= depth; i++ {
		link.id = named(fmt.Sprint("link ", i))
		entries = append(entries, link)
		link.head = entryHead(ofsDelta, 4, distance(int64(len(link.head)+len(link.data)))...)
	}
	return newCrafted(entries...)
}

func TestChainOfAnyDepthIsReadWhenAllowed(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	chain(5000).write(t, repo)
	snap := snapshot(t, newStore(t, Options{MaxDeltaDepth: 5000}, repo), repo)
	for range 2 {
		kind, data, err := snap.Read(named("link 5000"), 100, nil)
		if err != nil || kind != Blob || string(data) != "start" {
			t.Errorf("%v %q %v", kind, data, err)
		}
		if kind, size, err := snap.Stat(named("link 4999")); err != nil || kind != Blob || size != 5 {
			t.Errorf("%v %d %v", kind, size, err)
		}
	}
}

func TestDeltaThatMultipliesIsStreamedInFixedMemory(t *testing.T) {
	base := whole(strings.Repeat("b", 1<<16))
	instructions := bytes.Repeat([]byte{0x80}, 4096) // each copies 64 KiB
	repo := gittest.New(t)
	newCrafted(base, onOffset("x", int64(len(base.head)+len(base.data)), delta(1<<16, 4096<<16, instructions...))).write(t, repo)
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	object, err := snap.Open(named("x"))
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
	t.Parallel()
	repo := gittest.New(t)
	for i := range 2 {
		repo.Commit("main", gittest.Regular("f", text(1, 12+i)))
	}
	repo.Git("repack", "-adfq")
	all := facts(t, repo)
	file := mend(t, repo.Dir+"/objects/pack/*.pack")
	defer func() { _ = file.Close() }()
	original, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, Options{}, repo)
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
			if err := compareStream(snap, f); err != nil && !isCorrupt(err) && !errors.Is(err, ErrTooLarge) && !strings.Contains(err.Error(), "Open gives") {
				t.Errorf("byte %d: %v", at, err)
			}
		}
		if err := snap.Verify(t.Context()); !isCorrupt(err) {
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
