package history

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

const (
	// minScore is the minimal score of a rename: half of the file is the same.
	minScore = wholeScore / 2
	// minNameScore is the score that suffices for files of the same name, which are then not
	// compared with others: halfway between minScore and all.
	minNameScore = minScore + (wholeScore-minScore)/2
	// renameLimit is git's diff.renameLimit: at most its square of pairs of deleted and added files
	// are compared, or none.
	renameLimit = 1000
	// identicalLimit bounds the candidates with identical content among which an origin is chosen.
	identicalLimit = 100
	// bestPerFile is the number of possible origins per file.
	bestPerFile = 4
)

// origin is a file that others may be renames or copies of.
type origin struct {
	likeness
	path string
	uses int // files that came from it, including itself if it still exists
}

// arrival is a file that may be a rename or copy.
type arrival struct {
	likeness
	path   string
	origin *origin // nil: new
	score  int
}

// renames assigns origins to arrivals in the steps of gitdiffcore(7), "diffcore-rename": files with
// the same content, files with the same name, and others by similarity. Among equally good origins,
// git's choice wins.
type renames struct {
	*chunker
	copies   bool
	origins  []*origin
	arrivals []*arrival
}

// findRenames replaces added and deleted files by renamed and copied ones. chunks bounds its
// memory.
func (s *source) findRenames(files []FileChange, copies bool, chunks int) (Comparison, error) {
	r := renames{chunker: &chunker{source: s, most: chunks}, copies: copies}
	origins, arrivals := make(map[int]*origin), make(map[int]*arrival)
	for i, f := range files {
		switch {
		case f.Status == Added:
			arrivals[i] = &arrival{likeness: newLikeness(f.NewMode, f.NewID), path: f.NewPath}
			r.arrivals = append(r.arrivals, arrivals[i])
		case f.Status == Deleted:
			origins[i] = &origin{likeness: newLikeness(f.OldMode, f.OldID), path: f.OldPath}
			r.origins = append(r.origins, origins[i])
		case copies:
			r.origins = append(r.origins, &origin{likeness: newLikeness(f.OldMode, f.OldID), path: f.OldPath, uses: 1})
		}
	}
	limited, err := r.match()
	if err != nil {
		return Comparison{}, err
	}
	result := Comparison{RenamesLimited: limited}
	for i, f := range files {
		if from := origins[i]; from != nil && from.uses != 0 {
			continue
		}
		if to := arrivals[i]; to != nil && to.origin != nil {
			f = to.change(f)
		}
		result.Files = append(result.Files, f)
	}
	return result, nil
}

// change turns an added file into a rename or copy. The last of several files from a deleted one is
// the rename.
func (a *arrival) change(f FileChange) FileChange {
	from := a.origin
	f.Status, f.Score = Copied, a.score*100/wholeScore
	f.OldPath, f.OldMode, f.OldID = from.path, from.mode, from.id
	if from.uses--; from.uses == 0 {
		f.Status = Renamed
		from.uses = reported
	}
	return f
}

// reported marks an origin whose last use was reported.
const reported = -1

func (r *renames) match() (limited bool, err error) {
	if len(r.origins) == 0 || len(r.arrivals) == 0 {
		return false, nil
	}
	r.identical()
	if !r.copies {
		r.dropUsed()
		if err := r.sameNames(); err != nil {
			return limitReached(err)
		}
		r.dropUsed()
	}
	open := slices.DeleteFunc(slices.Clone(r.arrivals), func(a *arrival) bool { return a.origin != nil })
	switch {
	case len(open) == 0 || len(r.origins) == 0:
		return false, nil
	case len(open)*len(r.origins) > renameLimit*renameLimit:
		return true, nil
	}
	pairs, err := r.comparePairs(open)
	if err != nil {
		return limitReached(err)
	}
	r.assignBest(pairs, false)
	if r.copies {
		r.assignBest(pairs, true)
	}
	return false, nil
}

// limitReached reports whether the search ended at its memory limit, which is no failure.
func limitReached(err error) (limited bool, _ error) {
	if errors.Is(err, errManyChunks) {
		return true, nil
	}
	return false, err
}

func (r *renames) assign(a *arrival, from *origin, score int) {
	from.uses++
	a.origin, a.score = from, score
}

// dropUsed removes origins that have an arrival.
func (r *renames) dropUsed() {
	r.origins = slices.DeleteFunc(r.origins, func(o *origin) bool { return o.uses > 0 })
}

// identical assigns files with identical content. It prefers unused origins, then those with the
// same name.
func (r *renames) identical() {
	byID := make(map[git.ID][]*origin)
	for _, o := range r.origins {
		byID[o.id] = append(byID[o.id], o)
	}
	for _, a := range r.arrivals {
		var best *origin
		bestScore, looked := -1, 0
		for _, o := range byID[a.id] {
			if (!o.mode.IsRegular() || !a.mode.IsRegular()) && o.mode != a.mode || o.uses > 0 && !r.copies {
				continue
			}
			score := 0
			if o.uses == 0 {
				score++
			}
			if sameName(o.path, a.path) {
				score++
			}
			if score > bestScore {
				best, bestScore = o, score
			}
			if looked++; score == 2 || looked == identicalLimit {
				break
			}
		}
		if best != nil {
			r.assign(a, best, wholeScore)
		}
	}
}

// sameNames assigns files that moved to another folder, if only one deleted and one added file have
// that name.
func (r *renames) sameNames() error {
	origins, arrivals := make(map[string]*origin), make(map[string]*arrival)
	for _, o := range r.origins {
		_, twice := origins[lastName(o.path)]
		origins[lastName(o.path)] = nilIf(twice, o)
	}
	for _, a := range r.arrivals {
		if a.origin == nil {
			_, twice := arrivals[lastName(a.path)]
			arrivals[lastName(a.path)] = nilIf(twice, a)
		}
	}
	for _, o := range r.origins {
		a := arrivals[lastName(o.path)]
		if a == nil || origins[lastName(o.path)] == nil {
			continue
		}
		score, err := r.compare(o, a, minNameScore)
		if err != nil {
			return err
		}
		if score >= minNameScore {
			r.assign(a, o, score)
		}
	}
	return nil
}

func nilIf[T any](not bool, p *T) *T {
	if not {
		return nil
	}
	return p
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func sameName(a, b string) bool { return lastName(a) == lastName(b) }

func (r *renames) compare(o *origin, a *arrival, least int) (int, error) {
	if err := r.source.ctx.Err(); err != nil {
		return 0, err
	}
	return r.similarity(&o.likeness, &a.likeness, least)
}

// pairing is a possible origin of a file.
type pairing struct {
	origin   *origin
	arrival  *arrival
	score    int
	sameName bool
}

// compareBest sorts pairings, best first, empty ones last.
func compareBest(x, y pairing) int {
	return cmp.Or(rank(x.arrival == nil)-rank(y.arrival == nil), y.score-x.score, rank(y.sameName)-rank(x.sameName))
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// comparePairs compares each file with all origins, and keeps the best few.
func (r *renames) comparePairs(open []*arrival) ([]pairing, error) {
	pairs := make([]pairing, 0, len(open)*bestPerFile)
	for _, a := range open {
		var best [bestPerFile]pairing
		for _, o := range r.origins {
			score, err := r.compare(o, a, minScore)
			if err != nil {
				return nil, err
			}
			worst := 0
			for i := range best {
				if compareBest(best[i], best[worst]) > 0 {
					worst = i
				}
			}
			p := pairing{o, a, score, sameName(o.path, a.path)}
			if compareBest(best[worst], p) > 0 {
				best[worst] = p
			}
		}
		pairs = append(pairs, best[:]...)
	}
	slices.SortStableFunc(pairs, compareBest)
	return pairs, nil
}

// assignBest processes sufficient pairings, best first. It uses each origin once, or repeatedly if
// again is set.
func (r *renames) assignBest(pairs []pairing, again bool) {
	for _, p := range pairs {
		if p.arrival == nil || p.score < minScore {
			return
		}
		if p.arrival.origin == nil && (again || p.origin.uses == 0) {
			r.assign(p.arrival, p.origin, p.score)
		}
	}
}
