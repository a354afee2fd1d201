package diff

import (
	"context"
	"errors"
	"runtime"
)

// MaxBytes bounds the compared texts, as in git. Positions below it fit into 32 bits.
const MaxBytes = 1023 << 20

// ErrTooLarge means that a text has more than [MaxBytes].
var ErrTooLarge = errors.New("text is too large to compare")

// Change replaces lines of one text by lines of the other. Lines are counted from 0; a line ends
// after "\n" or with the text. One of the two counts may be 0: its position is then the line before
// which lines are added or deleted.
type Change struct {
	A, ALines int // first line and number of lines deleted from a
	B, BLines int // first line and number of lines added from b
}

// Options of a comparison. The zero value corresponds to `git diff`.
type Options struct {
	// TrimTail ignores the common end of the texts. That affects which lines count as frequent and
	// where a change near the end may move. git does it if it shows no context: in `git blame` and
	// for `git diff -U0`.
	TrimTail bool
}

// Lines returns the changes from a to b in order. At least one common line separates two changes.
// The error is [ErrTooLarge] or the context's.
func Lines(ctx context.Context, a, b []byte, o Options) ([]Change, error) {
	runtime.Gosched() // a blame calls this thousands of times
	if len(a) > MaxBytes || len(b) > MaxBytes {
		return nil, ErrTooLarge
	}
	if o.TrimTail {
		a, b = trimTail(a, b)
	}
	pair := classify(a, b)
	if err := pair.mark(ctx); err != nil {
		return nil, err
	}
	removed, added, err := pair.placeBlocks(ctx)
	if err != nil {
		return nil, err
	}
	return changesOf(removed, added), nil
}

// Count sums the added and deleted lines.
func Count(changes []Change) (added, deleted int) {
	for _, c := range changes {
		added += c.BLines
		deleted += c.ALines
	}
	return added, deleted
}
