package convert

import (
	"errors"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/attributes"
)

// BigFileThreshold is the size in bytes above which git does not convert the
// content of a file but copies it (core.bigFileThreshold, by default 512 MiB;
// write_archive_entry in git's archive.c). Only a file with export-subst is
// converted at any size. The caller looks at it before it calls Decide.
const BigFileThreshold = 512 << 20

// ErrEncodingValue is returned for a file whose attribute
// working-tree-encoding is set but names no encoding. git does not archive a
// commit with such a file, even if it is empty.
var ErrEncodingValue = errors.New("convert: working-tree-encoding is set to no encoding")

// lineEndings is what happens to a LF that has no CR before it.
type lineEndings byte

const (
	keepLF     lineEndings = iota
	toCRLF                 // each becomes CRLF
	toCRLFAuto             // if the content is text and has no CR
)

// Conversion is what has to be done to a content. The zero value does nothing.
type Conversion struct {
	ident   bool
	eol     lineEndings
	charset *charset // nil: stays UTF-8
	refused bool     // ErrEncodingValue
}

// Decide returns what has to be done to the content of a regular file with
// these attributes. ok is false if that is nothing.
func Decide(a attributes.Attributes) (c Conversion, ok bool) {
	c.ident = a.Ident.IsSet()
	c.eol = decideLineEndings(a)
	c.charset, c.refused = decideCharset(a.WorkingTreeEncoding)
	return c, c != Conversion{}
}

// decideLineEndings follows convert_attrs. Only eol=crlf ever adds a CR, for
// "text" alone means the line endings of the system.
func decideLineEndings(a attributes.Attributes) lineEndings {
	if !isGiven(a.EOL, "crlf") {
		return keepLF
	}
	v := a.Text
	if !saysText(v) {
		v = a.CRLF // what `text` was called before git 1.7.2
	}
	switch {
	case v.State == attributes.Unset:
		return keepLF
	case isGiven(v, "auto"):
		return toCRLFAuto
	}
	return toCRLF // eol alone means text, and goes before text=input
}

// saysText reports whether git knows the value. It takes any other as
// unspecified.
func saysText(v attributes.Value) bool {
	return v.State == attributes.Set || v.State == attributes.Unset || isGiven(v, "auto") || isGiven(v, "input")
}

func isGiven(v attributes.Value, text string) bool {
	return v.State == attributes.Given && v.Text == text
}

// decideCharset follows git_path_check_encoding. An unset attribute is in git
// an empty string, and that means no encoding before git can complain of it.
func decideCharset(v attributes.Value) (cs *charset, refused bool) {
	switch v.State {
	case attributes.Set:
		return nil, true
	case attributes.Given:
		return findCharset(v.Text), false
	}
	return nil, false
}

// Append appends the converted content to dst, which must not share memory
// with it. id is the id of the blob in hex. The only error is
// [ErrEncodingValue].
func (c Conversion) Append(dst, content []byte, id string) ([]byte, error) {
	if c.refused {
		return dst, ErrEncodingValue
	}
	// The content is in memory anyway: an `$Id:` may be held whole.
	p := passes{c: c, id: id, hold: len(content) + 1}
	whole := func(s stage) error {
		if err := s.write(content); err != nil {
			return err
		}
		return s.end()
	}
	if err := p.decideLineEndings(whole); err != nil {
		return dst, err
	}
	before := len(dst)
	out := &appended{dst}
	err := whole(p.chain(out))
	if errors.Is(err, errNotEncodable) {
		p.c.charset, out.b = nil, out.b[:before]
		err = whole(p.chain(out))
	}
	return out.b, err
}

// appended is the end of a chain in memory.
type appended struct{ b []byte }

func (a *appended) write(p []byte) error {
	a.b = append(a.b, p...)
	return nil
}

func (a *appended) end() error { return nil }

// sameUTF reports whether git takes two names of a UTF encoding as the same:
// the case and the hyphen after "UTF" do not count (same_utf_encoding in
// utf8.c).
func sameUTF(a, b string) bool {
	a, ok := cutUTF(a)
	b, alsoOK := cutUTF(b)
	return ok && alsoOK && strings.EqualFold(a, b)
}

func cutUTF(name string) (rest string, ok bool) {
	if len(name) < 3 || !strings.EqualFold(name[:3], "utf") {
		return name, false
	}
	return strings.TrimPrefix(name[3:], "-"), true
}
