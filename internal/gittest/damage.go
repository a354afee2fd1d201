package gittest

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"os"
	"path/filepath"
)

// SwapOffsets makes the index of the only pack say that each of two objects is
// where the other is, and mends its checksum: what a faulty disk or an attacker
// could leave, and what no checksum of the pack shows. The index is of version 2,
// whose tables follow one another (gitformat-pack).
func (r *Repo) SwapOffsets(a, b string) {
	r.t.Helper()
	const header, fanout, ids, crc, offset = 8, 1024, 8 + 1024, 4, 4
	r.editSummed(r.onlyPack(".idx"), func(idx []byte) {
		count := int(idx[header+fanout-1]) | int(idx[header+fanout-2])<<8
		entry := func(id string) []byte {
			at := bytes.Index(idx[ids:ids+count*sha1.Size], r.bytes(id))
			if at < 0 {
				r.t.Fatal(id, " is not in the pack")
			}
			return idx[ids+count*(sha1.Size+crc)+offset*(at/sha1.Size):][:offset]
		}
		swap(entry(a), entry(b))
	})
}

func swap(a, b []byte) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// editSummed changes a file that ends with its checksum, and mends that.
func (r *Repo) editSummed(name string, edit func(content []byte)) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	edit(content)
	sum := sha1.Sum(content[:len(content)-sha1.Size])
	copy(content[len(content)-sha1.Size:], sum[:])
	r.WriteFile(name, content)
}

// Change rewrites the files of the repository that match a pattern, and deletes those for which edit returns nil.
func (r *Repo) Change(pattern string, edit func(content []byte) []byte) {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.Dir, pattern))
	if err != nil || len(names) == 0 {
		r.t.Fatalf("%s: %q, %v", pattern, names, err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err := errors.Join(err, os.Remove(name)); err != nil {
			r.t.Fatal(err)
		}
		if content = edit(content); content != nil {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// onlyPack is the name of the only file of a kind among the packs.
func (r *Repo) onlyPack(kind string) string {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.Dir, "objects/pack/*"+kind))
	if err != nil || len(names) != 1 {
		r.t.Fatalf("%d of %s, %v", len(names), kind, err)
	}
	return "objects/pack/" + filepath.Base(names[0])
}

// CopyPack puts the only pack of another repository beside those of this one.
func (r *Repo) CopyPack(other *Repo) {
	r.t.Helper()
	for _, kind := range []string{".pack", ".idx"} { // an index is last, or its pack would be missing
		name := other.onlyPack(kind)
		content, err := os.ReadFile(filepath.Join(other.Dir, name))
		if err != nil {
			r.t.Fatal(err)
		}
		r.WriteFile(name, content)
	}
}

// DamageEnd changes the last bytes of a loose object of some hundreds of bytes: its size can be read as before,
// and its content is not that of its id.
func (r *Repo) DamageEnd(revision string) {
	r.t.Helper()
	id := r.Git("rev-parse", revision)
	name := "objects/" + id[:2] + "/" + id[2:]
	content, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range 200 {
		content[len(content)-1-i] ^= 0xff
	}
	if err := os.Chmod(filepath.Join(r.Dir, name), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.WriteFile(name, content)
}
