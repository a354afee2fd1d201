package convert

import (
	"bytes"
	"errors"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/git/charset"
)

// bigFileThreshold is the size in bytes above which git archive copies a file without conversion:
// core.bigFileThreshold of git-config(1), by default 512 MiB. git checkout converts files of any
// size.
const bigFileThreshold = 512 << 20

// ErrEncodingValue is returned for a file whose attribute working-tree-encoding is set without a
// value. git does not archive a commit with such a file, even if it is empty.
var ErrEncodingValue = errors.New("convert: working-tree-encoding is set to no encoding")

// lineEndings selects the handling of a LF without a CR before it.
type lineEndings byte

const (
	keepLF     lineEndings = iota
	toCRLF                 // becomes CRLF
	toCRLFAuto             // becomes CRLF if the content is text without CR
)

// Conversion is the conversion of a content. The zero value does nothing.
type Conversion struct {
	ident   bool
	eol     lineEndings
	charset charset.Charset // zero value: stays UTF-8
	refused bool            // ErrEncodingValue
	// UnknownEncoding is the value of working-tree-encoding if it is unknown, so that the content
	// stays UTF-8; else "".
	UnknownEncoding string
	// checkout selects the behaviour of git checkout, and streamed the keyword detection of its
	// streams.
	checkout, streamed bool
}

// Decide returns the conversion of git archive for a regular file with these attributes. ok is
// false if there is none.
func Decide(a attributes.Attributes) (c Conversion, ok bool) {
	c.ident = a[attributes.Ident].IsSet()
	c.eol = decideLineEndings(a)
	c.decideCharset(a[attributes.WorkingTreeEncoding])
	unknown := Conversion{UnknownEncoding: c.UnknownEncoding}
	return c, c != unknown
}

// DecideCheckout returns the conversion of git checkout, with core.autocrlf=false and core.eol=lf.
func DecideCheckout(a attributes.Attributes) (c Conversion, ok bool) {
	if c, ok = Decide(a); ok {
		c.checkout = true
		c.streamed = c.ident && !isAuto(a) && !namesEncoding(a[attributes.WorkingTreeEncoding])
	}
	return c, ok
}

// Converts reports whether a file of a size is converted at all, if it has no export-subst.
func (c Conversion) Converts(size int64) bool { return c.checkout || size <= bigFileThreshold }

// isAuto reports whether git inspects the whole content to decide on line endings.
func isAuto(a attributes.Attributes) bool { return textOf(a).Is("auto") && !a[attributes.EOL].Is("lf") }

// namesEncoding reports whether git encodes the whole content; the encoding may be unknown.
func namesEncoding(v attributes.Value) bool {
	return v.State == attributes.Valued && v.Text != "" && !strings.EqualFold(v.Text, "UTF-8") &&
		!strings.EqualFold(v.Text, "UTF8")
}

// decideLineEndings evaluates the attributes text, eol and crlf of gitattributes(5). Only eol=crlf
// ever adds a CR, because "text" alone means the line endings of the system.
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
	return toCRLF // eol alone implies text, and precedes text=input
}

func textOf(a attributes.Attributes) attributes.Value {
	if v := a[attributes.Text]; saysText(v) {
		return v
	}
	return a[attributes.CRLF] // the name of `text` before git 1.7.2
}

// saysText reports whether git knows the value. Others count as unspecified.
func saysText(v attributes.Value) bool {
	return v.State == attributes.Set || v.State == attributes.Unset || v.Is("auto") || v.Is("input")
}

// decideCharset finds the encoding. Like git, it refuses an attribute that is set without a value;
// an empty or unknown value changes nothing.
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

// MentionsUnknownEncoding reports whether the content of a .gitattributes may ask for an unknown
// encoding: if that is false for all of a tree's files and info/attributes, no file has one.
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

// Append appends the converted content to dst, which must not share memory with it. id is the id of
// the blob in hex. The only error is [ErrEncodingValue].
func (c Conversion) Append(dst, content []byte, id string) ([]byte, error) {
	if c.refused {
		return dst, ErrEncodingValue
	}
	// The content is in memory anyway, so `$Id:` may be held whole.
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

// appended is the end of an in-memory chain.
type appended struct{ b []byte }

func (a *appended) write(p []byte) error {
	a.b = append(a.b, p...)
	return nil
}

func (a *appended) end() error { return nil }
