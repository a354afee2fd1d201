// Package zip writes zip archives like git archive's, with members made by many processors at once.
//
// A process has one gzip.Compressor on its scheduler, an archive one [Format] and one [Directory]:
//
//	f := zip.New(compressor, commitTime)
//	directory := f.NewDirectory()
//
//	// In tasks of the scheduler, each with buffers of its own:
//	out, records, err = f.Append(worker, out, records, member, content)
//
//	// In the goroutine that writes the archive, in its order:
//	_, err = w.Write(out)
//	directory.Add(records)
//
//	// There too, for a file that is too large for memory:
//	s, err := f.Stream(ctx, w, member, size)
//	defer s.Abort()                       // nothing after a successful Finish
//	_, err = io.Copy(s, blob)
//	records, err = s.Finish(nil)
//	directory.Add(records)
//
//	// At the end, or never: without it, the archive is incomplete.
//	err = directory.Write(w, commitID)
//
// The members are contiguous from the archive's first byte, so that a member's position need not be
// known when it is made: the directory adds up their lengths.
//
// Every field is what git archive writes with TZ=UTC: members are in the order of git's tree walk,
// which the caller provides, folders are members, and the archive's comment is the commit's id. The
// compressed bytes differ, because they come from another deflate. Further differences:
//   - A file given to Stream has flag 3 and a data descriptor; git does that from
//     core.bigFileThreshold. From 2 GiB on the descriptor has 64-bit sizes, as the header's extra
//     field announces (APPNOTE 4.3.9.2); git's limit is 4 GiB.
//   - A size or offset that equals the largest of its field is put into the zip64 fields, because
//     it would be read as the mark for those (APPNOTE 4.4.1.4); git does that from one more on. So
//     does this package with the number of members, which readers accept if there are no zip64
//     fields.
//
// The writer of archive/zip cannot write these fields. It has no internal attributes, in which git
// marks text files. Its local header of a streamed member has no size, unlike git's, and the form
// of its descriptor depends on the compressed size, which that header cannot announce. Its zip64
// records at the end start with 65,535 members, one earlier than git's, and then replace all
// numbers, not only those that do not fit.
//
// Promises:
//   - An archive is a function of the calls' arguments and [EncoderVersion], whatever workers make
//     the members.
//   - The only data kept of a member is its record: about 20 bytes and the part of the path that
//     differs from the previous one.
//
// Limits: paths have at most [MaxPath] bytes, and a content that is appended whole is below 2 GiB.
//
// # Decisions
//
// The format is written here because the writer of archive/zip in the standard library has no
// internal attributes (git's text flag), no sizes in local headers of streamed members, and other
// zip64 records than git (TestLikeGit, TestSameBytesAsGit_WhenStored).
//
// The size of a file alone decides whether it is streamed. If free buffers decided, the bytes would
// differ between runs.
package zip

import (
	"bytes"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
)

// EncoderVersion identifies the bytes around the deflate streams, as gzip.EncoderVersion identifies
// those. Both are part of ETags: a change of the bytes requires a new version.
const EncoderVersion = "zip2"

// MaxPath is the length of the longest path in a zip archive (APPNOTE 4.4.10). git fails beyond it
// too.
const MaxPath = 1<<16 - 1

// Errors about members.
var (
	ErrPath = errors.New("zip: path too long")
	ErrMode = errors.New("zip: no such file mode")
	// ErrSize means that a stream's length differs from its announced size, or that content is too
	// large to be appended whole.
	ErrSize = errors.New("zip: wrong size of content")
	// ErrClosed is returned by a Stream after Finish or Abort.
	ErrClosed = errors.New("zip: stream closed")
)

// Format writes the parts of one archive. It is safe for concurrent use.
type Format struct {
	compressor *gzip.Compressor
	date, time uint16 // MS-DOS
	mtime      uint32 // Unix
}

// New returns the format of an archive whose members have the given time, in seconds since 1970.
func New(c *gzip.Compressor, mtime int64) *Format {
	mtime = max(mtime, 0) // as git reads negative commit times
	f := &Format{compressor: c, mtime: uint32(mtime)}
	f.date, f.time = dosTime(mtime)
	return f
}

// Content tells whether a file is text, for unzip -a. It derives from the file's diff attribute:
// Text if that is set, Binary if unset, Guess if it is unspecified or names a driver.
type Content byte

// The kinds of content.
const (
	Guess Content = iota // binary if the beginning has a NUL
	Text
	Binary
)

// Member is one entry of an archive without its content.
type Member struct {
	// Path is raw bytes. A folder's and a gitlink's end in "/".
	Path []byte
	// Mode is that of the tree: 0100644, 0100755, 0120000, 040000 or 0160000.
	Mode uint32
	// Content applies to files and symbolic links.
	Content Content
}

// guessed is the number of bytes that decide in git whether a file is binary.
const guessed = 8000

// text reports whether content, given completely or in part, is text.
func (c Content) text(content []byte) bool {
	if c == Guess {
		return bytes.IndexByte(content[:min(len(content), guessed)], 0) < 0
	}
	return c == Text
}
