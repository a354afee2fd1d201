package convert

import (
	"bytes"
	"errors"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/charset"
)

// bigFileThreshold is the size in bytes above which git archive does not convert the
// content of a file but copies it: core.bigFileThreshold of git-config(1), by
// default 512 MiB. git checkout converts at any size.
const bigFileThreshold = 512 << 20

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
	charset charset.Charset // the zero value: stays UTF-8
	refused bool            // ErrEncodingValue
	// UnknownEncoding is the value of working-tree-encoding where that is no encoding
	// that is known here, so that the content stays UTF-8; or "".
	UnknownEncoding string
	// checkout says that it is done as by git checkout, and streamed that keywords
	// are found as in its streams.
	checkout, streamed bool
}

// Decide returns what git archive does to the content of a regular file with these
// attributes. ok is false if that is nothing.
func Decide(a attributes.Attributes) (c Conversion, ok bool) {
	c.ident = a[attributes.Ident].IsSet()
	c.eol = decideLineEndings(a)
	c.decideCharset(a[attributes.WorkingTreeEncoding])
	unknown := Conversion{UnknownEncoding: c.UnknownEncoding}
	return c, c != unknown
}

// DecideCheckout returns what git checkout does, with core.autocrlf=false and
// core.eol=lf.
func DecideCheckout(a attributes.Attributes) (c Conversion, ok bool) {
	if c, ok = Decide(a); ok {
		c.checkout = true
		c.streamed = c.ident && !isAuto(a) && !namesEncoding(a[attributes.WorkingTreeEncoding])
	}
	return c, ok
}

// Converts reports whether a file of a size is converted at all, unless it has
// export-subst.
func (c Conversion) Converts(size int64) bool { return c.checkout || size <= bigFileThreshold }

// isAuto reports whether git looks at the whole content to decide on line endings.
func isAuto(a attributes.Attributes) bool { return textOf(a).Is("auto") && !a[attributes.EOL].Is("lf") }

// namesEncoding reports whether git has the whole content encoded, by a name that may
// be unknown.
func namesEncoding(v attributes.Value) bool {
	return v.State == attributes.Valued && v.Text != "" && !strings.EqualFold(v.Text, "UTF-8") &&
		!strings.EqualFold(v.Text, "UTF8")
}

// decideLineEndings reads the attributes text, eol and crlf of gitattributes(5).
// Only eol=crlf ever adds a CR, for "text" alone means the line endings of the
// system.
func decideLineEndings(a attributes.Attributes) lineEndings {
	if !a[attributes.EOL].Is("crlf") {
		return keepLF
	}
	switch v := textOf(a); {
	case v.State == attributes.Unset:
		return keepLF
	case v.Is("auto"):
		return toCRLFAuto
	}
	return toCRLF // eol alone means text, and goes before text=input
}

func textOf(a attributes.Attributes) attributes.Value {
	if v := a[attributes.Text]; saysText(v) {
		return v
	}
	return a[attributes.CRLF] // what `text` was called before git 1.7.2
}

// saysText reports whether git knows the value. It takes any other as
// unspecified.
func saysText(v attributes.Value) bool {
	return v.State == attributes.Set || v.State == attributes.Unset || v.Is("auto") || v.Is("input")
}

// decideCharset finds the encoding. One that is set without a value is refused,
// as by git; an empty value and one that is not known change nothing.
func (c *Conversion) decideCharset(v attributes.Value) {
	c.refused = v.State == attributes.Set
	if v.State != attributes.Valued || v.Text == "" {
		return
	}
	known := false
	if c.charset, known = charset.Find(v.Text); !known {
		c.UnknownEncoding = v.Text
	}
}

// MentionsUnknownEncoding reports whether the content of a .gitattributes may ask for an
// encoding that is not known here: where none of a tree's files and not info/attributes
// mention one, no file has one.
func MentionsUnknownEncoding(content []byte) bool {
	for {
		_, value, found := bytes.Cut(content, []byte("working-tree-encoding="))
		if !found {
			return false
		}
		end := bytes.IndexAny(value, " \t\r\n")
		if end < 0 {
			end = len(value)
		}
		if _, known := charset.Find(string(value[:end])); !known && end > 0 {
			return true
		}
		content = value[end:]
	}
}

// Append appends the converted content to dst, which must not share memory
// with it. id is the id of the blob in hex. The only error is
// [ErrEncodingValue].
func (c Conversion) Append(dst, content []byte, id string) ([]byte, error) {
	if c.refused {
		return dst, ErrEncodingValue
	}
	// The content is in memory anyway: an `$Id:` may be held whole.
	m := Measured{c: c, id: id, hold: len(content) + 1, read: func(s stage) error {
		if err := s.write(content); err != nil {
			return err
		}
		return s.end()
	}}
	if err := m.decideLineEndings(); err != nil {
		return dst, err
	}
	before := len(dst)
	out := &appended{dst}
	err := m.read(m.chain(out))
	if errors.Is(err, errNotEncodable) {
		m.c.charset, out.b = charset.Charset{}, out.b[:before]
		err = m.read(m.chain(out))
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
