package index

import (
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
)

// number is how documents are counted, in the order in which they came into the index. A document that leaves the
// index keeps its number.
type number = uint32

// numbering numbers documents, and knows which of them are below folders. It only grows: an index that has too many
// numbers begins a new one.
type numbering struct {
	folders *lru.Cache[git.ID, *Folder]

	mu      sync.RWMutex
	numbers map[git.ID]number
	known   []known // by number; elements never change
}

// known is what is known of a document.
type known struct {
	size     uint32
	kind     kind
	language string
}

// documentCost is the memory of a document: its places in the numbering, of which up to half are free, and in a
// segment.
const documentCost = 90

func newNumbering(folderBytes int64) *numbering {
	return &numbering{
		folders: lru.New[git.ID, *Folder](folderBytes), numbers: make(map[git.ID]number),
	}
}

// find returns the number of a document.
func (n *numbering) find(id git.ID) (number, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	at, ok := n.numbers[id]
	return at, ok
}

// add numbers documents. Those that are known in another language are also returned, by their places in the list.
func (n *numbering) add(documents []document) (numbers []number, foreign []uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	numbers = make([]number, len(documents))
	for i := range documents {
		d := &documents[i]
		at, ok := n.numbers[d.id]
		if !ok {
			at = number(len(n.known))
			n.numbers[d.id] = at
			n.known = append(n.known, known{d.size, d.kind, d.language})
		}
		numbers[i] = at
		if n.known[at].language != d.language {
			foreign = append(foreign, uint32(i))
		}
	}
	return numbers, foreign
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
	few  []number        // the documents if they are few: most folders have a handful
	docs *roaring.Bitmap // else
	end  number          // above all
}

// intersects reports whether one of the documents is in a set.
func (f *Folder) intersects(set *roaring.Bitmap) bool {
	if f.docs != nil {
		return set.Intersects(f.docs)
	}
	return slices.ContainsFunc(f.few, set.Contains)
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

const (
	// folderCost is the memory of a folder besides its documents, numberCost that of one in a list.
	folderCost = 250
	numberCost = 4
	// fewNumbers are a list and no bitmap, which consists of many small objects for the garbage collector.
	fewNumbers = 32
)

// remember keeps the sum of a folder, and returns it; nil if it is incomplete.
func (n *numbering) remember(tree git.ID, s *Sum) *Folder {
	if s.incomplete {
		return nil
	}
	f := &Folder{Counts: s.counts}
	if f.Texts+f.Binary+f.Large <= fewNumbers {
		f.list(s)
		n.folders.Put(tree, f, folderCost+numberCost*int64(cap(f.few)))
	} else {
		f.unite(s)
		n.folders.Put(tree, f, folderCost+int64(f.docs.GetSizeInBytes()))
	}
	return f
}

// list makes the list of few documents.
func (f *Folder) list(s *Sum) {
	f.few = make([]number, 0, f.Texts+f.Binary+f.Large)
	f.few = append(f.few, s.numbers...)
	for _, below := range s.folders {
		f.few = append(f.few, below.few...)
	}
	if len(f.few) > 0 {
		f.end = slices.Max(f.few) + 1
	}
}

// unite makes the bitmap of many documents. Bitmaps come last: a number is added to an array of numbers faster than to
// the runs that folders have.
func (f *Folder) unite(s *Sum) {
	f.docs = roaring.New()
	f.docs.AddMany(s.numbers)
	for _, below := range s.folders {
		f.docs.AddMany(below.few)
	}
	for _, below := range s.folders {
		if below.docs != nil {
			f.docs.Or(below.docs)
		}
	}
	f.docs.RunOptimize()
	f.end = f.docs.Maximum() + 1
}
