package pack

const (
	// firstRead holds nearly every tree, commit and delta, and most source files,
	// deflated.
	firstRead = 8 << 10
	// aheadRead is read if objects are read in the order of the pack, in which git lays out the
	// files of a commit: a system call costs as much as copying that many bytes.
	aheadRead = 32 << 10
	// nearRead is the largest distance from the end of a window at which the next read still counts
	// as sequential.
	nearRead = 32 << 10
	// largestRead is the size up to which a stream is read in one go, which is faster; a longer one
	// goes through a fixed buffer.
	largestRead = 8 << 20
	// keptWindow is the largest buffer that stays in the pool: that of the largest file that an
	// archive reads in one go.
	keptWindow = 5 << 20
)

// window is the part of a pack that was read last. A pack never changes, so its bytes stay right,
// even when the pack is gone.
type window struct {
	pack  *Pack
	start int64
	bytes []byte // of buf
	buf   []byte
}

func (w *window) end() int64 { return w.start + int64(len(w.bytes)) }

// leadsTo reports whether a place is within the window, or so close after it that the reads are
// probably sequential.
func (w *window) leadsTo(p *Pack, off int64) bool {
	return w.pack == p && off >= w.start && off <= w.end()+nearRead
}

// endsNear reports whether a place is so close before the window that objects are probably read
// backwards: the newest objects of a pack that git-repack(1) did not write lie last.
func (w *window) endsNear(p *Pack, off int64) bool {
	return w.pack == p && packHeader <= off && off < w.start && w.start-off <= nearRead
}

// readAt returns at least n bytes of a pack from off on, and fewer only at its end. They are valid
// until the next call.
func (w *window) readAt(p *Pack, off, n int64) ([]byte, error) {
	onward := w.leadsTo(p, off)
	if onward && min(off+n, p.end) <= w.end() {
		return w.bytes[off-w.start:], nil
	}
	n = max(n, firstRead)
	start := off
	switch {
	case onward:
		n = max(n, aheadRead)
	case w.endsNear(p, off):
		start = max(packHeader, min(off, off+n-aheadRead))
		n += off - start
	}
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	w.pack = nil
	bytes, err := p.read(start, w.buf[:n])
	if err != nil {
		return nil, err
	}
	w.pack, w.start, w.bytes = p, start, bytes
	return bytes[off-start:], nil
}

// trim drops a buffer that one huge object needed.
func (w *window) trim() {
	if cap(w.buf) > keptWindow {
		*w = window{}
	}
}
