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

// texts keeps texts that were read from packs. Like an answer, a text is right in every repository, because it was
// compared with its id.
type texts struct {
	limit int64
	full  atomic.Int64 // texts for which there was no room
	kept  *lru.Cache[git.ID, []byte]
}

func newTexts(limit int64) *texts { return &texts{limit: limit, kept: lru.New[git.ID, []byte](limit)} }

func (t *texts) put(id git.ID, content []byte) {
	cost := int64(len(content) + textCost)
	if diff.Binary(content) {
		return
	}
	if _, used := t.kept.Size(); used+cost > t.limit && t.full.Add(1)%rarely > 0 {
		return
	}
	t.kept.Put(id, bytes.Clone(content), cost)
}

const (
	// folderCost and entryCost are the memory of a folder and of its entries, besides their names.
	folderCost = 200
	entryCost  = 90
)

// tree returns the entries of a folder, which must not be changed. Like a text they are right in every repository.
func (s *search) tree(t *target, id git.ID) ([]git.TreeEntry, error) {
	if entries, ok := s.entries.Get(id); ok {
		return entries, nil
	}
	if err := s.openTarget(t); err != nil {
		return nil, err
	}
	entries, err := t.snapshot.Tree(id)
	if err != nil {
		return nil, damageIfMissing(err)
	}
	cost := int64(folderCost)
	for i := range entries {
		cost += int64(entryCost + len(entries[i].Name))
	}
	s.entries.Put(id, entries, cost)
	return entries, nil
}

// readText returns the content of a file. It is valid until the next call with the same scratch, and must not be
// changed.
func (s *Searcher) readText(snapshot *git.Snapshot, id git.ID, sc *scratch) ([]byte, error) {
	if text, ok := s.texts.kept.Get(id); ok {
		return text, nil
	}
	content, err := snapshot.ReadBlob(id, s.options.FileBytes, sc.content[:0])
	if err != nil {
		return nil, err
	}
	sc.content = content
	s.texts.put(id, content)
	return content, nil
}
