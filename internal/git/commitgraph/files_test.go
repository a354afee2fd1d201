package commitgraph

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"testing"
)

// reader counts calls.
type reader struct {
	*bytes.Reader
	calls int
}

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	r.calls++
	return r.Reader.ReadAt(p, off)
}

// sound returns a graph that git has written.
func sound(t testing.TB, commits int) []byte {
	t.Helper()
	repo := history(t, commits)
	repo.Git("commit-graph", "write", "--reachable", "--changed-paths")
	return layers(t, repo)[0]
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

func TestWalksTakeNoMemory(t *testing.T) {
	graph, err := Parse(sound(t, 300), nil)
	if err != nil {
		t.Fatal(err)
	}
	if taken := testing.AllocsPerRun(10, func() {
		for at := range graph.Len() {
			graph.Parents(at)(func(uint32) bool { return true })
		}
	}); taken > 0 {
		t.Errorf("going to the parents of %d commits takes memory %v times, want 0", graph.Len(), taken)
	}
}

// TestEndlessListOfParentsIsMalformed removes the mark of the last parent from all lists.
func TestEndlessListOfParentsIsMalformed(t *testing.T) {
	t.Parallel()
	endless := sound(t, 300)
	edges, end := chunkPlace(t, endless, "EDGE")
	for i := edges; i < end; i += 4 {
		endless[i] &^= 0x80
	}
	sum := sha1.Sum(endless[:len(endless)-sha1.Size])
	copy(endless[len(endless)-sha1.Size:], sum[:])
	if _, err := Parse(endless, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("a list without an end: %v, want %v", err, ErrMalformed)
	}
}
