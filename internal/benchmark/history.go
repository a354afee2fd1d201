package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
)

const (
	editsPerCommit = 20
	// Every so many commits add a file, and as many take one away.
	commitsPerAddition = 4
	editedLines        = 5
)

// history makes commits over a tree, as people do: some lines of some files,
// now and then a new file or one less.
type history struct {
	files  []file
	random *rand.Rand
}

func newHistory(files []file, seed uint64) *history {
	return &history{files: files, random: generator(seed)}
}

// write imports the tree and then the commits.
func (h *history) write(i *importer, commits int) {
	i.commit()
	for _, f := range h.files {
		i.put(f)
	}
	for n := range commits {
		i.commit()
		for range editsPerCommit {
			h.edit(i, n)
		}
		switch n % commitsPerAddition {
		case 0:
			h.add(i, n)
		case commitsPerAddition / 2:
			h.remove(i)
		}
	}
}

// edit changes some lines of one file: git finds a delta to what it was.
func (h *history) edit(i *importer, commit int) {
	f := &h.files[h.random.IntN(len(h.files))]
	lines := bytes.SplitAfter(f.content, []byte("\n"))
	for range editedLines {
		at := h.random.IntN(len(lines))
		line := fmt.Sprintf("// Line %d was changed by commit %d for reason %x.\n", at, commit, h.random.Uint64())
		if h.random.IntN(2) == 0 {
			lines[at] = []byte(line)
		} else {
			lines = slices.Insert(lines, at, []byte(line))
		}
	}
	f.content = bytes.Join(lines, nil)
	i.put(*f)
}

// add puts a variation of one file beside it.
func (h *history) add(i *importer, commit int) {
	f := h.files[h.random.IntN(len(h.files))]
	f.path = path.Join(path.Dir(f.path), fmt.Sprintf("added%d_%s", commit, path.Base(f.path)))
	f.content = append(fmt.Appendf(nil, "// Added by commit %d.\n", commit), f.content...)
	h.files = append(h.files, f)
	i.put(f)
}

func (h *history) remove(i *importer) {
	at := h.random.IntN(len(h.files))
	i.remove(h.files[at].path)
	h.files = slices.Delete(h.files, at, at+1)
}
