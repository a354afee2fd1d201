package tools

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"maps"

	"github.com/repomcp/repomcp/internal/git"
)

// paging are the arguments of a tool that lists all items of something, together with the place
// where the page begins. A cursor has the commits that the list is of, so that a push between two
// pages neither repeats nor leaves out items.
type paging struct {
	pageArguments
	at position
}

// position is the content of a cursor.
type position struct {
	digest [digestBytes]byte // of the tool and its other arguments
	pins   []git.ID          // commits that the list is of
	done   int               // items on the pages before
	last   uint32            // check of the key of the last of these
}

const (
	digestBytes = 6
	maxPins     = 2
	// positionVersion is the first byte of a cursor. Cursors of logs and searches have others.
	positionVersion = 16
)

// skipped returns the number of items before the page.
func (a paging) skipped() int {
	if a.cursor != "" {
		return a.at.done
	}
	return a.pageArguments.skipped()
}

// isFirst reports whether nothing comes before the page.
func (a paging) isFirst() bool { return a.skipped() == 0 }

// checkOf returns a check of an item's key.
func checkOf(key string) uint32 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key)) // it never fails
	return sum.Sum32()
}

// readCursor decodes the cursor of a call.
func (a *paging) readCursor(tool string, arguments map[string]any) error {
	a.at.digest = digestOf(tool, arguments)
	if a.cursor == "" {
		return nil
	}
	digest := a.at.digest
	raw, err := base64.RawURLEncoding.DecodeString(a.cursor)
	if err != nil || !a.at.decode(raw) || a.at.digest != digest {
		return say("The cursor is not one of this list. Give the arguments of the call that gave it, or begin again " +
			"without it.")
	}
	return nil
}

// digestOf identifies the arguments that select a list.
func digestOf(tool string, arguments map[string]any) (digest [digestBytes]byte) {
	selecting := maps.Clone(arguments)
	maps.DeleteFunc(selecting, func(name string, value any) bool {
		return value == nil || name == "cursor" || name == "page" || name == "perPage"
	})
	raw := must(json.Marshal([]any{tool, selecting}))
	sum := sha256.Sum256(raw)
	copy(digest[:], sum[:])
	return digest
}

func (p *position) decode(raw []byte) bool {
	const head = 1 + digestBytes + 1
	if len(raw) < head || raw[0] != positionVersion || raw[head-1] > maxPins {
		return false
	}
	copy(p.digest[:], raw[1:])
	pins := int(raw[head-1])
	raw = raw[head:]
	if len(raw) < pins*len(git.ID{})+4 {
		return false
	}
	for range pins {
		p.pins, raw = append(p.pins, git.ID(raw[:len(git.ID{})])), raw[len(git.ID{}):]
	}
	p.last = binary.BigEndian.Uint32(raw)
	done, size := binary.Uvarint(raw[4:])
	p.done = int(min(done, maxDone))
	return size > 0 && len(raw) == 4+size
}

// maxDone bounds the items before a page: more than a tree may have.
const maxDone = maxWalkedEntries + 1

// after returns the cursor for the items from end on.
func (w window) after(end int) string {
	raw := append([]byte{positionVersion}, w.at.digest[:]...)
	raw = append(raw, byte(len(w.at.pins)))
	for _, pin := range w.at.pins {
		raw = append(raw, pin[:]...)
	}
	last := uint32(0)
	if w.key != nil {
		last = checkOf(w.key(end - 1))
	}
	raw = binary.BigEndian.AppendUint32(raw, last)
	return base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(raw, uint64(end)))
}

// pinned returns the commit of the cursor that takes the place of a revision.
func (a paging) pinned(nth int, of revision) revision {
	if nth < len(a.at.pins) {
		of.ref, of.sha = "", a.at.pins[nth].String()
	}
	return of
}

// pin records the commits that the list is of.
func (a *paging) pin(commits ...git.ID) { a.at.pins = commits }
