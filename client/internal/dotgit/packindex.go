package dotgit

import (
	"crypto/sha1"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"github.com/repomcp/repomcp/internal/git"
)

// publish completes a pack: it gives the file its name in a folder, and writes the indexes, the one
// that git looks for last. lasting writes the pack to the disk before. It returns the path without an
// extension.
func (p *pack) publish(folder string, lasting bool) (string, error) {
	sum, err := p.seal()
	if err != nil {
		return "", err
	}
	if lasting {
		if err := p.file.Sync(); err != nil {
			return "", err
		}
	}
	if err := p.file.Close(); err != nil { // an open file has no other name on Windows
		return "", err
	}
	name := filepath.Join(folder, "pack-"+sum.String())
	if err := os.Rename(p.file.Name(), name+".pack"); err != nil {
		return "", err
	}
	for _, part := range []struct {
		extension string
		write     func(io.Writer, git.ID) error
	}{{".rev", p.writeReverse}, {".idx", p.writeIndex}} {
		if err := writeWhole(name+part.extension, func(w io.Writer) error { return part.write(w, sum) }); err != nil {
			return "", err
		}
	}
	return name, nil
}

// writeIndex writes the index of a sealed pack, in version 2.
func (p *pack) writeIndex(w io.Writer, sum git.ID) error {
	index := &idxfile.Writer{}
	if err := index.OnHeader(uint32(len(p.entries))); err != nil {
		return err
	}
	for _, e := range p.entries {
		index.Add(plumbing.Hash(e.id), uint64(e.at), e.crc)
	}
	if err := index.OnFooter(plumbing.Hash(sum)); err != nil {
		return err
	}
	content, err := index.Index()
	if err == nil {
		_, err = idxfile.NewEncoder(w).Encode(content)
	}
	return err
}

// writeReverse writes the reverse index of a sealed pack: the place in the index of each object, in
// the order of the pack (gitformat-pack(5), pack-*.rev files).
func (p *pack) writeReverse(w io.Writer, sum git.ID) error {
	order := make([]int, len(p.entries)) // of the index
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return p.entries[a].id.Compare(p.entries[b].id) })
	places := make([]uint32, len(order))
	for place, i := range order {
		places[i] = uint32(place)
	}
	const version, sha1Format = 1, 1
	content := append([]byte("RIDX"), 0, 0, 0, version, 0, 0, 0, sha1Format)
	for _, place := range places {
		content = binary.BigEndian.AppendUint32(content, place)
	}
	content = append(content, sum[:]...)
	whole := sha1.Sum(content)
	_, err := w.Write(append(content, whole[:]...))
	return err
}
