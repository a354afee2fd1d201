package index

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// Query is what files are searched for.
type Query struct {
	Need Need
	// Words are what files are ranked by, or nil; Need counts alone if there is a pattern besides them.
	Words *rank.Query
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
}

// state are the segments at one time. It does not change.
type state struct {
	numbering *numbering
	segments  []*segment
	known     []known         // the documents that are numbered
	absent    *roaring.Bitmap // those of them that are in no segment
}

// View returns the index for one query. It reads the lists of all segments; a damaged one is dropped.
func (x *Index) View(q Query) *View {
	for {
		x.reading.RLock()
		v := &View{state: x.now()}
		failed := v.collect(q)
		x.reading.RUnlock()
		if failed == nil {
			return v
		}
		x.drop(failed)
	}
}

// collect finds the candidates.
func (v *View) collect(q Query) *damage {
	v.searched = v.state.absent.Clone()
	words := q.Words != nil && !q.Words.HasPattern()
	v.Scans = !words && len(q.Need) == 0
	if words {
		if forms, exact := q.Words.Forms(); !exact && len(forms) <= maxTerms {
			v.counts = newCounts(len(v.state.known), len(forms))
		}
	}
	for _, s := range v.state.segments {
		var err error
		switch {
		case words:
			err = v.addWords(s, q.Words)
		case !v.Scans:
			err = v.addMatches(s, q.Need)
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
func (v *View) addMatches(s *segment, need Need) error {
	var found []uint32
	for i, a := range need {
		some, err := s.having(a)
		if err != nil {
			return err
		}
		if found = intersect(found, some); i == 0 {
			found = some
		}
	}
	v.add(s, found)
	return nil
}

func (v *View) add(s *segment, docs []uint32) {
	numbers := make([]number, len(docs))
	for i, d := range docs {
		numbers[i] = s.numbers[d]
	}
	v.searched.AddMany(numbers)
}

// having returns the documents that have one of some strings, as far as trigrams tell.
func (s *segment) having(a alternatives) (docs []uint32, err error) {
	if a.beyond {
		if docs, err = s.docs(keyBeyond); err != nil {
			return nil, err
		}
	}
	for _, word := range a.words {
		some, err := s.havingAll(word)
		if err != nil {
			return nil, err
		}
		docs = append(docs, some...)
	}
	if len(a.words) > 1 || a.beyond {
		slices.Sort(docs)
		docs = slices.Compact(docs)
	}
	return docs, nil
}

// fewDocs are read faster than further lists.
const fewDocs = 3

func (s *segment) havingAll(word []uint32) (docs []uint32, err error) {
	for i, gram := range word {
		some, err := s.docs(gramKey(gram))
		if err != nil {
			return nil, err
		}
		if docs = intersect(docs, some); i == 0 {
			docs = some
		}
		if len(docs) <= fewDocs {
			break
		}
	}
	return docs, nil
}

// intersect returns what is in both of two ascending lists, in the memory of the first.
func intersect(a, b []uint32) []uint32 {
	both := a[:0]
	for _, d := range a {
		for len(b) > 0 && b[0] < d {
			b = b[1:]
		}
		if len(b) == 0 {
			break
		}
		if b[0] == d {
			both = append(both, d)
		}
	}
	return both
}

// addWords adds the documents of a segment that have a word.
func (v *View) addWords(s *segment, q *rank.Query) error {
	wordless, err := s.docs(keyWordless)
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
		found, err := s.occurrences(form)
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
		counts, complete := v.counts.of(at)
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
