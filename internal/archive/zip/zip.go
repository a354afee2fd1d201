// Package zip writes zip archives like git archive's, with members made by many
// processors at once.
//
// A process has one gzip.Compressor on its scheduler, an archive one [Format]
// and one [Directory]:
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
//	// There too, for a file that is too large to have in memory:
//	s, err := f.Stream(ctx, w, member, size)
//	defer s.Abort()                       // nothing after a successful Finish
//	_, err = io.Copy(s, blob)
//	records, err = s.Finish(nil)
//	directory.Add(records)
//
//	// At the end, or never: an archive without it is not one.
//	err = directory.Write(w, commitID)
//
// The members follow one another without a gap from the archive's first byte,
// so that nobody needs to know where a member will be when it is made: the
// directory adds their lengths up.
//
// Every field is what git archive writes with TZ=UTC: members follow each other
// in the order of git's tree walk, which the caller has, folders are members, and
// the archive's comment is the commit's id. The compressed bytes differ, as
// another deflate made them. Further differences:
//   - A file given to Stream has flag 3 and a data descriptor; git does that
//     from core.bigFileThreshold. From 2 GiB on the descriptor has 64-bit sizes,
//     as the header's extra field announces (APPNOTE 4.3.9.2), where git waits
//     until 4 GiB.
//   - A size or offset that equals the largest of its field is put into the
//     zip64 fields, since it would read as the sign for those (APPNOTE 4.4.1.4);
//     git does that from one more on. So does this package with the number of
//     members, which readers take as it is where there are no zip64 fields.
//
// The writer of archive/zip cannot write these fields. It knows no internal
// attributes, where git says that a file is text. The local header of a streamed
// member has no size, where git writes it, and the form of its descriptor goes by
// the compressed size, which that header cannot announce. The zip64 records at the
// end come from 65,535 members on, one earlier than git's, and then take the place
// of all numbers, not only of those that do not fit.
//
// Promises:
//   - An archive is a function of the calls' arguments and [EncoderVersion],
//     whatever workers make the members.
//   - Nothing is kept of a member but its record: about 20 bytes and the part of
//     the path that differs from the one before.
//
// Limits: paths are of at most [MaxPath] bytes, and a content that is appended
// whole is below 2 GiB.
package zip

import (
	"bytes"
	"errors"

	"github.com/repomcp/repomcp/internal/archive/compress/gzip"
)

// EncoderVersion names the bytes around the deflate streams, as
// gzip.EncoderVersion names those. Both are part of ETags: whoever changes the
// bytes must change them.
const EncoderVersion = "zip2"

// MaxPath is the length of the longest path that a zip archive can hold
// (APPNOTE 4.4.10). git fails beyond it too.
const MaxPath = 1<<16 - 1

// Errors that say what a member must not be.
var (
	ErrPath = errors.New("zip: path too long")
	ErrMode = errors.New("zip: no such file mode")
	// ErrSize is that of a stream whose length is not the one it began with, or
	// of content that must be streamed.
	ErrSize = errors.New("zip: wrong size of content")
	// ErrClosed is returned by a Stream after Finish or Abort.
	ErrClosed = errors.New("zip: stream closed")
)

// Format writes the parts of one archive. Its methods are safe for concurrent
// use.
type Format struct {
	compressor *gzip.Compressor
	date, time uint16 // MS-DOS
	mtime      uint32 // Unix
}

// New returns the format of an archive whose members have the given time, in
// seconds since 1970.
func New(c *gzip.Compressor, mtime int64) *Format {
	mtime = max(mtime, 0) // what git reads when a commit's time is negative
	f := &Format{compressor: c, mtime: uint32(mtime)}
	f.date, f.time = dosTime(mtime)
	return f
}

// Content says whether a file is text, for unzip -a. It comes from the file's
// diff attribute: Text when that is set, Binary when it is unset, Guess when it
// is unspecified or names a driver that does not say.
type Content byte

// The kinds of content.
const (
	Guess Content = iota // binary where the beginning has a NUL
	Text
	Binary
)

// Member is one entry of an archive without its content.
type Member struct {
	// Path is raw bytes. A folder's and a gitlink's end in "/".
	Path []byte
	// Mode is the tree's: 0100644, 0100755, 0120000, 040000 or 0160000.
	Mode uint32
	// Content is looked at for files and symbolic links.
	Content Content
}

// guessed is how much of a file git looks at to say whether it is binary.
const guessed = 8000

// text says whether content, or its beginning, is that of a text.
func (c Content) text(content []byte) bool {
	if c == Guess {
		return bytes.IndexByte(content[:min(len(content), guessed)], 0) < 0
	}
	return c == Text
}
