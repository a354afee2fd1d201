package commitgraph

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	gogit "github.com/go-git/go-git/v5/plumbing/format/commitgraph/v2"
)

// reader counts calls, and how far they go.
type reader struct {
	*bytes.Reader
	calls int
	end   int64
}

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	r.calls++
	r.end = max(r.end, off+int64(len(p)))
	return r.Reader.ReadAt(p, off)
}

func (r *reader) Close() error { return nil }

func openGoGit(t testing.TB, data []byte) (gogit.Index, *reader) {
	t.Helper()
	r := &reader{Reader: bytes.NewReader(data)}
	index, err := gogit.OpenFileIndex(r)
	if err != nil {
		t.Fatal(err)
	}
	return index, r
}

func sound(t testing.TB, commits int) []byte {
	t.Helper()
	repo := history(t, commits)
	repo.Git("commit-graph", "write", "--reachable", "--changed-paths")
	return layers(t, repo)[0]
}

// Why the reader is ours: go-git's reads each field by a call of its own and takes
// memory for it, and it follows a list of parents out of its chunk.
func TestGoGitReadsFieldsOneByOneAndListsWithoutEnd(t *testing.T) {
	data := sound(t, 300)
	index, reads := openGoGit(t, data)
	graph, err := Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := reads.calls
	theirs := testing.AllocsPerRun(10, func() {
		for at := range graph.Len() {
			if _, err := index.GetCommitDataByIndex(at); err != nil {
				t.Fatal(err)
			}
		}
	}) / float64(graph.Len())
	perCommit := (reads.calls - calls) / 11 / int(graph.Len()) // a run more warms up
	ours := testing.AllocsPerRun(10, func() { walkParents(graph) })
	t.Logf("%d calls and %.1f pieces of memory a commit, ours takes %.0f for all", perCommit, theirs, ours)
	if perCommit < 4 || theirs < 4 || ours > 0 {
		t.Error("go-git's reader is no longer what it was; look again whether ours is needed")
	}

	// A list of parents without its mark of the last.
	edges, end := chunkPlace(t, data, "EDGE")
	endless := slices.Clone(data)
	for i := edges; i < end; i += 4 {
		endless[i] &^= 0x80
	}
	sum := sha1.Sum(endless[:len(endless)-sha1.Size])
	copy(endless[len(endless)-sha1.Size:], sum[:])
	if _, err := Parse(endless, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("a list without an end: %v", err)
	}
	index, reads = openGoGit(t, endless)
	for at := range graph.Len() {
		if binary.BigEndian.Uint32(graph.record(at)[sha1.Size+4:])&manyBit == 0 {
			continue
		}
		reads.end = 0
		_, err := index.GetCommitDataByIndex(at)
		if reads.end > int64(end) {
			t.Logf("go-git follows %d bytes of parents, of %d: %v", reads.end-int64(edges), end-edges, err)
			return
		}
	}
	t.Error("go-git keeps to the chunk now; look again whether our reader is needed")
}

func chunkPlace(t testing.TB, data []byte, name string) (from, to int) {
	t.Helper()
	for i := range int(data[6]) {
		if entry := data[headerBytes+i*chunkBytes:]; string(entry[:4]) == name {
			return int(binary.BigEndian.Uint64(entry[4:])), int(binary.BigEndian.Uint64(entry[4+chunkBytes:]))
		}
	}
	t.Fatalf("there is no chunk %s", name)
	return 0, 0
}

func walkParents(g *Graph) {
	for at := range g.Len() {
		g.Parents(at)(func(uint32) bool { return true })
	}
}

// BenchmarkParents goes to the parents of all commits.
func BenchmarkParents(b *testing.B) {
	data := sound(b, 5000)
	b.Run("ours", func(b *testing.B) {
		graph, err := Parse(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			walkParents(graph)
		}
	})
	b.Run("go-git", func(b *testing.B) {
		index, _ := openGoGit(b, data)
		b.ReportAllocs()
		for b.Loop() {
			for at := range index.MaximumNumberOfHashes() {
				if _, err := index.GetCommitDataByIndex(at); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		}
	})
}
