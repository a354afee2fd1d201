package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// PatchVersion names the function from two contents to a patch, as
	// [EncoderVersion] does that of streams.
	PatchVersion = "1"

	// MaxPatched is how long each content may be. Each worker that makes patches holds
	// both and the patch, with 2 MiB of window and tables of 8 MiB: 13 MiB, of the 64
	// that an archive may take.
	MaxPatched = 1 << 20

	// patchWindow lets the last byte of the new content be copied from the first of
	// the old one.
	patchWindow = 2 * MaxPatched

	// quickBytes is the old content up to which the quick way finds most of it again:
	// it remembers 32,768 places.
	quickBytes = 128 << 10
)

// Patcher makes patches: frames of RFC 8878 that have the old content as their
// dictionary, without an id of it, as those of zstd --patch-from. The result is a
// function of both contents and the effort. One goroutine uses it at a time.
type Patcher struct {
	careful, quick *zstd.Encoder // made when they are needed
}

// Append appends the patch that turns one content into another. Quick takes a seventh
// of the time for small contents, and makes it twice as long.
func (p *Patcher) Append(dst, before, after []byte, quick bool) ([]byte, error) {
	encoder, effort := &p.careful, better
	if quick && len(before) <= quickBytes {
		encoder, effort = &p.quick, fast
	}
	dictionary := zstd.WithEncoderDictRaw(0, before)
	var err error
	if *encoder == nil {
		// Without a checksum: git's id of the result is compared.
		*encoder, err = newEncoderOf(effort, patchWindow, zstd.WithEncoderCRC(false), dictionary)
	} else {
		err = (*encoder).ResetWithOptions(nil, dictionary)
	}
	if err != nil {
		return dst, fmt.Errorf("encoder: %w", err)
	}
	return (*encoder).EncodeAll(after, dst), nil
}
