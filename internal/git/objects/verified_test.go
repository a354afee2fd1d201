package objects

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestSwappedOffsetsAreNoticed(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "content of a"), gittest.Regular("b", "content of b"))
	repo.Git("repack", "-adq")
	a, _ := ParseID(repo.Git("rev-parse", "main:a"))
	b, _ := ParseID(repo.Git("rev-parse", "main:b"))
	repo.SwapOffsets(a.String(), b.String())
	snap := snapshot(t, newStore(t, nil, repo), repo)

	_, content, err := readStream(snap, a)
	if err != nil || string(content) != "content of b" {
		t.Fatalf("Open gives %q, %v: the offsets are not swapped", content, err)
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
	repo.CopyPack(other)
	if _, got, err := snap.ReadVerified(a, 1<<20, nil); err != nil || string(got) != "content of a" {
		t.Errorf("with a sound copy ReadVerified gives %q, %v", got, err)
	}
}
