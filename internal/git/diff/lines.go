package diff

import (
	"context"
	"errors"
	"runtime"
)

// MaxBytes is the longest text that is compared, as in git. Positions fit into 32 bits below it.
const MaxBytes = 1023 << 20

// ErrTooLarge says that a text has more than [MaxBytes].
var ErrTooLarge = errors.New("text is too large to compare")

// Change says that some lines of one text stand in the place of some lines of
// the other. Lines are counted from 0; a line ends after "\n" or with the text.
// One of the two counts may be 0: the position is then the line before which
// lines were put in or taken out.
type Change struct {
	A, ALines int // first line and number of lines taken out of a
	B, BLines int // first line and number of lines put in from b
}

// Options of a comparison. The zero value is what `git diff` does.
type Options struct {
	// TrimTail takes no notice of what the ends of the texts have in common.
	// It changes what counts as a frequent line and where a change near the
	// end may move, and is what git does where it shows no context: in
	// `git blame` and for `git diff -U0`.
	TrimTail bool
}

// Lines finds what differs between a and b, in the order of the lines. Between
// two changes there is at least one line that both texts have. The error is
// [ErrTooLarge] or the context's.
func Lines(ctx context.Context, a, b []byte, o Options) ([]Change, error) {
	runtime.Gosched() // a blame makes thousands
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

// Count adds up the lines that changes put in and take out.
func Count(changes []Change) (added, deleted int) {
	for _, c := range changes {
		added += c.BLines
		deleted += c.ALines
	}
	return added, deleted
}
