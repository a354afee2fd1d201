package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/lru"
	"github.com/repomcp/repomcp/internal/wildmatch"
)

const (
	// maxAnswerPatterns bounds the patterns in all answers that are remembered, of some
	// hundred bytes each.
	maxAnswerPatterns = 200_000
	// answerCost is what an answer takes besides, in patterns.
	answerCost = 20
)

// rule allows repositories to whoever fits all of the sets that it has.
type rule struct {
	anybody                    bool
	principals, groups, scopes set // nil: not asked
	repositories               []string
}

// set is of names.
type set map[string]bool

func (s set) hasOne(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s[name] })
}

func (r *rule) fits(p access.Principal) bool {
	return (r.principals == nil || r.principals[p.ID]) && (r.groups == nil || r.groups.hasOne(p.Groups)) &&
		(r.scopes == nil || r.scopes.hasOne(p.Scopes))
}

// table is the rules of one version of the file, and the answers that were found.
type table struct {
	rules          []rule
	groups, scopes set // that a rule names
	answers        *lru.Cache[string, *answer]
}

func newTable(list []rule) *table {
	t := &table{
		rules: list, groups: make(set), scopes: make(set),
		answers: lru.New[string, *answer](maxAnswerPatterns),
	}
	for _, r := range list {
		for name := range r.groups {
			t.groups[name] = true
		}
		for name := range r.scopes {
			t.scopes[name] = true
		}
	}
	return t
}

// relevant leaves out what no rule names.
func (t *table) relevant(p access.Principal) access.Principal {
	keep := func(names []string, known set) []string {
		kept := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !known[name] })
		slices.Sort(kept)
		return slices.Compact(kept)
	}
	return access.Principal{ID: p.ID, Groups: keep(p.Groups, t.groups), Scopes: keep(p.Scopes, t.scopes)}
}

// of returns what the rules say of a principal.
func (t *table) of(p access.Principal) *answer {
	p = t.relevant(p)
	key := fmt.Sprintf("%q %q %q", p.ID, p.Groups, p.Scopes)
	if known, ok := t.answers.Get(key); ok {
		return known
	}
	found := &answer{names: make(set), folders: make(set)}
	for i := range t.rules {
		if t.rules[i].fits(p) {
			found.add(t.rules[i].repositories)
		}
	}
	return t.answers.GetOrPut(key, found, found.cost())
}

// answer is what one principal may know of.
type answer struct {
	all     bool
	names   set
	folders set      // with all below them
	globs   []string // all other patterns
}

// everything is the pattern of all names, and below that of all below a folder.
const (
	everything = "**"
	below      = "/" + everything
)

func (a *answer) add(patterns []string) {
	for _, pattern := range patterns {
		folder, whole := strings.CutSuffix(pattern, below)
		switch literal := wildmatch.Literal(pattern); {
		case pattern == everything:
			a.all = true
		case literal == len(pattern):
			a.names[pattern] = true
		case whole && literal >= len(folder):
			a.folders[folder] = true
		case !slices.Contains(a.globs, pattern):
			a.globs = append(a.globs, pattern)
		}
	}
}

func (a *answer) cost() int64 {
	return int64(answerCost + len(a.names) + len(a.folders) + len(a.globs))
}

func (a *answer) allows(name string) bool {
	if a.all || a.names[name] {
		return true
	}
	if len(a.folders) > 0 {
		for i := range len(name) {
			if name[i] == '/' && a.folders[name[:i]] {
				return true
			}
		}
	}
	text := []byte(name)
	return slices.ContainsFunc(a.globs, func(glob string) bool {
		return wildmatch.Match(glob, text, wildmatch.PathName)
	})
}
