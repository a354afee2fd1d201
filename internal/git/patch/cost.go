package patch

import (
	"github.com/repomcp/repomcp/internal/git/binarypatch"
	"github.com/repomcp/repomcp/internal/git/history"
)

const (
	// writerMemory is what the writers of a patch hold, whatever is in it.
	writerMemory = 1<<20 + binarypatch.Memory
	// stepBytes, lengthBytes and fileBytes are what a step of a plan, the length of an id and a file of
	// a comparison take, the last beside its paths.
	stepBytes   = 48
	lengthBytes = 64
	fileBytes   = 320
	// lineBytes is what the comparison of a line takes.
	lineBytes = 90
	// copies are how many copies of a content there are while it is read from a pack, or while the
	// mail of a message is made.
	copies = 3
	// pieceBytes, pieces and maxPieceBytes are what the search for renames takes: for one of the
	// different pieces of a file, of which there are so many at most, and for all files.
	pieceBytes    = 8
	pieces        = 107_927
	maxPieceBytes = 64 << 20
)

// cost is the memory for writing the patch of one step.
type cost struct {
	files          int
	listed         int64 // the list of files
	largest        int64 // the comparison of two files
	added, deleted int64 // contents that are searched for renames
	content        int64 // the largest of these
	message        int64
}

// add notes a file that differs, with the sizes of its contents.
func (c *cost) add(change history.FileChange, before, after int64) error {
	if c.files++; c.files > history.DefaultMaxFiles {
		return history.ErrTooMany
	}
	c.listed += fileBytes + int64(len(change.NewPath))
	c.largest = max(c.largest, comparisonOf(before)+comparisonOf(after))
	switch change.Status {
	case history.Added:
		c.added += min(after, pieces) * pieceBytes
	case history.Deleted:
		c.deleted += min(before, pieces) * pieceBytes
	default:
		return nil
	}
	if size := before + after; size <= history.DefaultMaxPatchBytes {
		c.content = max(c.content, size)
	}
	return nil
}

// comparisonOf returns the memory for one side of a comparison. A line may be one byte. Reading a file from a pack
// takes less.
func comparisonOf(size int64) int64 {
	if size > history.DefaultMaxPatchBytes {
		return 0 // it is not read at once
	}
	return size + lineBytes*min(size, history.MaxPatchLines)
}

func (c *cost) memory() int64 {
	memory := c.listed + c.largest + copies*c.message
	if c.added > 0 && c.deleted > 0 {
		memory += copies*c.content + min(c.added+c.deleted, maxPieceBytes)
	}
	return memory
}
