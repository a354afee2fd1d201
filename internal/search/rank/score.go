package rank

import (
	"cmp"
	"math"
)

// Statistics are how many files there are, and how many have each term.
type Statistics struct {
	Files int // set by the caller: all that were searched
	with  []int
}

// Statistics returns those of no files.
func (q *Query) Statistics() *Statistics { return &Statistics{with: make([]int, len(q.terms))} }

// Add counts the terms of a file.
func (s *Statistics) Add(t *Tally) {
	for _, c := range t.Counts {
		s.with[c.Term]++
	}
}

// rarity is BM25's inverse document frequency.
func (s *Statistics) rarity(term int) float64 {
	with := float64(s.with[term])
	return math.Log(1 + (max(float64(s.Files), with)-with+0.5)/(with+0.5))
}

// Score tells where a file comes among others.
type Score struct {
	Named   bool // the query has the name of the file
	HasAll  bool // code that has all words, or any file with the name that is all of the query
	Defines bool // code that defines the only word, or what the pattern matches
	Value   float64
}

// Compare orders the better score first.
func (s Score) Compare(t Score) int {
	return cmp.Or(compareBools(s.Named, t.Named), compareBools(s.HasAll, t.HasAll), compareBools(s.Defines, t.Defines),
		cmp.Compare(t.Value, s.Value))
}

// compareBools orders true first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Score returns the score of a file by its path and tally.
func (s *Scanner) Score(q *Query, all *Statistics, path string, t *Tally) Score {
	have, defines := make([]float64, len(q.terms)), false
	length := 1 - lengthShare + lengthShare*float64(t.Bytes)/typicalBytes
	for _, c := range t.Counts {
		have[c.Term] = (float64(c.Other) + weightInName*float64(c.Names+c.InName)) / length
		if c.Names > 0 {
			have[c.Term] += weightName
			defines = defines || q.isOnly(int(c.Term))
		}
	}
	in := s.inPath(q, path)
	value := 0.0
	for i, n := range have {
		if in.terms[i] != notInPath {
			n += weightPath
			have[i] = n
		}
		if n > 0 {
			n = (saturation + 1) * n / (saturation + n)
		}
		if in.terms[i] == isStem {
			n += weightStem
		}
		value += q.value(i, all) * n
	}
	c := classOf(path, t.Generated, in.folders)
	return Score{
		Named: q.names(path), HasAll: c.isMeant() && q.hasAll(have, all) || q.hasName(have),
		Defines: c.isMeant() && defines, Value: value * c.factor(),
	}
}
