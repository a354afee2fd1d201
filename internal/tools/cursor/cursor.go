// Package cursor encodes the places where the next page of a list begins. A cursor is what a client
// gives back: nothing is remembered between two calls.
//
// A cursor has the commits that the list is of, so that a push between two pages neither repeats nor
// leaves out items.
package cursor

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"maps"

	"github.com/repomcp/repomcp/internal/git"
)

// Cursor is a place in a list.
type Cursor struct {
	Digest [DigestBytes]byte // of the tool and its other arguments
	Pins   []git.ID          // commits that the list is of, at most two
	Done   int               // items on the pages before
	Last   uint32            // [Check] of the last of these
}

const (
	// DigestBytes suffice to detect accidental changes of arguments.
	DigestBytes = 6
	maxPins     = 2
	// MaxDone bounds the items before a page.
	MaxDone = 1 << 30
	// version is the first byte. Cursors of logs and searches have other ones.
	version    = 16
	checkBytes = 4
)

// Check identifies an item by its key, well enough to notice that the list has changed.
func Check(key string) uint32 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key)) // it never fails
	return sum.Sum32()
}

// Digest identifies the arguments that select a list: all but those of the page.
func Digest(tool string, arguments map[string]any) (digest [DigestBytes]byte) {
	selecting := maps.Clone(arguments)
	maps.DeleteFunc(selecting, func(name string, value any) bool {
		return value == nil || name == "cursor" || name == "page" || name == "perPage"
	})
	raw, err := json.Marshal([]any{tool, selecting})
	if err != nil {
		panic("cursor: internal error: " + err.Error()) // the arguments were JSON
	}
	sum := sha256.Sum256(raw)
	copy(digest[:], sum[:])
	return digest
}

// String encodes the cursor in characters that need no quotes.
func (c Cursor) String() string {
	raw := append([]byte{version}, c.Digest[:]...)
	raw = append(raw, byte(len(c.Pins)))
	for _, pin := range c.Pins {
		raw = append(raw, pin[:]...)
	}
	raw = binary.BigEndian.AppendUint32(raw, c.Last)
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(raw, uint64(c.Done)))
}

// Parse decodes a cursor. ok is false for strings that [Cursor.String] does not return.
func Parse(text string) (c Cursor, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	const head = 1 + DigestBytes + 1
	if err != nil || len(raw) < head || raw[0] != version || raw[head-1] > maxPins {
		return c, false
	}
	copy(c.Digest[:], raw[1:])
	pins := int(raw[head-1])
	if raw = raw[head:]; len(raw) < pins*len(git.ID{})+checkBytes {
		return c, false
	}
	for range pins {
		c.Pins, raw = append(c.Pins, git.ID(raw[:len(git.ID{})])), raw[len(git.ID{}):]
	}
	c.Last = binary.BigEndian.Uint32(raw)
	done, size := binary.Uvarint(raw[checkBytes:])
	c.Done = int(min(done, MaxDone))
	return c, size > 0 && len(raw) == checkBytes+size && c.String() == text
}
