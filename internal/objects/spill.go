package objects

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// openSpilled resolves a chain of which some part is larger than
// Options.SpillBytes. Each base in turn is put where it can be read at any
// position, in memory or in a temporary file; the last delta, which gives the
// object itself, is applied while the object is read.
func (v *view) openSpilled(sc *scratch, at place) (Type, int64, source, error) {
	kind, base, err := v.descendSpilled(sc, at)
	if err != nil {
		return 0, 0, nil, err
	}
	for i := len(sc.links) - 1; ; i-- {
		l := sc.links[i]
		delta, err := v.openDelta(l, base)
		if err != nil {
			return 0, 0, nil, err
		}
		if i == 0 {
			return kind, l.result, delta, nil
		}
		result := &Object{
			kind: kind, size: l.result, left: l.result, source: delta, damage: l.pack.damage, store: v.store,
		}
		base, err = v.store.hold(result)
		if err != nil {
			return 0, 0, nil, err
		}
	}
}

// descendSpilled collects the links of a chain, without their data, and gives
// its base.
func (v *view) descendSpilled(sc *scratch, at place) (Type, *part, error) {
	sc.links = sc.links[:0]
	for {
		e, err := at.pack.entryAt(at.off, sc.window[:longestEntryHeader])
		if err != nil {
			return 0, nil, err
		}
		if e.kind != ofsDelta && e.kind != refDelta {
			object, err := v.store.openData(at, e)
			if err != nil {
				return 0, nil, err
			}
			base, err := v.store.hold(object)
			return Type(e.kind), base, err
		}
		l := link{place: at, entry: e}
		if l.base, l.result, err = sc.deltaHeader(at, e, nil); err != nil {
			return 0, nil, err
		}
		next, err := v.addLink(sc, l)
		if err != nil {
			return 0, nil, err
		}
		if next.pack == nil {
			object, err := v.openLoose(e.baseID)
			if errors.Is(err, ErrNotFound) {
				err = at.pack.damage(errNoBase)
			}
			if err != nil {
				return 0, nil, err
			}
			base, err := v.store.hold(object)
			return object.Type(), base, err
		}
		at = next
	}
}

// openData opens the inflated data of an entry: an object, or a delta, whose
// type is then of no meaning. It reads in a fixed buffer.
func (s *Store) openData(at place, e entry) (*Object, error) {
	source, err := s.openStream(at, e)
	if err != nil {
		return nil, err
	}
	return &Object{
		kind: Type(e.kind), size: e.size, left: e.size, source: source, damage: at.pack.damage, store: s,
	}, nil
}

// part is an object of a chain that can be read at any position.
type part struct {
	store *Store
	size  int64
	data  []byte
	file  *os.File // instead of data; it has no name any more, where the system allows that
}

// hold reads an object whole and closes it.
func (s *Store) hold(object *Object) (*part, error) {
	defer func() { _ = object.Close() }()
	p := &part{store: s, size: object.size}
	if object.size <= s.options.SpillBytes {
		var err error
		p.data, err = object.appendTo(nil)
		return p, err
	}
	if object.size > s.spilled.limit {
		return nil, ErrTooLarge
	}
	if !s.spilled.take(object.size) {
		return nil, ErrBusy
	}
	if err := p.spill(object); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *part) spill(object *Object) error {
	file, err := os.CreateTemp(p.store.options.TempDir, "repomcp-object-*")
	if err != nil {
		return tempError(err)
	}
	p.file = file
	p.store.spills.Add(1)
	// Without a name the file goes with its descriptor, even when the process
	// is killed. Where that is refused, close removes it.
	_ = os.Remove(file.Name())
	_, err = object.WriteTo(file)
	return tempError(err)
}

// tempError takes the path out of an error of a temporary file.
func tempError(err error) error {
	switch {
	case err == nil || known(err):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EMFILE),
		errors.Is(err, syscall.ENFILE):
		return ErrBusy
	}
	return fmt.Errorf("temporary file of an object: %w", withoutPath(err))
}

// ReadAt reads inside the part.
func (p *part) ReadAt(b []byte, off int64) (int, error) {
	if p.file != nil {
		return p.file.ReadAt(b, off)
	}
	return copy(b, p.data[off:]), nil
}

func (p *part) close() {
	if p.size > p.store.options.SpillBytes {
		p.store.spilled.release(p.size)
	}
	if p.file != nil {
		_ = p.file.Close()
		_ = os.Remove(p.file.Name()) // fails where it has no name any more
	}
	*p = part{store: p.store}
}

// deltaStream is the source of an object that is made of a base and a delta.
type deltaStream struct {
	base  *part
	delta *Object
	ahead *bufio.Reader // of delta
	now   instruction   // what is left of it
}

// openDelta starts to apply a delta. The stream owns the base; it is closed on
// failure too.
func (v *view) openDelta(l link, base *part) (*deltaStream, error) {
	if base.size != l.base {
		base.close()
		return nil, l.pack.damage(errWrongSize)
	}
	delta, err := v.store.openData(l.place, l.entry)
	if err != nil {
		base.close()
		return nil, err
	}
	d := newDeltaStream(delta, base)
	if err := d.skipHeader(); err != nil {
		d.close()
		return nil, l.pack.damage(err)
	}
	return d, nil
}

func newDeltaStream(delta *Object, base *part) *deltaStream {
	return &deltaStream{base: base, delta: delta, ahead: bufio.NewReaderSize(delta, streamBuffer)}
}

func (d *deltaStream) skipHeader() error {
	head, err := d.ahead.Peek(int(min(longestDeltaHeader, d.delta.size)))
	if err != nil {
		return err
	}
	_, _, rest, err := parseDeltaHeader(head)
	if err != nil {
		return err
	}
	_, err = d.ahead.Discard(len(head) - len(rest))
	return err
}

// Read reads the bytes of the result; it returns io.EOF where the delta ends, after its
// own checks. Whether that was at the right size is for the reader to compare.
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
		return 0, tempError(err)
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

func (d *deltaStream) close() {
	_ = d.delta.Close()
	d.base.close()
}
