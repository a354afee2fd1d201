package checkout

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// TestJournalsAreSorted reads one in no order at all, in which paths come twice.
func TestJournalsAreSorted(t *testing.T) {
	flags := []flag{gone, brought}
	for _, count := range []int{0, 1, sortedAtOnce, 2*sortedAtOnce + 1, 7*sortedAtOnce/2 + 3} {
		j, err := createJournal(filepath.Join(t.TempDir(), "journal"))
		if err != nil {
			t.Fatal(err)
		}
		random := newRandom(count)
		for round := range int64(2) {
			for _, n := range random.Perm(count) {
				if err := j.add(record{path: fmt.Sprintf("%09d", n), kind: plainFile, size: round,
					flag: flags[n%2]}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := j.file.WriteString("=f 0000"); err != nil { // as a process that was killed leaves it
			t.Fatal(err)
		}
		in, n := newSorted(j.file), 0
		for ; ; n++ {
			r, err := in.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || r.path != fmt.Sprintf("%09d", n) || r.size != 1 || r.flag != flags[n%2] {
				t.Fatalf("record %d is %+v, %v", n, r, err)
			}
		}
		if n != count {
			t.Errorf("%d records of %d", n, count)
		}
		if err := j.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRecordsKeepEveryByte(t *testing.T) {
	for _, want := range []record{
		{path: "a b\n\xff", kind: executable, size: 1 << 40, mtime: -1, ctime: 5, flag: kept},
		{path: "folder/", kind: directory, flag: gone, aside: ".repomcp-tmp-x-1"},
		{path: "a/b", kind: nothing, flag: skipped},
	} {
		text := want.appendTo(nil)
		if got, err := parseRecord(text[:len(text)-1]); err != nil || got != want {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
	}
	for _, text := range []string{"", "=f", "=f 00 1 1 x", "=f zz00000000000000000000000000000000000000 1 1 x"} {
		if r, err := parseRecord([]byte(text)); !errors.Is(err, ErrState) {
			t.Errorf("%q is %+v, %v", text, r, err)
		}
	}
}
