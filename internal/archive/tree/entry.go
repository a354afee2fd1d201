package tree

import (
	"iter"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
)

// Entry is the source of an archive member.
type Entry struct {
	Path      []byte // raw bytes; a folder's ends in "/"
	Mode      git.Mode
	ID        git.ID
	Treatment *Treatment
	Module    *Module // the module of its content; nil: the archive's own repository
	// Base is the file that a client with the base of a delta has at this path, if it may be
	// patched. The zero id: none.
	Base git.ID
	// Packed says that the content goes into the pack of a checkout: see [Batch.Pack].
	Packed bool
}

// Batch is a sequence of consecutive entries of one repository.
type Batch struct {
	Source  Source // of all entries
	Module  *Module
	entries []batchEntry
	paths   []byte // of all entries, concatenated
	limit   int    // maximal number of entries
}

type batchEntry struct {
	end       int // of its path in paths
	mode      git.Mode
	id        git.ID
	treatment *Treatment
	base      git.ID
	packed    bool
}

// Reset empties the batch for up to limit entries, which are from source unless the walk changes
// that.
func (b *Batch) Reset(source Source, limit int) {
	b.Source, b.Module, b.limit = source, nil, limit
	b.entries, b.paths = b.entries[:0], b.paths[:0]
}

// Grow allocates room for n more entries.
func (b *Batch) Grow(n int) { b.entries = slices.Grow(b.entries, n) }

// Len returns the number of entries.
func (b *Batch) Len() int { return len(b.entries) }

// Full reports whether the batch has its maximal number of entries.
func (b *Batch) Full() bool { return len(b.entries) >= b.limit }

// enter sets the repository of the following entries. It returns false for a batch with entries of
// another one.
func (b *Batch) enter(s *scope) bool {
	if len(b.entries) > 0 {
		return false
	}
	b.Module, b.Source = s.module, s.source
	return true
}

// Add appends an entry of the batch's repository; its path is prefix and e's.
func (b *Batch) Add(prefix string, e Entry) {
	b.paths = append(append(b.paths, prefix...), e.Path...)
	b.entries = append(b.entries, batchEntry{len(b.paths), e.Mode, e.ID, e.Treatment, e.Base, e.Packed})
}

// Entry returns the entry at an index. Its path is valid until the next Reset.
func (b *Batch) Entry(i int) Entry {
	start := 0
	if i > 0 {
		start = b.entries[i-1].end
	}
	e := b.entries[i]
	return Entry{
		Path: b.paths[start:e.end:e.end], Mode: e.mode, ID: e.id, Treatment: e.treatment, Module: b.Module,
		Base: e.base, Packed: e.packed,
	}
}

// Pack marks the entry at an index as packed.
func (b *Batch) Pack(i int) { b.entries[i].packed = true }

// All yields the entries.
func (b *Batch) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range b.entries {
			if !yield(b.Entry(i)) {
				return
			}
		}
	}
}

// Split moves the entries from an index on to an empty batch.
func (b *Batch) Split(from int, rest *Batch) {
	rest.Source, rest.Module = b.Source, b.Module
	for i := from; i < len(b.entries); i++ {
		rest.Add("", b.Entry(i))
	}
	b.entries = b.entries[:from]
}

// Type returns the type of an unpacked entry: an entry of another type must be removed before it
// can be replaced.
func Type(mode git.Mode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode.IsGitlink():
		return "submodule"
	case mode.IsSymlink():
		return "symlink"
	default:
		return "file"
	}
}
