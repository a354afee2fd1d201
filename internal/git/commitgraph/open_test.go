package commitgraph

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// opened opens a file without a look at all of it.
func opened(t *testing.T, data []byte) (*Graph, *reader) {
	t.Helper()
	file := &reader{Reader: bytes.NewReader(data)}
	graph, err := Open(file, int64(len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return graph, file
}

// said is all that a graph says of a commit.
type said struct {
	id, tree         ID
	date, generation uint64
	parents          []uint32
	may              bool
}

func everything(g *Graph) (all []said) {
	path := NewPath("dir/sub/three")
	for at := range g.Len() {
		all = append(all, said{
			g.ID(at), g.Tree(at), g.Date(at), g.Generation(at), slices.Collect(g.Parents(at)), g.MayChange(at, path),
		})
	}
	return all
}

// What is read little by little says what is read at once, and the file is let go
// when it has been checked.
func TestFilesAreReadWhenTheyAreUsed(t *testing.T) {
	gittest.Long(t)
	data := sound(t, 3000)
	whole, err := Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	graph, file := opened(t, data)
	if at, ok := graph.Find(whole.ID(1234)); !ok || at != 1234 {
		t.Error("a commit is not found")
	}
	if blocks := len(data) >> blockBits; file.calls > blocks/3 {
		t.Errorf("%d of %d blocks are read for one commit", file.calls, blocks)
	}
	want := everything(whole)
	for range 2 {
		if got := everything(graph); !slices.EqualFunc(got, want, func(x, y said) bool {
			return x.id == y.id && x.tree == y.tree && x.date == y.date && x.generation == y.generation &&
				slices.Equal(x.parents, y.parents) && x.may == y.may
		}) {
			t.Fatal("the graph says something else")
		}
		if err := graph.Check(t.Context()); err != nil || graph.Fault() != nil {
			t.Fatal(err)
		}
		file.Reader = nil // a call would panic
	}
}

// Whatever is wrong in a file that is in use, calls end; and there is a fault before
// the check has passed.
func TestDamageIsAFaultOfTheGraph(t *testing.T) {
	data := sound(t, 300)
	random := rand.New(rand.NewPCG(7, 8))
	refused, used := 0, 0
	for range 400 {
		damaged := slices.Clone(data)
		for range 1 + random.IntN(3) {
			damaged[random.IntN(len(data))] ^= 1 << random.IntN(8)
		}
		graph, err := Open(bytes.NewReader(damaged), int64(len(damaged)), nil)
		if errors.Is(err, ErrMalformed) {
			refused++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		everything(graph)
		if err := graph.Check(t.Context()); !bytes.Equal(damaged, data) && (err == nil || graph.Fault() == nil) {
			t.Error("damage is not noticed")
		}
		used++
	}
	if refused < 5 || used < 200 {
		t.Errorf("%d files were refused, %d used", refused, used)
	}
}

// Parents that are no ancestors are not returned, although the checksum is right.
func TestLevelsEndWalks(t *testing.T) {
	data := sound(t, 300)
	commits, end := chunkPlace(t, data, "CDAT")
	for i := commits; i < end; i += commitBytes {
		copy(data[i+20:], []byte{0, 0, 0, 7}) // the first parent of all
	}
	graph, _ := opened(t, data)
	for range graph.Parents(7) {
		t.Error("a commit is its own parent")
	}
	if !errors.Is(graph.Fault(), ErrMalformed) {
		t.Error(graph.Fault())
	}
}

// failing is a file that ends early.
type failing struct{ io.ReaderAt }

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off >= 1<<blockBits {
		return 0, io.EOF
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestWhatCannotBeReadIsAFault(t *testing.T) {
	gittest.Long(t)
	data := sound(t, 3000)
	// The trailer is read first of all, so that a file cut short is refused.
	if _, err := Open(failing{bytes.NewReader(data)}, int64(len(data)), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that ends early is opened: %v", err)
	}
	graph, file := opened(t, data)
	file.Reader = bytes.NewReader(data[:1<<blockBits])
	everything(graph)
	if graph.Fault() == nil {
		t.Error("nothing is wrong with a file that became shorter")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := graph.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
