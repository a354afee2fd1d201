package history

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/repomcp/repomcp/internal/git"
)

// position is a place in a log: a start, and the number of commits that the walk from there has
// examined. The walk is repeated from the start, which is fast thanks to [Cache]. So a cursor needs
// no memory in the server, and is right even for wrongly dated commits.
type position struct {
	start     git.ID
	base      git.ID // zero if there is none
	symmetric bool
	looked    int
	// skip is the number of further commits to omit.
	skip int
	// followed is the current name of the followed file.
	followed string
}

// First byte of a cursor: whether a base follows its start.
const (
	cursorPlain  = 1
	cursorRanged = 2
)

// digestBytes suffice to detect accidental changes of options.
const digestBytes = 6

// digest identifies the options that select the commits of a log.
func (o *LogOptions) digest() []byte {
	text, err := json.Marshal([]any{
		o.Paths, o.Author, unixOf(o.Since), unixOf(o.Until), o.FirstParent, o.Follow,
		patternOf(o.Message), o.Pickaxe, patternOf(o.PickaxeLines), o.Mailmap != nil, o.Symmetric,
	})
	if err != nil {
		panic("history: internal error: " + err.Error()) // strings and numbers cannot fail
	}
	sum := sha256.Sum256(text)
	return sum[:digestBytes]
}

// cursor encodes a position.
func (o *LogOptions) cursor(at position) string {
	b := append([]byte{cursorPlain}, o.digest()...)
	b = append(b, at.start[:]...)
	if !at.base.IsZero() {
		b[0] = cursorRanged
		b = append(b, at.base[:]...)
	}
	b = binary.AppendUvarint(b, uint64(at.looked))
	b = binary.AppendUvarint(b, uint64(at.skip))
	return base64.RawURLEncoding.EncodeToString(append(b, at.followed...))
}

// position decodes the cursor, or begins at the start. Cursors come from clients, so their commits
// are resolved like any other revision.
func (o *LogOptions) position(ctx context.Context, snapshot *git.Snapshot) (position, error) {
	if o.Cursor == "" {
		return position{start: o.Start, base: o.Base, symmetric: o.Symmetric}, nil
	}
	at, ok := o.parseCursor()
	if !ok {
		return position{}, fmt.Errorf("cursor is not one of this list; begin again without it: %w", git.ErrInvalid)
	}
	for _, id := range []git.ID{at.start, at.base} {
		if id.IsZero() {
			continue
		}
		if _, err := snapshot.Resolve(ctx, id.String()); err != nil {
			return position{}, err
		}
	}
	return at, nil
}

func (o *LogOptions) parseCursor() (at position, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(o.Cursor)
	head := 1 + digestBytes
	if err != nil || len(b) < head+len(at.start) || string(b[1:head]) != string(o.digest()) {
		return position{}, false
	}
	ranged := b[0] == cursorRanged
	if !ranged && b[0] != cursorPlain {
		return position{}, false
	}
	at.start, b = git.ID(b[head:head+len(at.start)]), b[head+len(at.start):]
	if ranged && len(b) > len(at.base) {
		at.base, b, at.symmetric = git.ID(b[:len(at.base)]), b[len(at.base):], o.Symmetric
	}
	if ranged == at.base.IsZero() {
		return position{}, false
	}
	for _, number := range []*int{&at.looked, &at.skip} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > maxHistory {
			return position{}, false
		}
		*number, b = int(n), b[size:]
	}
	at.followed = string(b)
	return at, true
}

func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.Unix()
}

func patternOf(r *regexp.Regexp) string {
	if r == nil {
		return ""
	}
	return r.String()
}
