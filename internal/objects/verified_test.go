package objects

import (
	"bytes"
	"errors"
	"fmt"
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
	repo.CopyPack(other)
	if _, got, err := snap.ReadVerified(a, 1<<20, nil); err != nil || string(got) != "content of a" {
		t.Errorf("with a sound copy ReadVerified gives %q, %v", got, err)
	}
}

// Objects that are compared together are found damaged wherever they are in the
// buffer, and what is read into it the next time is judged anew.
func TestPendingObjectsAreCompared(t *testing.T) {
	repo := gittest.New(t)
	var files []gittest.File
	for i := range 20 {
		files = append(files, gittest.Regular(fmt.Sprint(i), gittest.Noise(1000*i)))
	}
	repo.Commit("main", files...)
	repo.Git("repack", "-adq")
	var ids []ID
	for i := range files {
		id, err := ParseID(repo.Git("rev-parse", fmt.Sprint("main:", i)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	snap := snapshot(t, newStore(t, Options{}, repo), repo)
	var pending Pending
	all := func() bool {
		t.Helper()
		buf, found := []byte("before them"), false
		for i, id := range ids {
			_, got, err := snap.ReadPending(id, 1<<20, buf, &pending)
			if errors.Is(err, ErrCorrupt) { // compared at once, where that is as fast
				found = true
				continue
			}
			if err != nil {
				t.Fatal(i, err)
			}
			buf = got
		}
		return pending.Matches(buf) && !found
	}
	for range 2 {
		if !all() {
			t.Error("sound objects do not match")
		}
	}
	// One that its reader does not keep, since it is not what was wanted, may be
	// anywhere by now.
	if _, _, err := snap.ReadPending(ids[7], 1<<20, nil, &pending); err != nil || !pending.Matches(nil) {
		t.Errorf("an object that was not kept: %v", err)
	}
	for _, pair := range [][2]int{{0, 1}, {7, 19}} {
		repo.SwapOffsets(ids[pair[0]].String(), ids[pair[1]].String())
		snap = snapshot(t, newStore(t, Options{}, repo), repo)
		if all() {
			t.Errorf("objects %v are swapped, and match", pair)
		}
		repo.SwapOffsets(ids[pair[0]].String(), ids[pair[1]].String())
		snap = snapshot(t, newStore(t, Options{}, repo), repo)
		if !all() {
			t.Error("sound objects do not match after damaged ones")
		}
	}
}
