package zstd

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// PatchVersion names the function from two contents to a patch, as [EncoderVersion] does for
	// streams.
	PatchVersion = "1"

	// MaxPatched is the largest length of each content. Each worker that makes patches holds both
	// and the patch, with 2 MiB of window and tables of 8 MiB: 13 of the 64 MiB that an archive may
	// take.
	MaxPatched = 1 << 20

	// patchWindow allows the last byte of the new content to be copied from the first of the old
	// one.
	patchWindow = 2 * MaxPatched

	// quickBytes is the length of old content up to which the quick encoder finds most matches: it
	// remembers 32,768 positions.
	quickBytes = 128 << 10
)

// Patcher makes patches: frames of RFC 8878 that have the old content as their dictionary, without
// a dictionary id, like those of zstd --patch-from. The result is a function of both contents and
// the effort. One goroutine uses it at a time.
type Patcher struct {
	careful, quick *zstd.Encoder // made on first use
}

// Append appends the patch that turns before into after. Quick takes a seventh of the time for
// small contents, and makes a patch twice as long.
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
