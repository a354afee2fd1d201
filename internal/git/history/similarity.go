package history

import (
	"bytes"
	"errors"
	"math/bits"
	"slices"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
)

const (
	// wholeScore is the score of identical files. git uses this unit too, and rounds scores down to
	// it.
	wholeScore = 60_000
	// chunkBytes is the maximal length of the compared pieces; a line feed ends a shorter one.
	chunkBytes = 64
	// chunkHashes is the number of different hashes of pieces. Pieces with equal hashes count as
	// equal, so only git's number gives git's scores.
	chunkHashes = 107_927
	// maxSimilarBytes bounds files compared by similarity. git has no limit; larger files are
	// renames only if their content is identical.
	maxSimilarBytes = 32 << 20
	// maxChunks bounds the chunks of all files of a comparison, at 8 bytes each: enough for some
	// 300 MB of text.
	maxChunks = 8 << 20
)

// errManyChunks means that a comparison would need too much memory.
var errManyChunks = errors.New("too much to compare for similarity")

// chunk is the number of bytes in pieces with one hash.
type chunk struct{ hash, bytes uint32 }

// likeness holds data of a possible rename. Sizes and chunks are read on demand.
type likeness struct {
	mode   git.Mode
	id     git.ID
	size   int64   // -1: unknown
	chunks []chunk // nil: not read
}

func newLikeness(mode git.Mode, id git.ID) likeness {
	return likeness{mode: mode, id: id, size: -1}
}

// chunker reads files and divides them into pieces.
type chunker struct {
	source *source
	text   []byte
	bytes  [chunkHashes]uint32
	chunks int // number in memory
	most   int
}

// similarity returns how much of the larger of two files is in both, from 0 to wholeScore: the
// similarity index of gitdiffcore(7). It returns 0 without reading the contents if their sizes rule
// out the least score.
func (c *chunker) similarity(a, b *likeness, least int) (int, error) {
	if !a.mode.IsRegular() || !b.mode.IsRegular() {
		return 0, nil
	}
	for _, file := range []*likeness{a, b} {
		if err := c.measure(file); err != nil {
			return 0, err
		}
	}
	larger, smaller := max(a.size, b.size), min(a.size, b.size)
	if larger*int64(wholeScore-least) < (larger-smaller)*wholeScore || larger > maxSimilarBytes || larger == 0 {
		return 0, nil
	}
	for _, file := range []*likeness{a, b} {
		if err := c.hash(file); err != nil {
			return 0, err
		}
	}
	return int(commonBytes(a.chunks, b.chunks) * wholeScore / larger), nil
}

func (c *chunker) measure(file *likeness) (err error) {
	if file.size < 0 {
		file.size, err = c.source.Size(file.id)
	}
	return git.MustExist(file.id, err)
}

// hash counts the bytes of a file's pieces by hash. Like git before 2.44, it ignores an incomplete
// last piece.
func (c *chunker) hash(file *likeness) error {
	if file.chunks != nil {
		return nil
	}
	text, err := c.source.ReadBlob(file.id, maxSimilarBytes, c.text[:0])
	if err != nil {
		return git.MustExist(file.id, err)
	}
	c.text = text
	if !diff.Binary(text) {
		text = dropLineEndCRs(text)
	}
	var seen []uint32
	for {
		length := pieceLength(text)
		if length == 0 {
			return c.store(file, seen)
		}
		hash := pieceHash(text[:length])
		if c.bytes[hash] == 0 {
			seen = append(seen, hash)
		}
		c.bytes[hash] += uint32(length)
		text = text[length:]
	}
}

// dropLineEndCRs replaces CR LF by LF in place, because line ends do not count as differences.
func dropLineEndCRs(text []byte) []byte {
	end := bytes.Index(text, []byte("\r\n"))
	if end < 0 {
		return text
	}
	unix := text[:end]
	for i, b := range text[end:] {
		if next := end + i + 1; b == '\r' && next < len(text) && text[next] == '\n' {
			continue
		}
		unix = append(unix, b)
	}
	return unix
}

// pieceLength returns the length of the first piece: a line with its LF, but at most chunkBytes. It
// is 0 for an incomplete piece.
func pieceLength(text []byte) int {
	most := text[:min(len(text), chunkBytes)]
	if length := bytes.IndexByte(most, '\n') + 1; length > 0 || len(most) < chunkBytes {
		return length
	}
	return chunkBytes
}

// pieceHash returns git's hash of a piece: 64 bits are rotated by 7 before each byte is added to
// their lower half, without a carry to the upper one; the halves are then weighted and reduced.
func pieceHash(piece []byte) uint32 {
	var state uint64
	for _, b := range piece {
		state = bits.RotateLeft64(state, 7)
		state = state>>32<<32 | uint64(uint32(state)+uint32(b))
	}
	return (uint32(state) + uint32(state>>32)*0x61) % chunkHashes
}

func (c *chunker) store(file *likeness, seen []uint32) error {
	slices.Sort(seen)
	file.chunks = make([]chunk, len(seen))
	for i, hash := range seen {
		file.chunks[i] = chunk{hash, c.bytes[hash]}
		c.bytes[hash] = 0
	}
	if c.chunks += len(seen); c.chunks > c.most {
		return errManyChunks
	}
	return nil
}

// commonBytes counts the bytes of chunks that both files have.
func commonBytes(a, b []chunk) (bytes int64) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].hash < b[j].hash:
			i++
		case a[i].hash > b[j].hash:
			j++
		default:
			bytes += int64(min(a[i].bytes, b[j].bytes))
			i++
			j++
		}
	}
	return bytes
}
