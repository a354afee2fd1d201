package search

import (
	"bytes"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/diff"
)

const (
	// textCost is the memory of a kept text besides its bytes.
	textCost = 200
	// rarely is how often a text takes the place of others. A search that reads more than is kept would replace all
	// texts before it comes to one of them again.
	rarely = 16
)

// objects keeps the texts of files and the entries of folders that were read from packs. Like an answer, they are right
// in every repository, because they were compared with their ids. Folders take the place of texts.
type objects struct {
	limit int64
	full  atomic.Int64            // texts for which there was no room
	kept  *lru.Cache[git.ID, any] // []byte or []git.TreeEntry
}

func newObjects(limit int64) *objects {
	return &objects{limit: limit, kept: lru.New[git.ID, any](limit)}
}

func (o *objects) text(id git.ID) ([]byte, bool) {
	kept, _ := o.kept.Get(id)
	text, ok := kept.([]byte)
	return text, ok
}

func (o *objects) putText(id git.ID, content []byte) {
	cost := int64(len(content) + textCost)
	if diff.Binary(content) {
		return
	}
	if _, used := o.kept.Size(); used+cost > o.limit && o.full.Add(1)%rarely > 0 {
		return
	}
	o.kept.Put(id, bytes.Clone(content), cost)
}

func (o *objects) entries(id git.ID) ([]git.TreeEntry, bool) {
	kept, _ := o.kept.Get(id)
	entries, ok := kept.([]git.TreeEntry)
	return entries, ok
}

const (
	// folderCost and entryCost are the memory of a folder and of its entries, besides their names.
	folderCost = 200
	entryCost  = 90
)

func (o *objects) putEntries(id git.ID, entries []git.TreeEntry) {
	cost := int64(folderCost)
	for i := range entries {
		cost += int64(entryCost + len(entries[i].Name))
	}
	o.kept.Put(id, entries, cost)
}

// tree returns the entries of a folder, which must not be changed.
func (s *search) tree(t *target, id git.ID) ([]git.TreeEntry, error) {
	if entries, ok := s.objects.entries(id); ok {
		return entries, nil
	}
	if err := s.openTarget(t); err != nil {
		return nil, err
	}
	entries, err := t.snapshot.Tree(id)
	if err != nil {
		return nil, git.MustExist(id, err)
	}
	s.objects.putEntries(id, entries)
	return entries, nil
}

// readText returns the content of a file. It is valid until the next call with the same scratch, and must not be
// changed.
func (s *Searcher) readText(snapshot *git.Snapshot, id git.ID, sc *scratch) ([]byte, error) {
	if text, ok := s.objects.text(id); ok {
		return text, nil
	}
	content, err := snapshot.ReadBlob(id, s.options.FileBytes, sc.content[:0])
	if err != nil {
		return nil, err
	}
	sc.content = content
	s.objects.putText(id, content)
	return content, nil
}
