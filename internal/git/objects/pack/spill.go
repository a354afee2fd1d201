package pack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git/objects/object"
)

// openSpilled resolves a chain with a part larger than Limits.SpillBytes. It puts each base in turn
// where it can be read at any position, in memory or in a temporary file; the last delta, which
// makes the object itself, is applied while the object is read.
func (s *resolver) openSpilled(id object.ID, at Place) (*object.Object, error) {
	var kind object.Type
	var base *part
	keep := func(o *object.Object, err error) error {
		if err == nil {
			kind = o.Type()
			base, err = s.packs.hold(o)
		}
		return err
	}
	loose, err := s.descend(at, func(at Place) (l link, done bool, err error) {
		e, head, err := s.entryAt(at, longestEntryHeader)
		if err == nil && !e.isDelta() {
			return l, true, keep(s.packs.openEntry(object.ID{}, at, e))
		}
		l = link{Place: at, entry: e}
		if err == nil {
			l.base, l.result, err = s.deltaHeader(at, e, head)
		}
		return l, false, err
	})
	if loose != nil {
		err = keep(loose, nil)
	}
	if err != nil {
		return nil, err
	}
	for i := len(s.links) - 1; ; i-- {
		l := s.links[i]
		source, err := s.packs.openDelta(l, base)
		if err != nil {
			return nil, err
		}
		result := object.New(s.packs.buffers, id, kind, l.result, source, l.pack.damage)
		if i == 0 {
			return result, nil
		}
		if base, err = s.packs.hold(result); err != nil {
			return nil, err
		}
	}
}

// resolveSpilled appends the object to buf.
func (s *resolver) resolveSpilled(at Place, limit int64, buf []byte) (object.Type, []byte, error) {
	o, err := s.openSpilled(object.ID{}, at)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = o.Close() }()
	if o.Size() > limit {
		return 0, nil, object.ErrTooLarge
	}
	data, err := o.AppendTo(buf)
	return o.Type(), data, err
}

// part is an object of a chain that can be read at any position.
type part struct {
	io.ReaderAt
	size int64
	file *spill.File // nil in memory
}

// hold reads an object whole and closes it.
func (r *Reader) hold(o *object.Object) (*part, error) {
	defer func() { _ = o.Close() }()
	p := &part{size: o.Size()}
	if p.size <= r.limits.SpillBytes {
		data, err := o.AppendTo(nil)
		p.ReaderAt = bytes.NewReader(data)
		return p, err
	}
	if p.size > r.limits.SpillSpace.Limit() {
		return nil, object.ErrTooLarge
	}
	p.file = r.limits.SpillSpace.NewFile(0)
	p.ReaderAt = p.file
	err := p.file.Reserve(p.size)
	if err == nil {
		_, err = o.WriteTo(p.file)
	}
	if err != nil {
		p.close()
		return nil, spillError(err)
	}
	return p, nil
}

// spillError translates an error of a temporary file.
func spillError(err error) error {
	if errors.Is(err, spill.ErrFull) {
		return object.ErrBusy
	}
	return err
}

func (p *part) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// held is how much memory the part takes.
func (p *part) held() int64 {
	if p.file != nil {
		return 0
	}
	return p.size
}

// deltaStream is the source of an object that is made from a base and a delta.
type deltaStream struct {
	base  *part
	open  func() (*object.Object, error) // the delta, from its beginning
	delta *object.Object
	ahead *bufio.Reader // of delta
	now   instruction   // the rest of the present instruction
}

// openDelta starts to apply a delta. The stream owns the base, which is closed on failure too.
func (r *Reader) openDelta(l link, base *part) (*deltaStream, error) {
	if base.size != l.base {
		base.close()
		return nil, l.pack.damage(object.ErrWrongSize)
	}
	d, err := newDeltaStream(base, func() (*object.Object, error) {
		return r.openEntry(object.ID{}, l.Place, l.entry)
	})
	return d, l.pack.damage(err)
}

func newDeltaStream(base *part, open func() (*object.Object, error)) (*deltaStream, error) {
	d := &deltaStream{base: base, open: open, ahead: bufio.NewReaderSize(nil, streamedSize)}
	if err := d.begin(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// begin opens the delta and skips the sizes in its header.
func (d *deltaStream) begin() (err error) {
	if d.delta, err = d.open(); err != nil {
		return err
	}
	d.ahead.Reset(d.delta)
	d.now = instruction{}
	for range 2 {
		if _, err := binary.ReadUvarint(d.ahead); err != nil {
			if !object.IsVerdict(err) {
				err = errBadDelta
			}
			return err
		}
	}
	return nil
}

// Rewind implements [object.Rewinder]: the base, which may be the end of a long chain, is kept.
func (d *deltaStream) Rewind() error {
	_ = d.delta.Close() // it was only read
	return d.begin()
}

// Read reads the bytes of the result; it returns io.EOF at the end of the delta, after its own
// checks. The reader has to compare the size.
func (d *deltaStream) Read(p []byte) (int, error) {
	for d.now == (instruction{}) {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	if d.now.literal > 0 {
		n, err := d.ahead.Read(p[:min(len(p), d.now.literal)])
		d.now.literal -= n
		if errors.Is(err, io.EOF) {
			err = errBadDelta
		}
		return n, err
	}
	n := min(len(p), d.now.size)
	if _, err := d.base.ReadAt(p[:n], d.now.offset); err != nil {
		return 0, spillError(err)
	}
	d.now.offset += int64(n)
	if d.now.size -= n; d.now.size == 0 {
		d.now = instruction{}
	}
	return n, nil
}

// next reads one instruction.
func (d *deltaStream) next() error {
	first, err := d.ahead.Peek(1)
	if err != nil {
		return err
	}
	n := instructionLength(first[0])
	b, err := d.ahead.Peek(n)
	if errors.Is(err, io.EOF) {
		return errBadDelta
	}
	if err != nil {
		return err
	}
	if d.now, err = parseInstruction(b); err != nil {
		return err
	}
	if d.now.offset+int64(d.now.size) > d.base.size {
		return errBadDelta
	}
	_, err = d.ahead.Discard(n)
	return err
}

// Held is the memory of a base in memory, and of the delta's stream.
func (d *deltaStream) Held() int64 { return d.base.held() + d.delta.Held() + streamedSize }

// Close closes the delta and the base.
func (d *deltaStream) Close() {
	if d.delta != nil {
		_ = d.delta.Close() // only read from
	}
	d.base.close()
}
