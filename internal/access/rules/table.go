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
	// maxAnswerBytes bounds the answers that are remembered.
	maxAnswerBytes = 16 << 20
	// answerCost is what one takes besides its key and its patterns, and patternCost
	// what one of those does: the texts are the rules'.
	answerCost  = 500
	patternCost = 80
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
	found := &answer{names: make(set), folders: make(set), globs: make(map[string][]string)}
	for i := range t.rules {
		if t.rules[i].fits(p) {
			found.add(t.rules[i].repositories)
		}
	}
	return t.answers.GetOrPut(key, found, int64(len(key)+answerCost+patternCost*found.patterns))
}

// answer is what one principal may know of.
type answer struct {
	all      bool
	patterns int // in all that follow
	names    set
	folders  set // with all below them
	// globs are all other patterns, by their first part, or by "" where that is one, too:
	// most rules are of one group each, and a name is tried on few.
	globs map[string][]string
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
