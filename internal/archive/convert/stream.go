package convert

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git/charset"
)

const (
	// pieceSize is the size of a read: enough to make calls cheap, and little enough for hundreds
	// of streams.
	pieceSize = 64 << 10

	// holdSize bounds the buffered part of an unterminated `$Id:`. Real ones have less than a
	// hundred bytes; for a longer one, the content is read once more to find its end.
	holdSize = 64 << 10
)

// errChanged means that two readings of the source differ.
var errChanged = errors.New("convert: the content is not the same at each reading")

// Source is a content that can be read repeatedly.
type Source struct {
	Open func() (io.ReadCloser, error) // called once for each reading
	Size int64                         // in bytes, of each reading
}

// Measured is a content whose conversion is completely decided, by readings that build on each
// other.
type Measured struct {
	c    Conversion // without charset if the content cannot be encoded
	id   string
	hold int    // buffered bytes of an `$Id:`, at least the length of "$Id:"
	long []bool // for each longer `$Id:`: whether it is replaced

	crlf bool  // LF becomes CRLF
	size int64 // of the result
	read reading
}

// reading passes a whole content to a stage.
type reading func(stage) error

// Measure reads the content of src to determine its converted length. id is the id of the blob in
// hex. The context ends it between two pieces, with the context's cause.
func (c Conversion) Measure(ctx context.Context, src Source, id string) (*Measured, error) {
	return c.measure(ctx, src, id, holdSize)
}

func (c Conversion) measure(ctx context.Context, src Source, id string, hold int) (*Measured, error) {
	if c.refused {
		return nil, ErrEncodingValue
	}
	m := &Measured{c: c, id: id, hold: hold, read: src.reading(ctx)}
	if c.ident && src.Size > int64(hold) {
		if err := m.findLongIdents(); err != nil {
			return nil, err
		}
	}
	if err := m.decideLineEndings(); err != nil {
		return nil, err
	}
	err := m.count()
	if errors.Is(err, errNotEncodable) {
		m.c.charset = charset.Charset{}
		err = m.count()
	}
	return m, err
}

// Size returns the length of the converted content in bytes.
func (m *Measured) Size() int64 { return m.size }

// CopyTo writes the converted content to w: [Measured.Size] bytes, or an error.
func (m *Measured) CopyTo(w io.Writer) error {
	out := newOutput(w)
	err := m.read(m.chain(out))
	if errors.Is(err, errNotEncodable) || err == nil && out.n != m.size {
		return errChanged
	}
	return err
}

// findLongIdents decides about each `$Id:` that exceeds the buffer.
func (m *Measured) findLongIdents() error {
	k := &keywords{next: &counter{}, hold: m.hold, searching: true}
	err := m.read(m.c.identStage(k))
	m.long = k.long
	return err
}

// decideLineEndings inspects the content after `$Id$` was replaced, as git does.
func (m *Measured) decideLineEndings() error {
	m.crlf = m.c.eol == toCRLF
	if m.c.eol != toCRLFAuto {
		return nil
	}
	var s statistics
	err := m.read(m.identify(&s))
	m.crlf = s.isTextWithoutCR()
	return err
}

// count determines the size of the result, or returns errNotEncodable.
func (m *Measured) count() error {
	var n counter
	err := m.read(m.chain(&n))
	m.size = n.n
	return err
}

// chain prepends the steps of the conversion to last, in git's order.
func (m *Measured) chain(last stage) stage {
	if m.c.charset != (charset.Charset{}) {
		last = newEncodeStage(m.c.charset, last)
	}
	if m.crlf {
		last = newCRLFStage(last)
	}
	return m.identify(last)
}

func (m *Measured) identify(next stage) stage {
	if !m.c.ident {
		return next
	}
	return m.c.identStage(&keywords{next: next, keyword: []byte("$Id: " + m.id + " $"), hold: m.hold, long: m.long})
}

func (c Conversion) identStage(k *keywords) stage {
	if c.streamed {
		return &streamedIdentStage{keywords: k}
	}
	return &identStage{keywords: k}
}

// reading returns a reading that reads the source each time.
func (s Source) reading(ctx context.Context) reading {
	piece := make([]byte, pieceSize)
	return func(to stage) (err error) {
		r, err := s.Open()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		if err := s.copy(ctx, to, r, piece); err != nil {
			return err
		}
		return to.end()
	}
}

func (s Source) copy(ctx context.Context, to stage, r io.Reader, piece []byte) error {
	for read := int64(0); ; {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("convert: %w", err)
		}
		n, err := r.Read(piece)
		if read += int64(n); read > s.Size {
			return errChanged
		}
		if werr := to.write(piece[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF) && read < s.Size:
			return io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
