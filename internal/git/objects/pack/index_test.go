package pack

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// manyEntries are entries for an index of more than one page and offsets of
// both widths.
func manyEntries(n int) []packtest.Entry {
	entries := make([]packtest.Entry, n)
	for i := range entries {
		entries[i].ID = packtest.SumOf(object.Blob, binary.AppendUvarint(nil, uint64(i)))
		entries[i].Offset = packHeader + int64(i)*3
		if i%5 == 0 {
			entries[i].Offset += 1 << 33
		}
	}
	return entries
}

func TestIndexByPagesAndFromTheFileAgreesWithTheWholeOne(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	entries := manyEntries(60_000)
	body := packtest.Index(entries, make([]byte, object.IDSize))
	own := sha1.Sum(body)
	name := filepath.Join(t.TempDir(), "many.idx")
	if err := os.WriteFile(name, append(body, own[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{1 << 30, 2 * tablePage, 0} {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		space := NewBudget(memory)
		table, err := openTable("many.idx", file, int64(len(body)+object.IDSize), space)
		if err != nil || table.whole != nil {
			t.Fatal("the index is not read by pages: the test shows nothing", err)
		}
		x, err := newIndex(table)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			if i%7 != 0 && memory == 0 {
				continue
			}
			offset, found, err := x.find(&e.ID)
			if offset != e.Offset || !found || err != nil {
				t.Fatalf("entry %d: %d %v %v, want %d", i, offset, found, err, e.Offset)
			}
			absent := e.ID
			absent[19]++
			if _, found, err := x.find(&absent); found || err != nil {
				t.Fatalf("an absent id: %v %v", found, err)
			}
		}
		if space.Used() > memory {
			t.Errorf("%d bytes of memory are used, %d allowed", space.Used(), memory)
		}
		table.Close()
		if space.Used() != 0 {
			t.Errorf("%d bytes of memory are not given back", space.Used())
		}
	}
}

func TestIndexThatShrinksUnderUsIsDamage(t *testing.T) {
	t.Parallel()
	entries := manyEntries(60_000)
	body := packtest.Index(entries, make([]byte, object.IDSize))
	own := sha1.Sum(body)
	name := filepath.Join(t.TempDir(), "many.idx")
	if err := os.WriteFile(name, append(body, own[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	table, err := openTable("many.idx", file, int64(len(body)+object.IDSize), NewBudget(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	x, err := newIndex(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 2000); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, e := range entries {
		if _, found, err := x.find(&e.ID); object.IsDamage(err) && errors.Is(err, io.ErrUnexpectedEOF) {
			damaged++
		} else if !found || err != nil {
			t.Fatalf("%v %v", found, err)
		}
	}
	if damaged == 0 {
		t.Error("no damage was seen")
	}
}
