package objects

const (
	// statWindow holds an entry's header and, nearly always, as much of a
	// delta's stream as its header needs.
	statWindow = 512
	// glanceBytes are read for one header: git writes the blobs of a folder
	// next to each other, so that the next headers are often among them. Larger
	// ones cost more to read than they spare.
	glanceBytes = 16 << 10
)

// glance is the part of a pack that headers were read from last. A pack never
// changes, so what was read stays right, also when the pack is gone.
type glance struct {
	pack  *pack
	start int64
	bytes []byte
	buf   [glanceBytes]byte
}

// entryAt is [pack.entryAt] for who wants headers only.
func (g *glance) entryAt(at place) (entry, []byte, error) {
	end := min(at.off+statWindow, at.pack.end)
	if g.pack != at.pack || at.off < g.start || end > g.start+int64(len(g.bytes)) {
		g.pack = nil
		bytes, err := at.pack.window(at.off, g.buf[:])
		if err != nil {
			return entry{}, nil, err
		}
		g.pack, g.start, g.bytes = at.pack, at.off, bytes
	}
	return at.pack.entryIn(g.bytes[at.off-g.start:end-g.start], at.off)
}
