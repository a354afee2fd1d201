package tree

import (
	"cmp"
	"errors"
	"fmt"
)

// The bounds of one archive, where [Limits] do not say otherwise.
const (
	// DefaultEntries is four times what the largest public trees have, such as
	// Chromium's, and a tree that was built to grow without end ends there in seconds.
	DefaultEntries = 2_000_000
	// DefaultBytes of tar: twice the largest public trees, and what a gigabit brings in a
	// minute and a half.
	DefaultBytes = 10 << 30
	// DefaultDepth of folders: more than any system lets a program nest.
	DefaultDepth = 1024
	// DefaultPathBytes is eight times what Linux can open.
	DefaultPathBytes = 32 << 10
	// DefaultBlobBytes of one file: the largest that GitHub takes, by git-lfs.
	DefaultBlobBytes = 5 << 30
)

// ErrLimit says that an archive is larger than [Limits] allow.
var ErrLimit = errors.New("archive is larger than this server allows")

// MaxLinkBytes bounds a symbolic link's target: PATH_MAX of Linux, twice over.
const MaxLinkBytes = 8 << 10

// ErrLink refuses a symbolic link that no system could follow.
var ErrLink = fmt.Errorf("%w: a symbolic link of more than %d bytes", ErrLimit, MaxLinkBytes)

// Limits bound one archive. Zero means the default of each.
type Limits struct {
	// Entries is the greatest number of files and folders.
	Entries int64
	// Bytes is the greatest length of the tar, or of the content in other
	// formats.
	Bytes int64
	// Depth is the greatest nesting of folders.
	Depth int
	// PathBytes is the longest path.
	PathBytes int
	// BlobBytes is the largest file.
	BlobBytes int64
}

// WithDefaults returns limits without zeros.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Entries:   cmp.Or(l.Entries, DefaultEntries),
		Bytes:     cmp.Or(l.Bytes, DefaultBytes),
		Depth:     cmp.Or(l.Depth, DefaultDepth),
		PathBytes: cmp.Or(l.PathBytes, DefaultPathBytes),
		BlobBytes: cmp.Or(l.BlobBytes, DefaultBlobBytes),
	}
}

// sizes reports whether the sizes of files are bounded more narrowly than by default, so
// that they should be looked at beforehand: that takes the time of a small archive.
func (l Limits) sizes() bool { return l.Bytes < DefaultBytes || l.BlobBytes < DefaultBlobBytes }

// EntriesExceeded is the [ErrLimit] of an archive of too many entries.
func (l Limits) EntriesExceeded() error {
	return fmt.Errorf("%w: more than %d entries", ErrLimit, l.Entries)
}

// BytesExceeded is that of too many bytes.
func (l Limits) BytesExceeded() error { return fmt.Errorf("%w: more than %d bytes", ErrLimit, l.Bytes) }

// BlobExceeded is that of a file that is too large.
func (l Limits) BlobExceeded() error {
	return fmt.Errorf("%w: a file of more than %d bytes", ErrLimit, l.BlobBytes)
}

// DepthExceeded is that of folders that are nested too deep.
func (l Limits) DepthExceeded() error {
	return fmt.Errorf("%w: folders are nested more than %d deep", ErrLimit, l.Depth)
}

// PathExceeded is that of a path that is too long.
func (l Limits) PathExceeded() error {
	return fmt.Errorf("%w: a path has more than %d bytes", ErrLimit, l.PathBytes)
}
