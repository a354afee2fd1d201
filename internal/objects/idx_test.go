package objects

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// manyEntries are entries for an index of more than one page and offsets of
// both widths.
func manyEntries(n int) []craftedEntry {
	entries := make([]craftedEntry, n)
	for i := range entries {
		entries[i].id = sumOf(Blob, binary.AppendUvarint(nil, uint64(i)))
		entries[i].offset = packHeader + int64(i)*3
		if i%5 == 0 {
			entries[i].offset += 1 << 33
		}
	}
	return entries
}

func TestIndexByPagesAndFromTheFileAgreesWithTheWholeOne(t *testing.T) {
	t.Parallel()
	entries := manyEntries(60_000)
	body := craftIndex(entries, make([]byte, IDSize))
	own := sha1.Sum(body)
	name := filepath.Join(t.TempDir(), "many.idx")
	write(t, name, string(body)+string(own[:]))
	for _, memory := range []int64{1 << 30, 2 * tablePage, 0} {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		space := &room{limit: memory}
		table, err := openTable(file, int64(len(body)+IDSize), space)
		if err != nil || table.whole != nil {
			t.Fatal("the index is not read by pages: the test shows nothing", err)
		}
		x, err := newIndex(table, "many.idx")
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			if i%7 != 0 && memory == 0 {
				continue
			}
			offset, found, err := x.find(&e.id)
			if offset != e.offset || !found || err != nil {
				t.Fatalf("entry %d: %d %v %v, want %d", i, offset, found, err, e.offset)
			}
			absent := e.id
			absent[19]++
			if _, found, err := x.find(&absent); found || err != nil {
				t.Fatalf("an absent id: %v %v", found, err)
			}
		}
		if space.used.Load() > memory {
			t.Errorf("%d bytes of memory are used, %d allowed", space.used.Load(), memory)
		}
		table.close()
		if space.used.Load() != 0 {
			t.Errorf("%d bytes of memory are not given back", space.used.Load())
		}
	}
}

func TestIndexThatShrinksUnderUsIsDamage(t *testing.T) {
	t.Parallel()
	entries := manyEntries(60_000)
	body := craftIndex(entries, make([]byte, IDSize))
	own := sha1.Sum(body)
	name := filepath.Join(t.TempDir(), "many.idx")
	write(t, name, string(body)+string(own[:]))
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	table, err := openTable(file, int64(len(body)+IDSize), &room{limit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer table.close()
	x := &index{table: table, where: "many.idx"}
	if err := x.layOut(2); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 2000); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for i := 0; i < len(entries); i += 10 {
		if _, found, err := x.find(&entries[i].id); isCorrupt(err) && isTruncated(err) {
			damaged++
		} else if !found || err != nil {
			t.Fatalf("%v %v", found, err)
		}
	}
	if damaged == 0 {
		t.Error("no damage was seen")
	}
}

func TestOffsetsOf64BitsWrittenByGit(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 8)
	repo.Git("repack", "-adfq")
	all := facts(t, repo)
	names, _ := filepath.Glob(filepath.Join(repo.Dir, "objects", "pack", "*.idx"))
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	pack := strings.TrimSuffix(names[0], ".idx") + ".pack"
	repo.Git("index-pack", "--index-version=2,0x100", pack) // wide from that offset on
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	if snap.view.Load().packs[0].index.wides == 0 {
		t.Fatal("the index has no 64-bit offsets: the test shows nothing")
	}
	compare(t, snap, all)
}

func TestPackOfMoreThan4GiB(t *testing.T) {
	repo := gittest.New(t)
	base := whole("the base of a delta")
	end := int64(packHeader + len(base.head) + len(base.data))
	const far = 5 << 30
	far1 := onOffset("far", far-packHeader, delta(19, 4, 0x91, 4, 4))
	far1.id = sumOf(Blob, []byte("base"))
	far1.offset, base.offset = far, packHeader
	header := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), 2)
	name := filepath.Join(repo.Dir, "objects", "pack", "pack-far")
	file, err := os.Create(name + ".pack")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	sum := make([]byte, IDSize) // not computed: it takes as long as reading 5 GiB
	for _, part := range []struct {
		at int64
		b  []byte
	}{
		{0, header},
		{packHeader, slices.Concat(base.head, base.data)},
		{far, slices.Concat(far1.head, far1.data, sum)},
	} {
		if _, err := file.WriteAt(part.b, part.at); err != nil { // a sparse file
			t.Fatal(err)
		}
	}
	body := craftIndex([]craftedEntry{base, far1}, sum)
	own := sha1.Sum(body)
	write(t, name+".idx", string(body)+string(own[:]))
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	if err := compareOne(snap, fact{far1.id, "blob", []byte("base")}); err != nil {
		t.Errorf("%v (the first entry ends at %d)", err, end)
	}
}

func TestMultiPackIndexNamesThePack(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 3)
	severalPacks(repo)
	repo.Git("multi-pack-index", "write")
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	v := snap.view.Load()
	if len(v.midxes) != 1 {
		t.Fatal("the multi-pack-index is not used")
	}
	for _, f := range facts(t, repo) {
		p := v.midxes[0].hint(&f.id)
		if p == nil {
			t.Errorf("%v is not in the multi-pack-index", f.id)
			continue
		}
		if _, found, err := p.find(&f.id); !found || err != nil {
			t.Errorf("%v is not in the pack that is named: %v", f.id, err)
		}
	}
	absent := named("absent")
	if v.midxes[0].hint(&absent) != nil {
		t.Error("an absent object is named")
	}
}

// TestMultiPackIndexThatLies changes every byte of a multi-pack-index in turn:
// no answer may change.
func TestMultiPackIndexThatLies(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	for i := range 4 {
		repo.Commit("main", gittest.Regular("f", text(1, 20+i)))
		repo.Git("repack", "-dq")
	}
	repo.Git("multi-pack-index", "write")
	all := facts(t, repo)
	file := mend(t, repo.Dir+"/objects/pack/multi-pack-index")
	defer func() { _ = file.Close() }()
	original, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, Options{}, repo)
	for at := range original {
		if at > 100 && at%7 != 0 {
			continue
		}
		if _, err := file.WriteAt([]byte{^original[at]}, int64(at)); err != nil {
			t.Fatal(err)
		}
		s.CloseIdle(0)
		snap, err := openSnapshot(s, "repo.git")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			_, data, err := snap.Read(f.id, 1<<20, nil)
			if err != nil || !bytes.Equal(data, f.content) {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
		_ = snap.Close()
		if _, err := file.WriteAt(original[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}
