package tree

import (
	"cmp"
	"errors"
	"fmt"
)

// Default limits of one archive.
const (
	// DefaultEntries is four times that of the largest public trees, such as Chromium's; a
	// maliciously repeating tree reaches it in seconds.
	DefaultEntries = 2_000_000
	// DefaultBytes of tar is twice that of the largest public trees, and takes a minute and a half
	// at a gigabit.
	DefaultBytes = 10 << 30
	// DefaultDepth of folders exceeds what any system lets a program nest.
	DefaultDepth = 1024
	// DefaultPathBytes is eight times the longest path that Linux can open.
	DefaultPathBytes = 32 << 10
	// DefaultBlobBytes of one file is the largest that GitHub accepts, by Git LFS.
	DefaultBlobBytes = 5 << 30
)

// ErrLimit means that an archive exceeds [Limits].
var ErrLimit = errors.New("archive is larger than this server allows")

// MaxLinkBytes bounds a symbolic link's target: twice Linux's PATH_MAX.
const MaxLinkBytes = 8 << 10

// ErrLink refuses a symbolic link that no system could follow.
var ErrLink = fmt.Errorf("%w: a symbolic link of more than %d bytes", ErrLimit, MaxLinkBytes)

// Limits bound one archive. Zero fields mean defaults.
type Limits struct {
	// Entries is the maximal number of files and folders.
	Entries int64
	// Bytes is the maximal length of the tar, or of the content in other formats.
	Bytes int64
	// Depth is the maximal nesting of folders.
	Depth int
	// PathBytes is the maximal length of a path.
	PathBytes int
	// BlobBytes is the maximal size of a file.
	BlobBytes int64
}

// WithDefaults replaces zeros by defaults.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Entries:   cmp.Or(l.Entries, DefaultEntries),
		Bytes:     cmp.Or(l.Bytes, DefaultBytes),
		Depth:     cmp.Or(l.Depth, DefaultDepth),
		PathBytes: cmp.Or(l.PathBytes, DefaultPathBytes),
		BlobBytes: cmp.Or(l.BlobBytes, DefaultBlobBytes),
	}
}

// sizes reports whether the limits on file sizes are below the defaults, so that sizes should be
// checked in advance: that takes the time of a small archive.
func (l Limits) sizes() bool { return l.Bytes < DefaultBytes || l.BlobBytes < DefaultBlobBytes }

// EntriesExceeded returns the [ErrLimit] for too many entries.
func (l Limits) EntriesExceeded() error {
	return fmt.Errorf("%w: more than %d entries", ErrLimit, l.Entries)
}

// BytesExceeded returns the [ErrLimit] for too many bytes.
func (l Limits) BytesExceeded() error { return fmt.Errorf("%w: more than %d bytes", ErrLimit, l.Bytes) }

// BlobExceeded returns the [ErrLimit] for a too large file.
func (l Limits) BlobExceeded() error {
	return fmt.Errorf("%w: a file of more than %d bytes", ErrLimit, l.BlobBytes)
}

// DepthExceeded returns the [ErrLimit] for too deeply nested folders.
func (l Limits) DepthExceeded() error {
	return fmt.Errorf("%w: folders are nested more than %d deep", ErrLimit, l.Depth)
}

// PathExceeded returns the [ErrLimit] for a too long path.
func (l Limits) PathExceeded() error {
	return fmt.Errorf("%w: a path has more than %d bytes", ErrLimit, l.PathBytes)
}
