package objects

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestPackThatShrinksDuringAStream(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("big", gittest.SeededNoise(1, 3_000_000)), gittest.Regular("small", "small"))
	repo.Git("repack", "-adq")
	all := facts(t, repo)
	s := newStore(t, nil, repo)
	snap := snapshot(t, s, repo)
	id, _ := ParseID(repo.Git("rev-parse", "main:big"))
	object, err := snap.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(object, make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	file := mend(t, repo.Dir+"/objects/pack/*.pack")
	defer func() { _ = file.Close() }()
	original, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(int64(len(original) / 4)); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, object)
	var damage *CorruptError
	if !errors.As(err, &damage) || !errors.Is(err, io.ErrUnexpectedEOF) || damage.Object != id {
		t.Errorf("%d bytes, then %v", n, err)
	}
	if strings.Contains(err.Error(), repo.Dir) {
		t.Errorf("the error tells where the root is: %v", err)
	}
	if again, err := object.Read(make([]byte, 1)); again != 0 || !errors.Is(err, ErrCorrupt) {
		t.Errorf("the next Read gives %d %v", again, err)
	}
	_ = object.Close()
	for _, f := range all {
		if err := compareOne(snap, f); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Error(err)
		}
	}
	if _, err := file.WriteAt(original, 0); err != nil {
		t.Fatal(err)
	}
	compare(t, snapshot(t, s, repo), all)
}

func TestSecondPackStandsInForADamagedOne(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo, twin := gittest.At(t, filepath.Join(root, "a")), gittest.At(t, filepath.Join(root, "b"))
	history(repo, 3)
	history(twin, 3)
	repo.Git("repack", "-adfq")
	twin.Git("-c", "pack.depth=1", "-c", "core.compression=1", "repack", "-adFq")
	for _, pattern := range []string{"*.pack", "*.idx"} {
		names, _ := filepath.Glob(filepath.Join(twin.Dir, "objects", "pack", pattern))
		content, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(repo.Dir, "objects", "pack", "pack-twin"+pattern[1:]), string(content))
	}
	all := facts(t, twin)
	for _, pattern := range []string{"pack-twin.pack", "pack-??*[0-9a-f].pack"} {
		s := newStore(t, nil, repo)
		file := mend(t, filepath.Join(repo.Dir, "objects", "pack", pattern))
		original, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		spoiled := bytes.Clone(original)
		clear(spoiled[12 : len(spoiled)-20])
		if _, err := file.WriteAt(spoiled, 0); err != nil {
			t.Fatal(err)
		}
		compare(t, snapshot(t, s, repo), all)
		if _, err := file.WriteAt(original, 0); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
}

func TestPipeInPlaceOfAnObjectDoesNotBlock(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("f", "content"))
	id := packtest.SumOf(Blob, []byte("content"))
	name := filepath.Join(repo.Dir, "objects", id.String()[:2], id.String()[2:])
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	makePipe(t, name)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	if _, _, err := stat(snap, id); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Stat gives %v", err)
	}
}

func TestPrefixGivesWhatGitGives(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	var names []gittest.File
	for i := range 700 { // some of them share four digits
		names = append(names, gittest.Regular("f"+strconv.Itoa(i), gittest.SeededNoise(uint64(i+1), 20)))
	}
	repo.Commit("main", names[:400]...)
	repo.Git("repack", "-adq")
	repo.Commit("main", names...)
	repo.Commit("loose", gittest.Regular("f", "loose"))
	all := facts(t, repo)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	shared := 0
	for _, digits := range []int{4, 5, 7, 39, 40} {
		for _, f := range all {
			prefix := f.id.String()[:digits]
			got, err := snap.Prefix(strings.ToUpper(prefix), 10)
			if err != nil {
				t.Fatal(err)
			}
			var want []ID
			for _, other := range all {
				if strings.HasPrefix(other.id.String(), prefix) {
					want = append(want, other.id)
				}
			}
			if len(want) > 1 {
				shared++
				if one, err := snap.Prefix(prefix, 1); err != nil || len(one) != 1 || one[0] != want[0] {
					t.Errorf("%s, at most one: %v %v", prefix, one, err)
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%s: %v, want %v", prefix, got, want)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%s: %v, want %v", prefix, got, want)
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no two objects share a prefix: the test shows little")
	}
	for _, bad := range []string{"", "abc", "zzzz", strings.Repeat("a", 41), "abc\x00"} {
		if _, err := snap.Prefix(bad, 10); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
