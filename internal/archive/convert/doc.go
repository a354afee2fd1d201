// Package convert converts the content of a file as git does when it archives the file, or checks
// it out: `$Id$`, line endings, and the encoding of .gitattributes: gitattributes(5).
//
// A caller decides once for each regular file, from its attributes, and then converts in memory or
// as a stream:
//
//	c, ok := convert.Decide(attributes)
//	if !ok { … }                              // as the blob is: nearly always
//	content, err = c.Append(nil, content, id) // a small file
//
//	m, err := c.Measure(ctx, source, id)      // a large one: reads it once or more
//	header(m.Size())
//	err = m.CopyTo(w)
//
// Symbolic links are never converted; see also [Conversion.Converts].
//
// Promises:
//   - The result is a function of the attributes, the content and the id. Settings of git
//     (core.eol, core.autocrlf) count as unset, on a system whose lines end in LF; and no filter is
//     run, whatever the attribute `filter` says.
//   - Append and Measure give the same bytes, in whatever pieces the source delivers the content.
//   - A content that cannot be encoded skips that step as a whole, as in git, which only warns on
//     standard error.
//
// Encodings are those of internal/git/charset. For an unknown one the content stays unchanged, as
// in git for an encoding that iconv does not support, and the decision reports that:
// [Conversion.UnknownEncoding].
//
// Limits: a stream holds up to four pieces of 64 KiB: the input, an `$Id:` without an end so far,
// the encoded bytes, and the output; and one byte for each `$Id:` that is longer. It reads the
// content up to five times, each time in linear time.
package convert
