package gittest

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
)

// SwapOffsets makes the index of the only pack say that each of two objects is
// where the other is, and mends its checksum: what a faulty disk or an attacker
// could leave, and what no checksum of the pack shows. The index is of version 2,
// whose tables follow one another (gitformat-pack).
func (r *Repo) SwapOffsets(a, b string) {
	r.t.Helper()
	names, err := filepath.Glob(r.Dir + "/objects/pack/*.idx")
	if err != nil || len(names) != 1 {
		r.t.Fatalf("%d indexes, %v", len(names), err)
	}
	idx, err := os.ReadFile(names[0])
	if err != nil {
		r.t.Fatal(err)
	}
	const header, fanout, ids, crc, offset = 8, 1024, 8 + 1024, 4, 4
	count := int(idx[header+fanout-1]) | int(idx[header+fanout-2])<<8
	entry := func(id string) []byte {
		raw, err := hex.DecodeString(id)
		at := bytes.Index(idx[ids:ids+count*sha1.Size], raw)
		if err != nil || at < 0 {
			r.t.Fatal(id, " is not in the pack: ", err)
		}
		return idx[ids+count*(sha1.Size+crc)+offset*(at/sha1.Size):][:offset]
	}
	first, second := entry(a), entry(b)
	for i := range first {
		first[i], second[i] = second[i], first[i]
	}
	sum := sha1.Sum(idx[:len(idx)-sha1.Size])
	copy(idx[len(idx)-sha1.Size:], sum[:])
	if err := os.Chmod(names[0], 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(names[0], idx, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// CopyPack puts the only pack of another repository beside those of this one.
func (r *Repo) CopyPack(other *Repo) {
	r.t.Helper()
	for _, pattern := range []string{"*.pack", "*.idx"} { // an index is last, or its pack would be missing
		names, err := filepath.Glob(filepath.Join(other.Dir, "objects/pack", pattern))
		if err != nil || len(names) != 1 {
			r.t.Fatalf("%s: %d, %v", pattern, len(names), err)
		}
		content, err := os.ReadFile(names[0])
		if err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.Dir, "objects/pack", filepath.Base(names[0])), content,
			0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}
