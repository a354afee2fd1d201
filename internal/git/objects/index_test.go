package objects

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// packHeader is the size of what a pack begins with.
const packHeader = 12

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
	index, err := os.Stat(names[0])
	if err != nil || index.Size() <= int64(8+4*256+len(all)*(IDSize+4+4)+2*IDSize) {
		t.Fatal("the index has no 64-bit offsets: the test shows nothing", err)
	}
	compare(t, snapshot(t, newStore(t, nil, repo), repo), all)
}

func TestPackOfMoreThan4GiB(t *testing.T) {
	repo := gittest.New(t)
	base := packtest.Whole("the base of a delta")
	end := int64(packHeader + len(base.Head) + len(base.Data))
	const far = 5 << 30
	far1 := onOffset("far", far-packHeader, packtest.Delta(19, 4, 0x91, 4, 4))
	far1.ID = packtest.SumOf(Blob, []byte("base"))
	far1.Offset, base.Offset = far, packHeader
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
		{packHeader, slices.Concat(base.Head, base.Data)},
		{far, slices.Concat(far1.Head, far1.Data, sum)},
	} {
		if _, err := file.WriteAt(part.b, part.at); err != nil { // a sparse file
			t.Fatal(err)
		}
	}
	body := packtest.Index([]packtest.Entry{base, far1}, sum)
	own := sha1.Sum(body)
	write(t, name+".idx", string(body)+string(own[:]))
	snap := snapshot(t, newStore(t, nil, repo), repo)
	if err := compareOne(snap, fact{far1.ID, "blob", []byte("base")}); err != nil {
		t.Errorf("%v (the first entry ends at %d)", err, end)
	}
}

// TestDamagedLargeIndexIsRefused flips a bit of an index that is too large to be
// hashed when it is opened: the snapshot that is open hears of it, and later ones.
func TestDamagedLargeIndexIsRefused(t *testing.T) {
	repo := gittest.New(t)
	entries := slices.Repeat([]packtest.Entry{packtest.Whole("")}, 40_000)
	for i := range entries {
		entries[i].ID = packtest.Named(strconv.Itoa(i))
	}
	packtest.New(entries...).Write(t, repo)
	file := mend(t, repo.Dir+"/objects/pack/*.idx")
	info, err := file.Stat()
	if err == nil {
		_, err = file.WriteAt([]byte{0x55}, info.Size()-2*IDSize-2) // an offset
	}
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	s := newStore(t, nil, repo)
	snap := snapshot(t, s, repo)
	gittest.Await(t, "the damage is noticed", func() bool {
		_, err := has(snap, entries[0].ID)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("the damage is reported as %v, want %v", err, ErrCorrupt)
		}
		return err != nil
	})
	later := snapshot(t, s, repo)
	if _, err := has(later, entries[1].ID); !errors.Is(err, ErrCorrupt) {
		t.Errorf("of a later snapshot: %v", err)
	}
	if _, err := later.Prefix(entries[0].ID.String()[:8], 10); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an abbreviation gives %v", err)
	}
}

func TestMultiPackIndexNamesThePack(t *testing.T) {
	repo := gittest.New(t)
	history(repo, 3)
	severalPacks(repo)
	repo.Git("multi-pack-index", "write")
	all := facts(t, repo) // of the git of the tests, which may not know the second version
	for version := range byte(midxVersions) {
		file := mend(t, repo.Dir+"/objects/pack/multi-pack-index")
		if _, err := file.WriteAt([]byte{version + 1}, 4); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		checkMultiPackIndex(t, repo, all)
	}
}

// midxVersions are those that git writes. The second one differs in the order of packs, which may be any.
const midxVersions = 2

func checkMultiPackIndex(t *testing.T, repo *gittest.Repo, all []fact) {
	t.Helper()
	snap := snapshot(t, newStore(t, nil, repo), repo)
	v := snap.view.Load()
	if len(v.midxes) != 1 {
		t.Fatal("the multi-pack-index is not used")
	}
	for _, f := range all {
		p := v.midxes[0].Hint(&f.id)
		if p == nil {
			t.Errorf("%v is not in the multi-pack-index", f.id)
			continue
		}
		if _, found, err := p.Find(&f.id); !found || err != nil {
			t.Errorf("%v is not in the pack that is named: %v", f.id, err)
		}
	}
	absent := packtest.Named("absent")
	if v.midxes[0].Hint(&absent) != nil {
		t.Error("an absent object is named")
	}
}

// TestMultiPackIndexThatLies changes every byte of a multi-pack-index in turn:
// no answer may change.
func TestMultiPackIndexThatLies(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	for i := range 4 {
		repo.Commit("main", gittest.Regular("f", gittest.Lines(1, 20+i)))
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
	s := newStore(t, nil, repo)
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
			_, data, err := snap.ReadVerified(f.id, 1<<20, nil)
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
