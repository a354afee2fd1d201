package unpack

import (
	"archive/tar"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// MaxPatched bounds both contents of a [Patch], which are in memory together. Servers send larger
// files whole.
const MaxPatched = 1 << 20

// patchRecord is the pax record of a member with a patch: the id of the base, the id of the result,
// and its size.
const patchRecord = "REPOMCP.patch"

// Patch describes the content of a member that is a patch: a frame of RFC 8878 that has the old
// content as its dictionary.
type Patch struct {
	Base ID    // of the old content
	ID   ID    // of the new content
	Size int64 // of the new content
}

// ErrPatch says that a patch does not produce the announced result from its base.
var ErrPatch = errors.New("unpack: the patch is damaged")

// ErrBase says that a patch is for another content.
var ErrBase = errors.New("unpack: the patch is for another content")

// Apply makes the new content from the old one. The result has the [Patch].ID; nothing longer is
// ever held.
func (p Patch) Apply(base, patch []byte) ([]byte, error) {
	if IDOf(base) != p.Base {
		return nil, ErrBase
	}
	if p.Size < 0 || p.Size > MaxPatched {
		return nil, fmt.Errorf("%w: it makes %d bytes", ErrPatch, p.Size)
	}
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(MaxPatched),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderDictRaw(0, base),
	)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	defer decoder.Close()
	content, err := decoder.DecodeAll(patch, make([]byte, 0, p.Size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	if int64(len(content)) != p.Size || IDOf(content) != p.ID {
		return nil, fmt.Errorf("%w: it makes another content", ErrPatch)
	}
	return content, nil
}

// patchOf reads the patch record of a header; nil if there is none.
func patchOf(header *tar.Header) (*Patch, error) {
	record, ok := header.PAXRecords[patchRecord]
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	p, err := parsePatch(record)
	if err != nil || header.Typeflag != tar.TypeReg {
		return nil, refuse(BadPatch, header.Name)
	}
	if most := max(p.Size, header.Size); most > MaxPatched {
		return nil, &LimitError{Limit: "bytes of a patched file", Path: header.Name, Most: MaxPatched}
	}
	return &p, nil
}

func parsePatch(record string) (p Patch, err error) {
	words := strings.Split(record, " ")
	if len(words) != 3 || len(words[0]) != 2*len(p.Base) || len(words[1]) != 2*len(p.ID) {
		return p, ErrPatch
	}
	_, badBase := hex.Decode(p.Base[:], []byte(words[0]))
	_, badID := hex.Decode(p.ID[:], []byte(words[1]))
	size, err := strconv.ParseUint(words[2], 10, 63)
	p.Size = int64(size)
	return p, errors.Join(badBase, badID, err)
}

// ReadPatch reads the content of a patch member, for [Patch.Apply].
func ReadPatch(m Member, content io.Reader) ([]byte, error) {
	patch := make([]byte, m.Size)
	_, err := io.ReadFull(content, patch)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return patch, err
}
