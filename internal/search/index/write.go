package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"slices"
)

// writer writes a segment: [writer.add] for each key in ascending order, then [writer.finish].
type writer struct {
	to      io.Writer
	err     error // the first
	sum     hash.Hash
	written int64
	block   []byte
	first   string
	last    []byte
	blocks  []block
}

func newWriter(to io.Writer) *writer { return &writer{to: to, sum: sha256.New()} }

func (w *writer) add(key string, list []byte) {
	if len(w.block) >= blockBytes {
		w.flush()
	}
	if len(w.block) == 0 {
		w.first, w.last = key, w.last[:0]
	}
	shared := 0
	for shared < min(len(key), len(w.last)) && key[shared] == w.last[shared] {
		shared++
	}
	w.block = binary.AppendUvarint(w.block, uint64(shared))
	w.block = appendString(w.block, key[shared:])
	w.block = binary.AppendUvarint(w.block, uint64(len(list)))
	w.block = append(w.block, list...)
	w.last = append(w.last[:0], key...)
}

func (w *writer) flush() {
	if len(w.block) > 0 {
		w.blocks = append(w.blocks, block{w.first, w.written, uint32(len(w.block)), checksum(w.block)})
		w.write(w.block)
		w.block = w.block[:0]
	}
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
	w.sum.Write(b)
	w.written += int64(len(b))
}

// finish writes what follows the blocks, and returns the name of the segment.
func (w *writer) finish(version string, text int64, documents []document) (name string, err error) {
	w.flush()
	table := appendString(nil, version)
	table = binary.AppendUvarint(table, uint64(text))
	var languages []string
	for i := range documents {
		if !slices.Contains(languages, documents[i].language) {
			languages = append(languages, documents[i].language)
		}
	}
	table = binary.AppendUvarint(table, uint64(len(languages)))
	for _, language := range languages {
		table = appendString(table, language)
	}
	table = binary.AppendUvarint(table, uint64(len(documents)))
	for i := range documents {
		d := &documents[i]
		table = append(table, d.id[:]...)
		table = binary.AppendUvarint(table, uint64(slices.Index(languages, d.language)))
		table = binary.AppendUvarint(table, uint64(d.kind))
		table = binary.AppendUvarint(table, uint64(d.size))
	}
	table = binary.AppendUvarint(table, uint64(len(w.blocks)))
	for i := range w.blocks {
		b := &w.blocks[i]
		table = appendString(table, b.first)
		table = binary.AppendUvarint(table, uint64(b.length))
		table = binary.AppendUvarint(table, uint64(b.sum))
	}
	foot := binary.BigEndian.AppendUint64(nil, uint64(w.written))
	foot = binary.BigEndian.AppendUint32(foot, uint32(len(table)))
	foot = binary.BigEndian.AppendUint32(foot, checksum(table))
	foot = binary.BigEndian.AppendUint32(foot, checksum(foot))
	w.write(table)
	w.write(append(foot, magic...))
	return hex.EncodeToString(w.sum.Sum(nil)), w.err
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
