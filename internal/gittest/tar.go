package gittest

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"testing"
)

// TarEntry is what a user sees of one member of a tar file.
type TarEntry struct {
	Name    string
	Type    byte
	Mode    int64
	Link    string
	ModTime int64
	Size    int64
	SHA256  string // of the content, in hex
	Comment string // of a pax global header: git puts the commit id there
}

func (e TarEntry) String() string {
	return fmt.Sprintf("%c %04o %q -> %q %d bytes at %d %.12s %s", e.Type, e.Mode, e.Name, e.Link, e.Size, e.ModTime,
		e.SHA256, e.Comment)
}

// ReadTar lists a tar stream to its end and fails the test when it is not
// well formed.
func ReadTar(t testing.TB, r io.Reader) []TarEntry {
	t.Helper()
	var entries []TarEntry
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatalf("after %d entries: %v", len(entries), err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, tr); err != nil {
			t.Fatalf("%q: %v", h.Name, err)
		}
		entries = append(entries, TarEntry{
			Name: h.Name, Type: h.Typeflag, Mode: h.Mode, Link: h.Linkname, ModTime: h.ModTime.Unix(), Size: h.Size,
			SHA256: hex.EncodeToString(sum.Sum(nil)), Comment: h.PAXRecords["comment"],
		})
	}
}

// TarNames lists the names in a tar stream, but for those of global headers.
func TarNames(t testing.TB, r io.Reader) (names []string) {
	t.Helper()
	for _, entry := range ReadTar(t, r) {
		if entry.Type != tar.TypeXGlobalHeader {
			names = append(names, entry.Name)
		}
	}
	return names
}

// DiffTar fails the test at each entry that the two lists do not share, and
// returns how many entries were compared.
func DiffTar(t testing.TB, got, want []TarEntry) int {
	t.Helper()
	const most = 5 // differences shown: one wrong entry often moves all others
	shown := 0
	for i := 0; i < max(len(got), len(want)) && shown < most; i++ {
		shown++
		switch {
		case i >= len(got):
			t.Errorf("entry %d is missing: %v", i, want[i])
		case i >= len(want):
			t.Errorf("entry %d is too many: %v", i, got[i])
		case got[i].String() != want[i].String():
			t.Errorf("entry %d:\n got %.300v\nwant %.300v", i, got[i], want[i])
		default:
			shown--
		}
	}
	return len(want)
}
