package objects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/gittest"
)

// fact is what the real git says about an object.
type fact struct {
	id      ID
	kind    string
	content []byte
}

// facts asks git for every object of a repository, with its content.
func facts(t testing.TB, repo *gittest.Repo) []fact {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "--batch-all-objects", "--batch")
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []fact
	for r := bufio.NewReader(bytes.NewReader(out)); ; {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return all
		}
		words := strings.Fields(line)
		id, _ := ParseID(words[0])
		size, err := strconv.Atoi(words[2])
		if err != nil {
			t.Fatalf("git says %q", line)
		}
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			t.Fatal(err)
		}
		all = append(all, fact{id, words[1], content[:size]})
	}
}

// indexBytes is enough for all indexes of tests.
const indexBytes = 64 << 20

// newStore makes a store over the folder that holds the given repositories,
// which is the parent of the first one, with the limits as change leaves them.
func newStore(t testing.TB, change func(*limits), repos ...*gittest.Repo) *Store {
	t.Helper()
	l := defaultLimits(indexBytes)
	l.packs.CheckDelay = 0
	temp := t.TempDir()
	l.packs.SpillSpace = spill.NewSpace(temp, 8<<30)
	if change != nil {
		change(&l)
	}
	s, err := open(filepath.Dir(repos[0].Dir), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if used := s.descriptors.used; used != 0 || len(s.descriptors.sets) > 0 {
			t.Errorf("%d descriptors, %d packs are counted as open after Close", used, len(s.descriptors.sets))
		}
		if used := l.packs.Indexes.Used(); used != 0 {
			t.Errorf("%d bytes of indexes are counted as used after Close", used)
		}
		if used := l.packs.SpillSpace.Used(); used != 0 {
			t.Errorf("%d bytes of temporary files are counted as used after Close", used)
		}
		if left, _ := os.ReadDir(temp); len(left) != 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	})
	return s
}

// snapshot opens a repository; the test closes it at its end.
func snapshot(t testing.TB, s *Store, repo *gittest.Repo) *Snapshot {
	t.Helper()
	snap, err := openSnapshot(s, filepath.Base(repo.Dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = snap.Close() })
	return snap
}

func openSnapshot(s *Store, dir string) (*Snapshot, error) {
	db, err := s.Open(dir)
	if err != nil {
		return nil, err
	}
	return db.Snapshot()
}

// stat asks for both that a header tells.
func stat(snap *Snapshot, id ID) (Type, int64, error) {
	kind, err := snap.Type(id)
	if err != nil {
		return 0, 0, err
	}
	size, err := snap.Size(id)
	return kind, size, err
}

// has says whether an object exists.
func has(snap *Snapshot, id ID) (bool, error) {
	_, _, err := stat(snap, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// compare reads every object in every way and says where that differs from
// what git says.
func compare(t testing.TB, snap *Snapshot, want []fact) {
	t.Helper()
	if len(want) == 0 {
		t.Error("nothing to compare")
	}
	for _, f := range want {
		if err := compareOne(snap, f); err != nil {
			t.Error(err)
		}
	}
}

func compareOne(snap *Snapshot, f fact) error {
	kind, size, err := stat(snap, f.id)
	if err != nil {
		return fmt.Errorf("%v: Stat: %w", f.id, err)
	}
	if kind.String() != f.kind || size != int64(len(f.content)) {
		return fmt.Errorf("%v: Stat gives %v %d, git %s %d", f.id, kind, size, f.kind, len(f.content))
	}
	kind, data, err := snap.ReadVerified(f.id, size, []byte("before"))
	if err != nil {
		return fmt.Errorf("%v: Read: %w", f.id, err)
	}
	if kind.String() != f.kind || string(data) != "before"+string(f.content) {
		return fmt.Errorf("%v: Read gives %v and %d bytes, git %s and %d", f.id, kind, len(data)-6, f.kind,
			len(f.content))
	}
	if size > 0 {
		if _, _, err := snap.ReadVerified(f.id, size-1, nil); !errors.Is(err, ErrTooLarge) {
			return fmt.Errorf("%v: Read of one byte less: %w", f.id, errors.Join(err, errors.New("is not ErrTooLarge")))
		}
	}
	return compareStream(snap, f)
}

func compareStream(snap *Snapshot, f fact) error {
	object, err := snap.Open(f.id)
	if err != nil {
		return fmt.Errorf("%v: Open: %w", f.id, err)
	}
	defer func() { _ = object.Close() }()
	object.Verify()
	if object.Type().String() != f.kind || object.Size() != int64(len(f.content)) {
		return fmt.Errorf("%v: Open gives %v %d, git %s %d", f.id, object.Type(), object.Size(), f.kind, len(f.content))
	}
	data, err := io.ReadAll(object)
	if err != nil {
		return fmt.Errorf("%v: the stream: %w", f.id, err)
	}
	if !bytes.Equal(data, f.content) {
		return fmt.Errorf("%v: the stream gives %d bytes, git %d", f.id, len(data), len(f.content))
	}
	return nil
}

// history fills a repository with files that change a little in each commit,
// so that packing makes chains of deltas.
func history(repo *gittest.Repo, commits int) {
	for c := range commits {
		body := gittest.Lines(1, 400)
		edit := c * 37 % (len(body) - 100)
		body = body[:edit] + fmt.Sprintf("edited in commit %d\n", c) + body[edit:]
		repo.Commit("main",
			gittest.Regular("changing.txt", body),
			gittest.Regular("growing.txt", gittest.Lines(2, 10+c*5)),
			gittest.Regular("empty", ""),
			gittest.Executable("dir/sub/tool", "#!/bin/sh\n"+strconv.Itoa(c)),
			gittest.Regular("dir/noise.bin", gittest.SeededNoise(7, 50_000)+strconv.Itoa(c)),
			gittest.Regular("dir/only-"+strconv.Itoa(c), gittest.SeededNoise(uint64(c+1), 300)),
		)
	}
}

// mend opens a file for writing, as git makes its files read-only.
func mend(t testing.TB, pattern string) *os.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal("no file ", pattern)
	}
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(names[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
