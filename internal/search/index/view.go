package index

import (
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// Query is what files are searched for.
type Query struct {
	Need Need
	// Words are what files are ranked by, or nil; Need counts alone if there is a pattern besides them.
	Words *rank.Query
}

// byWords reports whether files are searched for words alone.
func (q Query) byWords() bool { return q.Words != nil && !q.Words.HasPattern() }

// key is equal for queries with the same view.
func (q Query) key() string {
	if !q.byWords() {
		return fmt.Sprint(q.Need)
	}
	forms, exact := q.Words.Forms()
	return fmt.Sprintf("%q %t", forms, exact)
}

// Verdict is what the index knows of a file.
type Verdict int

const (
	// Absent is a file that is not in the index: it must be read.
	Absent Verdict = iota
	// Candidate is a file that must be read, because it may match.
	Candidate
	// None is a file without a match.
	None
	// Binary is a file with a NUL near the beginning.
	Binary
	// Large is a file above the bound.
	Large
	// Counted is a file that is ranked by the tally.
	Counted
)

// View is the index as it was when a search began. One goroutine uses it.
type View struct {
	// Scans reports that the query does not tell which files can match, so that all are read.
	Scans bool

	state    *state
	searched *roaring.Bitmap // documents to be looked at: candidates, and those in no segment
	counts   *counts         // nil: candidates are read
	given    []rank.Count    // see counts.of
}

// state are the segments at one time. They do not change.
type state struct {
	numbering *numbering
	segments  []*segment
	known     []known         // the documents that are numbered
	absent    *roaring.Bitmap // those of them that are in no segment
	// views are those of late queries: a client asks the same of many commits, or page after page.
	views *lru.Cache[string, View]
}

// View returns the index for one query. It reads the lists of all segments; a damaged one is dropped.
func (x *Index) View(q Query) *View {
	for key := q.key(); ; {
		v, failed := x.view(q, key)
		if failed == nil {
			return v
		}
		x.drop(failed)
	}
}

func (x *Index) view(q Query, key string) (*View, *damage) {
	x.reading.RLock()
	defer x.reading.RUnlock()
	now := x.now()
	if v, ok := now.views.Get(key); ok {
		v.given = make([]rank.Count, len(v.given))
		return &v, nil
	}
	v := View{state: now}
	if failed := v.collect(q); failed != nil {
		return nil, failed
	}
	now.views.Put(key, v, int64(len(key))+v.cost())
	return &v, nil
}

// collect finds the candidates.
func (v *View) collect(q Query) *damage {
	v.searched = v.state.absent.Clone()
	words := q.byWords()
	v.Scans = !words && len(q.Need) == 0
	if words {
		if forms, exact := q.Words.Forms(); !exact && len(forms) <= maxTerms {
			v.counts, v.given = newCounts(len(v.state.known)), make([]rank.Count, len(forms))
		}
	}
	var l lookup
	for _, s := range v.state.segments {
		l.segment = s
		var err error
		switch {
		case words:
			err = v.addWords(&l, q.Words)
		case !v.Scans:
			err = v.addMatches(&l, q.Need)
		default:
			v.searched.AddMany(s.numbers)
		}
		if err != nil {
			return &damage{s, err}
		}
	}
	return nil
}

// addMatches adds the documents of a segment that have what is needed.
func (v *View) addMatches(l *lookup, need Need) error {
	var found []uint32
	for i, a := range need {
		some, err := l.having(a)
		if err != nil {
			return err
		}
		if found = intersect(found, some); i == 0 {
			found = slices.Clone(some)
		}
	}
	v.add(l.segment, found)
	return nil
}

func (v *View) add(s *segment, docs []uint32) {
	numbers := make([]number, len(docs))
	for i, d := range docs {
		numbers[i] = s.numbers[d]
	}
	v.searched.AddMany(numbers)
}

// addWords adds the documents of a segment that have a word.
func (v *View) addWords(l *lookup, q *rank.Query) error {
	s := l.segment
	wordless, err := l.docs(keyWordless)
	if err != nil {
		return err
	}
	v.add(s, wordless)
	if v.counts != nil {
		v.counts.lack(s, wordless)
		v.counts.lack(s, s.foreign)
	}
	forms, _ := q.Forms()
	var docs []uint32
	for term, form := range forms {
		found, err := l.occurrences(form)
		if err != nil {
			return err
		}
		docs = docs[:0]
		for _, o := range found {
			docs = append(docs, o.doc)
			if v.counts != nil {
				v.counts.add(s.numbers[o.doc], term, o)
			}
		}
		v.add(s, docs)
	}
	return nil
}

// viewCost is the memory of a view besides its candidates and its key.
const viewCost = 400

// cost is the memory of a view that is kept.
func (v *View) cost() int64 {
	cost := viewCost + int64(v.searched.GetSizeInBytes())
	if v.counts != nil {
		cost += v.counts.cost()
	}
	return cost
}

// Counts reports whether the words of most files are counted, so that these are not read.
func (v *View) Counts() bool { return v.counts != nil }

// File returns what the index knows of a file, and adds the file to the sum of its folder.
func (v *View) File(id git.ID, path string, folder *Sum) (Verdict, rank.Tally) {
	at, ok := v.state.numbering.find(id)
	if ok = ok && int(at) < len(v.state.known); !ok {
		folder.Lack()
		return Absent, rank.Tally{}
	}
	k := &v.state.known[at]
	folder.add(at, k.kind)
	verdict := None
	switch {
	case v.state.absent.Contains(at):
		verdict = Absent
	case k.kind == binaryFile:
		verdict = Binary
	case k.kind == largeFile:
		verdict = Large
	case !v.searched.Contains(at):
	case v.counts == nil || k.language != NamerOf(path).Language():
		verdict = Candidate
	default:
		counts, complete := v.counts.of(at, v.given)
		if !complete {
			return Candidate, rank.Tally{}
		}
		return Counted, rank.IndexedTally(int(k.size), k.kind&generated != 0, counts)
	}
	return verdict, rank.Tally{}
}

// Folder returns what is below a folder, or nil if that is not known.
func (v *View) Folder(tree git.ID) *Folder {
	f, _ := v.state.numbering.folders.Get(tree)
	return f
}

// Remember keeps the sum of a folder for later searches.
func (v *View) Remember(tree git.ID, s *Sum) *Folder { return v.state.numbering.remember(tree, s) }

// Lacks reports whether nothing below a folder can match.
func (v *View) Lacks(f *Folder) bool {
	return int(f.end) <= len(v.state.known) && !f.intersects(v.searched)
}
