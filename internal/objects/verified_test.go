package objects

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestSwappedOffsetsAreNoticed gives an index that is sound in itself but says
// that each of two blobs is where the other is: what a faulty disk or an
// attacker could leave, and what no checksum of the pack shows.
func TestSwappedOffsetsAreNoticed(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "content of a"), gittest.Regular("b", "content of b"))
	repo.Git("repack", "-adq")
	a, _ := ParseID(repo.Git("rev-parse", "main:a"))
	b, _ := ParseID(repo.Git("rev-parse", "main:b"))
	swapOffsets(t, repo, a, b)
	snap := snapshot(t, newStore(t, Options{}, repo), repo)

	_, content, err := snap.Read(a, 1<<20, nil)
	if err != nil || string(content) != "content of b" {
		t.Fatalf("Read gives %q, %v: the offsets are not swapped", content, err)
	}
	kept := []byte("kept")
	if _, got, err := snap.ReadVerified(a, 1<<20, kept); !errors.Is(err, ErrCorrupt) || !bytes.Equal(got, kept) {
		t.Errorf("ReadVerified gives %q, %v", got, err)
	}
	object, err := snap.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = object.Close() }()
	object.Verify()
	if _, err := io.ReadAll(object); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a verified stream gives %v", err)
	}

	// A sound copy in another pack is taken instead.
	other := gittest.New(t)
	other.Commit("main", gittest.Regular("a", "content of a"))
	other.Git("repack", "-adq")
	for _, pattern := range []string{"*.pack", "*.idx"} {
		copyFile(t, other.Dir+"/objects/pack/"+pattern, repo.Dir+"/objects/pack")
	}
	if _, got, err := snap.ReadVerified(a, 1<<20, nil); err != nil || string(got) != "content of a" {
		t.Errorf("with a sound copy ReadVerified gives %q, %v", got, err)
	}
}

// swapOffsets exchanges the offsets of two objects in an index of version 2,
// whose tables follow one another (gitformat-pack), and mends its checksum.
func swapOffsets(t *testing.T, repo *gittest.Repo, a, b ID) {
	t.Helper()
	file := mend(t, repo.Dir+"/objects/pack/*.idx")
	defer func() { _ = file.Close() }()
	idx, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	const header, fanout, ids = 8, 1024, 8 + 1024
	count := int(idx[header+fanout-1]) | int(idx[header+fanout-2])<<8
	offset := func(id ID) []byte {
		at := bytes.Index(idx[ids:ids+count*IDSize], id[:]) / IDSize
		return idx[ids+count*(IDSize+4)+4*at:][:4]
	}
	first, second := offset(a), offset(b)
	for i := range first {
		first[i], second[i] = second[i], first[i]
	}
	sum := sha1.Sum(idx[:len(idx)-IDSize])
	copy(idx[len(idx)-IDSize:], sum[:])
	if _, err := file.WriteAt(idx, 0); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, pattern, dir string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(names[0])), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
