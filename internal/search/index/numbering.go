package index

import (
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

// documentKey identifies a document.
type documentKey struct {
	id       git.ID
	language string
}

// number is how documents are counted, in the order in which they came into the index. A document that leaves the
// index keeps its number.
type number = uint32

// numbering numbers documents, and knows which of them are below folders. It only grows: an index that has too many
// numbers begins a new one.
type numbering struct {
	folders *lru.Cache[git.ID, *Folder]

	mu        sync.RWMutex
	languages map[string]uint16
	numbers   map[compactKey]number
	known     []known // by number; elements never change
}

// compactKey is a [documentKey] with the number of its language.
type compactKey struct {
	id       git.ID
	language uint16
}

// known is what is known of a document.
type known struct {
	size uint32
	kind kind
}

// documentCost is the memory of a document: its places in the numbering, of which up to half are free, and in a
// segment.
const documentCost = 80

func newNumbering(folderBytes int64) *numbering {
	return &numbering{
		folders:   lru.New[git.ID, *Folder](folderBytes),
		languages: make(map[string]uint16), numbers: make(map[compactKey]number),
	}
}

// find returns the number of a document.
func (n *numbering) find(key documentKey) (number, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	language, ok := n.languages[key.language]
	if !ok {
		return 0, false
	}
	at, ok := n.numbers[compactKey{key.id, language}]
	return at, ok
}

// add numbers documents.
func (n *numbering) add(documents []document) []number {
	n.mu.Lock()
	defer n.mu.Unlock()
	numbers := make([]number, len(documents))
	for i := range documents {
		d := &documents[i]
		language, ok := n.languages[d.language]
		if !ok {
			language = uint16(len(n.languages))
			n.languages[d.language] = language
		}
		key := compactKey{d.id, language}
		at, ok := n.numbers[key]
		if !ok {
			at = number(len(n.known))
			n.numbers[key] = at
			n.known = append(n.known, known{d.size, d.kind})
		}
		numbers[i] = at
	}
	return numbers
}

// all returns what is known by number.
func (n *numbering) all() []known {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.known
}

// Folder is what is below a folder of a commit, if all of it is in the index.
type Folder struct {
	Counts
	docs *roaring.Bitmap
	end  number // above all
}

// Counts are those of files, by their paths.
type Counts struct{ Texts, Binary, Large int }

func (c *Counts) add(d Counts) {
	c.Texts += d.Texts
	c.Binary += d.Binary
	c.Large += d.Large
}

// Sum collects what is below a folder. The zero value is that of an empty one.
type Sum struct {
	counts     Counts
	numbers    []number
	folders    []*Folder
	incomplete bool
}

// Lack notes that something below the folder is not known.
func (s *Sum) Lack() { s.incomplete, s.numbers, s.folders = true, nil, nil }

// AddFolder adds a folder below; nil if it is not known.
func (s *Sum) AddFolder(f *Folder) {
	if f == nil || s.incomplete {
		s.Lack()
		return
	}
	s.counts.add(f.Counts)
	s.folders = append(s.folders, f)
}

func (s *Sum) add(at number, k kind) {
	if s.incomplete {
		return
	}
	s.numbers = append(s.numbers, at)
	switch k &^ generated {
	case binaryFile:
		s.counts.Binary++
	case largeFile:
		s.counts.Large++
	default:
		s.counts.Texts++
	}
}

// folderCost is the memory of a folder besides its bitmap.
const folderCost = 250

// remember keeps the sum of a folder, and returns it; nil if it is incomplete.
func (n *numbering) remember(tree git.ID, s *Sum) *Folder {
	if s.incomplete {
		return nil
	}
	f := &Folder{Counts: s.counts, docs: roaring.New()}
	f.docs.AddMany(s.numbers)
	for _, below := range s.folders {
		f.docs.Or(below.docs)
	}
	f.docs.RunOptimize()
	if !f.docs.IsEmpty() {
		f.end = f.docs.Maximum() + 1
	}
	n.folders.Put(tree, f, folderCost+int64(f.docs.GetSizeInBytes()))
	return f
}
