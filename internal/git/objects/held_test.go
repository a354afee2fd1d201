package objects

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// mostHeld is what an open object may hold, whatever its size.
const mostHeld = 3 << 20

// TestDeltasAroundTheSpillLimit compares versions of files of about the size from which
// bases go into temporary files with what git says, read in several ways.
func TestDeltasAroundTheSpillLimit(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	limit := int(defaultLimits(indexBytes).packs.SpillBytes)
	shallow, every := 8, gittest.Volume(10, 1) // each depth takes a MiB more to read, in six ways
	repo := gittest.New(t)
	files := []versioned{{size: limit + 1, versions: 51}}
	for _, size := range []int{limit - 1, limit, limit / 2, 3*limit + 7} {
		files = append(files, versioned{size, 8})
	}
	importChains(t, repo, files)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	deltas, compared, deepest := depths(t, repo), 0, 0
	for _, want := range facts(t, repo) {
		depth := deltas[want.id.String()]
		if want.kind != "blob" || depth == 0 || depth > shallow && depth%every != 0 {
			continue
		}
		for way, read := range waysToRead(len(want.content)) {
			if got, err := read(t, snap, want.id); err != nil || !bytes.Equal(got, want.content) {
				t.Errorf("%v of %d bytes, a delta of depth %d, %s: %d bytes, %v", want.id, len(want.content),
					depth, way, len(got), err)
			}
			compared++
		}
		deepest = max(deepest, depth)
	}
	if want := (shallow + (50/every - shallow/every) + 4*7) * 6; compared != want || deepest != 50 {
		t.Errorf("%d readings of deltas were compared, up to a depth of %d; want %d and 50", compared, deepest, want)
	}
}

// versioned is a file of a size, of which every version is a delta on the one before.
type versioned struct{ size, versions int }

// importChains fills a repository with files as git fast-import packs them: as chains.
func importChains(t *testing.T, repo *gittest.Repo, files []versioned) {
	t.Helper()
	cmd := exec.Command("git", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--depth=50")
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	var stream bytes.Buffer
	mark := 0
	for i, c := range files {
		body := gittest.SeededNoise(uint64(i+1), c.size)
		for version := range c.versions {
			mark++
			at := version * 7919 % (c.size - 40) // the length stays, and so the side of the limit
			body = body[:at] + fmt.Sprintf("%-40d", version) + body[at+40:]
			fmt.Fprintf(&stream, "blob\nmark :%d\ndata %d\n%s\n", mark, len(body), body)
		}
	}
	cmd.Stdin = &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v: %s", err, out)
	}
}

// waysToRead are the ways to the bytes of an object of a size: in one go or in parts of
// odd sizes, sound or not, from the beginning or behind a place in it.
func waysToRead(size int) map[string]func(t *testing.T, snap *Snapshot, id ID) ([]byte, error) {
	ways := map[string]func(*testing.T, *Snapshot, ID) ([]byte, error){
		"ReadVerified": func(_ *testing.T, snap *Snapshot, id ID) ([]byte, error) {
			_, data, err := snap.ReadVerified(id, int64(size), nil)
			return data, err
		},
	}
	for _, head := range []int{0, 1, size/2 + 1} {
		ways[fmt.Sprint("Open, WriteTo after ", head)] = func(t *testing.T, snap *Snapshot, id ID) ([]byte, error) {
			return readBehind(t, head, func() (*Object, error) { return snap.Open(id) })
		}
	}
	for _, head := range []int{0, size - 1} {
		ways[fmt.Sprint("OpenSound, WriteTo after ", head)] = func(t *testing.T, snap *Snapshot, id ID) ([]byte, error) {
			return readBehind(t, head, func() (*Object, error) { return snap.OpenSound(t.Context(), id) })
		}
	}
	return ways
}

// readBehind reads so many bytes of an object, then writes the rest.
func readBehind(t *testing.T, head int, open func() (*Object, error)) ([]byte, error) {
	t.Helper()
	object, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = object.Close() }()
	if held := object.Held(); held > mostHeld {
		t.Errorf("an object of %d bytes holds %d", object.Size(), held)
	}
	var out bytes.Buffer
	if _, err := io.CopyBuffer(&out, io.LimitReader(object, int64(head)), make([]byte, 7777)); err != nil {
		return nil, err
	}
	_, err = object.WriteTo(&out)
	return out.Bytes(), err
}

// depths returns the length of the chain of every delta, by its id, as git verify-pack
// says.
func depths(t *testing.T, repo *gittest.Repo) map[string]int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "git verify-pack -v objects/pack/*.idx")
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]int)
	for line := range strings.Lines(string(out)) {
		var id, kind, base string
		var size, packed, offset, depth int
		n, _ := fmt.Sscan(line, &id, &kind, &size, &packed, &offset, &depth, &base)
		if n == 7 {
			found[id] = depth
		}
	}
	return found
}

// TestOpenObjectsHoldLittleMemory opens a large file that is a delta at the end of a
// chain many times at once.
func TestOpenObjectsHoldLittleMemory(t *testing.T) { // not parallel: it looks at the heap
	gittest.Long(t)
	const size, versions, readers = 30_000_000, 3, 15
	repo := gittest.New(t)
	importChains(t, repo, []versioned{{size, versions}})
	var id ID
	for digits, depth := range depths(t, repo) {
		if depth == versions-1 {
			id, _ = ParseID(digits)
		}
	}
	snap := snapshot(t, newStore(t, nil, repo), repo)
	before := heapInUse()
	var held int64
	var open []*Object
	for range readers {
		object, err := snap.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, object)
		if _, err := io.ReadFull(object, make([]byte, 3000)); err != nil {
			t.Fatal(err)
		}
		held += object.Held()
	}
	taken := heapInUse() - before
	t.Logf("%d open objects say %d KiB; the heap has %d KiB more", readers, held>>10, taken>>10)
	if taken > held || held > readers*mostHeld {
		t.Errorf("%d open objects take %d bytes and say %d; at most %d are right", readers, taken, held, readers*mostHeld)
	}
	if spilled := snap.db.store.Usage().Spilled; spilled != readers*size {
		t.Errorf("%d bytes are in temporary files; want one base of each object, %d", spilled, readers*size)
	}
	for _, object := range open {
		if err := object.Close(); err != nil {
			t.Error(err)
		}
	}
	if spilled := snap.db.store.Usage().Spilled; spilled != 0 {
		t.Errorf("%d bytes are in temporary files after Close", spilled)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse)
}
