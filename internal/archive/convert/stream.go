package convert

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/charset"
)

const (
	// pieceSize is what is read of a content at once: enough to make the calls
	// cheap, little enough for hundreds of streams.
	pieceSize = 64 << 10

	// holdSize is how much of an `$Id:` without an end is kept in memory. The
	// real ones have less than a hundred bytes; to know how a longer one ends,
	// the content is read once more.
	holdSize = 64 << 10
)

// errChanged means that the source gave different contents.
var errChanged = errors.New("convert: the content is not the same at each reading")

// Source is a content that can be read again.
type Source struct {
	Open func() (io.ReadCloser, error) // called once for each reading
	Size int64                         // in bytes, of what each reading gives
}

// Stream writes the converted content of src to w. id is the id of the blob in
// hex. The context ends it between two pieces, with the context's cause.
func (c Conversion) Stream(ctx context.Context, w io.Writer, src Source, id string) error {
	p, err := c.prepare(ctx, src, id, holdSize)
	if err != nil {
		return err
	}
	return p.write(ctx, w, src)
}

// Measured is a content about which everything has been decided.
type Measured struct {
	p   passes
	src Source
}

// Measure reads the content of src to find out how long it is converted.
func (c Conversion) Measure(ctx context.Context, src Source, id string) (*Measured, error) {
	p, err := c.prepare(ctx, src, id, holdSize)
	if err != nil {
		return nil, err
	}
	if !p.counted {
		if err := p.count(ctx, src); err != nil {
			return nil, err
		}
	}
	return &Measured{p: p, src: src}, nil
}

// Size is that of the converted content, in bytes.
func (m *Measured) Size() int64 { return m.p.size }

// WriteTo writes the converted content to w: [Measured.Size] bytes, or an
// error.
func (m *Measured) WriteTo(ctx context.Context, w io.Writer) error {
	return m.p.write(ctx, w, m.src)
}

// passes is what the readings of a content found out, each by what the earlier
// ones did.
type passes struct {
	c    Conversion // without charset once the content cannot be encoded
	id   string
	hold int    // bytes of an `$Id:` in memory
	long []bool // of each `$Id:` that is longer: whether it is replaced

	crlf    bool  // LF becomes CRLF
	counted bool  // size is known
	size    int64 // of the result
}

// reading gives a content to a stage, from beginning to end.
type reading func(stage) error

// prepare reads as often as it takes to know what is to be written. hold is at
// least the length of "$Id:".
func (c Conversion) prepare(ctx context.Context, src Source, id string, hold int) (passes, error) {
	p := passes{c: c, id: id, hold: hold}
	if c.refused {
		return p, ErrEncodingValue
	}
	if c.ident && src.Size > int64(hold) {
		if err := p.findLongIdents(ctx, src); err != nil {
			return p, err
		}
	}
	if err := p.decideLineEndings(src.reading(ctx)); err != nil {
		return p, err
	}
	if c.charset == (charset.Charset{}) {
		return p, nil
	}
	err := p.count(ctx, src)
	if errors.Is(err, errNotEncodable) {
		p.c.charset, err = charset.Charset{}, nil
	}
	return p, err
}

// findLongIdents decides about each `$Id:` too long to hold.
func (p *passes) findLongIdents(ctx context.Context, src Source) error {
	s := &identStage{next: &counter{}, hold: p.hold, searching: true}
	err := src.reading(ctx)(s)
	p.long = s.long
	return err
}

// decideLineEndings looks at the content after `$Id$` has been written into
// it, as git does.
func (p *passes) decideLineEndings(read reading) error {
	p.crlf = p.c.eol == toCRLF
	if p.c.eol != toCRLFAuto {
		return nil
	}
	var s statistics
	err := read(p.identify(&s))
	p.crlf = s.isTextWithoutCR()
	return err
}

// count finds the size of the result, or errNotEncodable.
func (p *passes) count(ctx context.Context, src Source) error {
	n := &counter{}
	if err := src.reading(ctx)(p.chain(n)); err != nil {
		return err
	}
	p.size, p.counted = n.n, true
	return nil
}

// write writes the result.
func (p *passes) write(ctx context.Context, w io.Writer, src Source) error {
	out := newOutput(w)
	err := src.reading(ctx)(p.chain(out))
	switch {
	case errors.Is(err, errNotEncodable):
		return errChanged
	case err == nil && p.counted && out.n != p.size:
		return errChanged
	}
	return err
}

// chain puts the steps of the conversion before last, in git's order.
func (p *passes) chain(last stage) stage {
	if p.c.charset != (charset.Charset{}) {
		last = newEncodeStage(p.c.charset, last)
	}
	if p.crlf {
		last = newCRLFStage(last)
	}
	return p.identify(last)
}

func (p *passes) identify(next stage) stage {
	if !p.c.ident {
		return next
	}
	return &identStage{next: next, keyword: []byte("$Id: " + p.id + " $"), hold: p.hold, long: p.long}
}

// reading reads the source once.
func (s Source) reading(ctx context.Context) reading {
	return func(to stage) (err error) {
		r, err := s.Open()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		if err := s.copy(ctx, to, r); err != nil {
			return err
		}
		return to.end()
	}
}

func (s Source) copy(ctx context.Context, to stage, r io.Reader) error {
	piece := make([]byte, pieceSize)
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
