package objects

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// TestWriteToIsTheObject writes objects of every size around the pieces that
// are read ahead, also after some of it was read.
func TestWriteToIsTheObject(t *testing.T) {
	repo := gittest.New(t)
	var files []gittest.File
	sizes := []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 2 * pieceBytes, 3*pieceBytes + 7, 10 * pieceBytes}
	for i, size := range sizes {
		files = append(files, gittest.Regular(fmt.Sprint(i), gittest.Noise(size)))
	}
	repo.Commit("main", files...)
	for _, packed := range []bool{false, true} {
		if packed {
			repo.Git("repack", "-adq")
		}
		snap := snapshot(t, newStore(t, nil, repo), repo)
		for i, size := range sizes {
			id, _ := ParseID(repo.Git("rev-parse", fmt.Sprintf("main:%d", i)))
			for _, read := range []int{0, 1, size / 2} {
				object, err := snap.Open(id)
				if err != nil {
					t.Fatal(err)
				}
				object.Verify()
				var out bytes.Buffer
				head := make([]byte, min(read, size))
				n, err := object.Read(head)
				if err != nil && n > 0 {
					t.Fatal(err)
				}
				out.Write(head[:n])
				written, err := object.WriteTo(&out)
				if err != nil || out.String() != gittest.Noise(size) || written != int64(size-n) {
					t.Errorf("size %d, packed %v, after %d: %d bytes, %v", size, packed, n, written, err)
				}
				if err := object.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestWriteToKeepsTheEndOfAnotherObject swaps two large blobs: all but the last
// piece may be written before the id is known.
func TestWriteToKeepsTheEndOfAnotherObject(t *testing.T) {
	for _, size := range []int{4 * pieceBytes, 4*pieceBytes + 1, 100} {
		repo := gittest.New(t)
		repo.Commit("main", gittest.Regular("a", gittest.Noise(size)),
			gittest.Regular("b", gittest.Noise(size + 1)[1:]))
		repo.Git("repack", "-adq")
		a, _ := ParseID(repo.Git("rev-parse", "main:a"))
		b, _ := ParseID(repo.Git("rev-parse", "main:b"))
		repo.SwapOffsets(a.String(), b.String())
		object, err := snapshot(t, newStore(t, nil, repo), repo).Open(a)
		if err != nil {
			t.Fatal(err)
		}
		object.Verify()
		var out bytes.Buffer
		if n, err := object.WriteTo(&out); !errors.Is(err, ErrCorrupt) || int(n) >= size || out.Len() != int(n) {
			t.Errorf("size %d: %d bytes, %v", size, n, err)
		}
		if _, err := object.Read(make([]byte, 1)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("size %d: reading on gives %v", size, err)
		}
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWriteToEndsWithItsWriter has a writer that fails at once or later.
func TestWriteToEndsWithItsWriter(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(8*pieceBytes)))
	id, _ := ParseID(repo.Git("rev-parse", "main:a"))
	snap := snapshot(t, newStore(t, nil, repo), repo)
	for _, room := range []int{0, 1, 3} {
		object, err := snap.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		w := &failing{room: room}
		if n, err := object.WriteTo(w); !errors.Is(err, errFull) || n != int64(room*pieceBytes) {
			t.Errorf("after %d writes: %d bytes, %v", room, n, err)
		}
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
}

var errFull = errors.New("full")

type failing struct{ room int }

func (w *failing) Write(p []byte) (int, error) {
	if w.room == 0 {
		return 0, errFull
	}
	w.room--
	return len(p), nil
}
