package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

const (
	// maxAnswerBytes bounds the cached answers.
	maxAnswerBytes = 16 << 20
	// answerCost is the cost of an answer besides its key and its patterns; patternCost is that of
	// a pattern, whose string is shared with the rules.
	answerCost  = 500
	patternCost = 80
)

// rule allows repositories to principals that match all of its sets.
type rule struct {
	anybody                    bool
	principals, groups, scopes set // nil: no condition
	repositories               []string
}

type set map[string]bool

func (s set) hasOne(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s[name] })
}

func (r *rule) fits(p access.Principal) bool {
	return (r.principals == nil || r.principals[p.ID]) && (r.groups == nil || r.groups.hasOne(p.Groups)) &&
		(r.scopes == nil || r.scopes.hasOne(p.Scopes))
}

// table holds the rules of one version of the file, and the cached answers.
type table struct {
	rules          []rule
	groups, scopes set // that a rule names
	answers        *lru.Cache[string, *answer]
}

func newTable(list []rule) *table {
	t := &table{
		rules: list, groups: make(set), scopes: make(set),
		answers: lru.New[string, *answer](maxAnswerBytes),
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

// relevant removes groups and scopes that no rule names.
func (t *table) relevant(p access.Principal) access.Principal {
	keep := func(names []string, known set) []string {
		kept := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !known[name] })
		slices.Sort(kept)
		return slices.Compact(kept)
	}
	return access.Principal{ID: p.ID, Groups: keep(p.Groups, t.groups), Scopes: keep(p.Scopes, t.scopes)}
}

// answerFor returns the answer for a principal.
func (t *table) answerFor(p access.Principal) *answer {
	p = t.relevant(p)
	key := fmt.Sprintf("%q %q %q", p.ID, p.Groups, p.Scopes)
	if known, ok := t.answers.Get(key); ok {
		return known
	}
	found := newAnswer()
	for i := range t.rules {
		if t.rules[i].fits(p) {
			found.add(t.rules[i].repositories)
		}
	}
	return t.answers.GetOrPut(key, found, int64(len(key)+answerCost+patternCost*found.patterns))
}

// answer describes the repositories visible to one principal.
type answer struct {
	all      bool
	patterns int // in all fields below
	names    set
	folders  set // including all below them
	// globs are the other patterns by their first part, or by "" if that is a pattern itself: most
	// rules are for one group each, so a name is matched against few patterns.
	globs map[string][]string
}

func newAnswer() *answer {
	return &answer{names: make(set), folders: make(set), globs: make(map[string][]string)}
}

// ruleFor returns the number of the first rule that allows a name, or 0. It asks one rule after the
// other: answers do not remember where their patterns are from.
func (t *table) ruleFor(p access.Principal, name string) int {
	for i := range t.rules {
		if !t.rules[i].fits(p) {
			continue
		}
		own := newAnswer()
		if own.add(t.rules[i].repositories); own.allows(name) {
			return i + 1
		}
	}
	return 0
}

// everything matches all names; below, after a folder, all names in it.
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
		default:
			first, _, _ := strings.Cut(pattern, "/")
			if literal < len(first) {
				first = ""
			}
			a.globs[first] = append(a.globs[first], pattern)
		}
	}
	a.patterns += len(patterns)
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
	fits := func(glob string) bool { return wildmatch.Match(glob, text, wildmatch.PathName) }
	first, _, _ := strings.Cut(name, "/")
	return slices.ContainsFunc(a.globs[first], fits) || slices.ContainsFunc(a.globs[""], fits)
}
