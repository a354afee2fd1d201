// Package convert does to the content of a file what git does when it archives
// it, or checks it out: `$Id$`, line endings, and the encoding that .gitattributes
// ask for: gitattributes(5).
//
// A process decides once for each regular file, from its attributes, and then
// converts in memory or as a stream:
//
//	c, ok := convert.Decide(attributes)
//	if !ok { … }                              // as the blob is: nearly always
//	content, err = c.Append(nil, content, id) // a small file
//
//	m, err := c.Measure(ctx, source, id)      // a large one: reads it once or more
//	header(m.Size())
//	err = m.CopyTo(w)
//
// Symbolic links are never converted, see also [Conversion.Converts].
//
// Promises:
//   - The result is a function of the attributes, the content and the id. What
//     git would take from its configuration (core.eol, core.autocrlf) is taken
//     as not set, on a system whose lines end in LF; and no filter is run,
//     whatever the attribute `filter` says.
//   - Append and Measure give the same bytes, in whatever pieces the source
//     hands out the content.
//   - A content that cannot be encoded stays as it was before that step, whole,
//     as in git, which only complains on standard error.
//
// Encodings are those of internal/charset. For one that is not known there the
// content stays as it is, as in git for an encoding that iconv does not know, and
// the decision says so: [Conversion.UnknownEncoding].
//
// Limits: a stream holds up to four pieces of 64 KiB: what was read, an `$Id:`
// that has no end yet, what was encoded, and what is to be written; and one byte
// for each `$Id:` that is longer. It reads the content up to five times, each
// time in linear time.
package convert
