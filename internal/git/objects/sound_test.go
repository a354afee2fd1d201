package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// pieceBytes is how much of an object is read at a time.
const pieceBytes = 128 << 10

// soundSizes are those at which an object is held in another way.
var soundSizes = []int{0, 1, 32 << 10, 32<<10 + 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes, 5*pieceBytes + 7}

// withSizes commits a file of each size, twice with a small difference, so that
// packs hold deltas too.
func withSizes(t *testing.T) (*gittest.Repo, map[ID]string) {
	t.Helper()
	repo := gittest.New(t)
	contents := make(map[ID]string)
	for round := range 2 {
		var files []gittest.File
		for i, size := range soundSizes {
			content := gittest.Noise(size)
			if round > 0 && size > 1 {
				content = content[:size/2] + "#" + content[size/2+1:]
			}
			files = append(files, gittest.Regular(fmt.Sprint(i), content))
			contents[packtest.SumOf(Blob, []byte(content))] = content
		}
		repo.Commit("main", files...)
	}
	return repo, contents
}

// TestSoundObjectsAreTheObjects reads them twice, by pieces of several sizes, with
// room for proofs and without.
func TestSoundObjectsAreTheObjects(t *testing.T) {
	repo, contents := withSizes(t)
	for _, packed := range []bool{false, true} {
		if packed {
			repo.Git("repack", "-adfq", "--window=10")
		}
		for i, options := range []func(*limits){
			nil, func(l *limits) { l.proofBytes = 1 }, func(l *limits) { l.packs.SpillBytes = 2 * pieceBytes },
		} {
			snap := snapshot(t, newStore(t, options, repo), repo)
			for id, want := range contents {
				for _, step := range []int{1 << 20, 1000, pieceBytes, pieceBytes + 1} {
					object, err := snap.OpenSound(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					var got bytes.Buffer
					_, err = io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{object}, make([]byte, step))
					if err != nil || got.String() != want || object.Size() != int64(len(want)) {
						t.Errorf("%d bytes, packed %v, limits %d: %d, %v", len(want), packed, i, got.Len(), err)
					}
					if err := object.Close(); err != nil {
						t.Error(err)
					}
				}
				var proven bytes.Buffer
				kind, size, err := snap.Prove(t.Context(), id, func() io.Writer { proven.Reset(); return &proven })
				if err != nil || kind != Blob || size != int64(len(want)) || proven.String() != want {
					t.Errorf("proving %d bytes: %v %d, %v", len(want), kind, size, err)
				}
			}
		}
	}
}

// TestSoundObjectsComeFromASoundCopy damages each object in one of two packs.
func TestSoundObjectsComeFromASoundCopy(t *testing.T) {
	repo, contents := withSizes(t)
	repo.Git("repack", "-adfq")
	other := gittest.Existing(t, filepath.Join(filepath.Dir(repo.Dir), "other.git"))
	if err := os.CopyFS(other.Dir, os.DirFS(repo.Dir)); err != nil {
		t.Fatal(err)
	}
	var ids []ID
	for id, content := range contents {
		if len(content) > 1 {
			ids = append(ids, id)
		}
	}
	for i := range len(ids) - 1 {
		repo.SwapOffsets(ids[i].String(), ids[i+1].String())
	}
	check := func(repo *gittest.Repo, sound bool) {
		snap := snapshot(t, newStore(t, nil, repo), repo)
		for _, id := range ids {
			if _, err := proveInParts(t, snap, id); !sound && !errors.Is(err, ErrCorrupt) {
				t.Errorf("proving %v in parts: %v", id, err)
			}
			object, err := snap.OpenSound(t.Context(), id)
			if sound != (err == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v, sound %v: %v", id, sound, err)
			}
			if err == nil {
				if content, err := io.ReadAll(object); err != nil || string(content) != contents[id] {
					t.Errorf("%v: %d bytes, %v", id, len(content), err)
				}
				_ = object.Close()
			}
			var proven bytes.Buffer
			_, size, err := snap.Prove(t.Context(), id, func() io.Writer { proven.Reset(); return &proven })
			if sound != (err == nil) || sound && (proven.String() != contents[id] || size != int64(proven.Len())) {
				t.Errorf("proving %v, sound %v: %d bytes, %v", id, sound, proven.Len(), err)
			}
		}
	}
	check(repo, false)
	// Another repack, so that the sound pack has another name.
	other.Git("-c", "core.compression=0", "repack", "-adFq", "--depth=0")
	repo.CopyPack(other)
	check(repo, true)
}

// proveInParts returns how many parts of a piece each there were.
func proveInParts(t *testing.T, snap *Snapshot, id ID) (parts int, err error) {
	t.Helper()
	prover, err := snap.OpenProver(t.Context(), id)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err := prover.Close(); err != nil {
			t.Error(err)
		}
	}()
	for whole := false; !whole && err == nil; parts++ {
		whole, err = prover.Advance(pieceBytes)
	}
	return parts, err
}

// TestWhatWasProvedInPartsIsRemembered proves objects of every size twice.
func TestWhatWasProvedInPartsIsRemembered(t *testing.T) {
	repo, contents := withSizes(t)
	repo.Git("repack", "-adfq", "--window=10")
	snap := snapshot(t, newStore(t, func(l *limits) { l.packs.SpillBytes = 2 * pieceBytes }, repo), repo)
	for id, content := range contents {
		want := max(1, (len(content)+pieceBytes-1)/pieceBytes)
		if parts, err := proveInParts(t, snap, id); err != nil || parts != want {
			t.Errorf("%d bytes were proved in %d parts, %v; want %d", len(content), parts, err, want)
		}
		if len(content) <= pieceBytes {
			continue // compared anew each time
		}
		if parts, err := proveInParts(t, snap, id); err != nil || parts != 1 {
			t.Errorf("%d bytes that are known were proved in %d parts, %v", len(content), parts, err)
		}
	}
}

// TestProvingCanBeGivenUp ends with its context.
func TestProvingCanBeGivenUp(t *testing.T) {
	repo, contents := withSizes(t)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refused := 0
	for id, content := range contents {
		if len(content) <= pieceBytes {
			continue
		}
		if _, err := snap.OpenSound(gone, id); !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
		refused++
	}
	if refused == 0 {
		t.Error("none was given up")
	}
}
