package history

import (
	"errors"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/diff"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// wholeScore is the score of files that are the same: MAX_SCORE of
	// diffcore.h.
	wholeScore = 60_000
	// chunkBytes is the longest piece that files are compared by; a line feed
	// ends a shorter one.
	chunkBytes = 64
	// chunkHashes is how many different hashes pieces have: HASHBASE of
	// diffcore-delta.c.
	chunkHashes = 107_927
	// maxSimilarBytes is the largest file whose similarity is looked at. git
	// has no limit; larger files are renamed when their content is the same.
	maxSimilarBytes = 32 << 20
	// maxChunks bounds what is remembered of all files of a comparison, at 8
	// bytes each: enough for some 300 MB of text.
	maxChunks = 8 << 20
)

// errManyChunks says that more would have to be remembered.
var errManyChunks = errors.New("too much to compare for similarity")

// chunk is how many bytes of a file are in pieces of one hash.
type chunk struct{ hash, bytes uint32 }

// likeness is what is known of a file that may have been renamed. Sizes and
// chunks are read when they are needed.
type likeness struct {
	mode   repos.Mode
	id     repos.ID
	size   int64 // -1: not known
	chunks []chunk
	hashed bool
}

func newLikeness(mode repos.Mode, id repos.ID) likeness {
	return likeness{mode: mode, id: id, size: -1}
}

// chunker reads files and cuts them up.
type chunker struct {
	source *source
	text   []byte
	bytes  [chunkHashes]uint32
	chunks int // remembered so far
	most   int
}

// similarity is how much of the larger of two files is in both, from 0 to
// wholeScore, as estimate_similarity of git's diffcore-rename.c has it, which
// is not interested in files that cannot reach the least score.
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
	return named(file.id, err)
}

// named turns "not found" into damage: a tree names the object, so its absence
// is no answer to the question that was asked.
func named(id repos.ID, err error) error {
	if errors.Is(err, repos.ErrNotFound) {
		return fmt.Errorf("object %s is missing: %w", id, repos.ErrCorrupt)
	}
	return err
}

// hash cuts a file into pieces: hash_chars of diffcore-delta.c. The CR of a
// line end does not count in text. Like git before 2.44, it leaves out what
// comes after the last whole piece.
func (c *chunker) hash(file *likeness) error {
	if file.hashed {
		return nil
	}
	text, err := c.source.ReadBlob(file.id, maxSimilarBytes, c.text[:0])
	if err != nil {
		return named(file.id, err)
	}
	c.text = text
	binary := diff.Binary(text)
	var seen []uint32
	length, low, high := uint32(0), uint32(0), uint32(0)
	for i, b := range text {
		if b == '\r' && !binary && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		low, high = low<<7^high>>25, high<<7^low>>25
		low += uint32(b)
		if length++; length < chunkBytes && b != '\n' {
			continue
		}
		hash := (low + high*0x61) % chunkHashes
		if c.bytes[hash] == 0 {
			seen = append(seen, hash)
		}
		c.bytes[hash] += length
		length, low, high = 0, 0, 0
	}
	return c.keep(file, seen)
}

func (c *chunker) keep(file *likeness, seen []uint32) error {
	slices.Sort(seen)
	file.chunks, file.hashed = make([]chunk, len(seen)), true
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
