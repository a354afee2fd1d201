package gittest

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
)

// GraphField is a part of a commit's record in a commit-graph
// (gitformat-commit-graph(5), Commit Data).
type GraphField string

// The parts of a record. A parent is a position of four bytes, and the last part is
// the level with the date.
const (
	GraphTree        GraphField = "tree"
	GraphFirstParent GraphField = "first parent"
	GraphDate        GraphField = "date"
)

const graphRecord = sha1.Size + 16

// in is where a record has the part.
func (f GraphField) in(record []byte) []byte {
	switch f {
	case GraphTree:
		return record[:sha1.Size]
	case GraphFirstParent:
		return record[sha1.Size:][:4]
	default:
		return record[sha1.Size+8:]
	}
}

// ChangeCommitGraph writes other bytes, in hexadecimal digits, into the record of a
// commit in the single file, and mends the checksum.
func (r *Repo) ChangeCommitGraph(commit string, f GraphField, digits string) {
	r.t.Helper()
	r.editCommitGraph(func(g graphBytes) {
		copy(f.in(g.record(g.find(r.bytes(commit)))), r.bytes(digits))
	})
}

// CommitGraphField returns the part of a commit's record.
func (r *Repo) CommitGraphField(commit string, f GraphField) (digits string) {
	r.t.Helper()
	r.editCommitGraph(func(g graphBytes) { digits = hex.EncodeToString(f.in(g.record(g.find(r.bytes(commit))))) })
	return digits
}

// CommitGraphPosition is where the graph has a commit.
func (r *Repo) CommitGraphPosition(commit string) (at uint32) {
	r.t.Helper()
	r.editCommitGraph(func(g graphBytes) { at = uint32(g.find(r.bytes(commit))) })
	return at
}

// SwapInCommitGraph makes each of two commits have the tree, parents and date of the
// other.
func (r *Repo) SwapInCommitGraph(a, b string) {
	r.t.Helper()
	r.editCommitGraph(func(g graphBytes) {
		swap(g.record(g.find(r.bytes(a))), g.record(g.find(r.bytes(b))))
	})
}

func (r *Repo) bytes(digits string) []byte {
	r.t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *Repo) editCommitGraph(edit func(g graphBytes)) {
	r.t.Helper()
	r.editSummed("objects/info/commit-graph", func(content []byte) { edit(content) })
}

type graphBytes []byte

func (g graphBytes) chunk(name string) []byte {
	const header, entry = 8, 12
	for table := g[header:]; ; table = table[entry:] {
		if string(table[:4]) == name {
			return g[binary.BigEndian.Uint64(table[4:]):binary.BigEndian.Uint64(table[entry+4:])]
		}
	}
}

func (g graphBytes) find(id []byte) int {
	ids := g.chunk("OIDL")
	for at := 0; ; at++ {
		if bytes.Equal(ids[at*sha1.Size:][:sha1.Size], id) {
			return at
		}
	}
}

func (g graphBytes) record(at int) []byte { return g.chunk("CDAT")[at*graphRecord:][:graphRecord] }
