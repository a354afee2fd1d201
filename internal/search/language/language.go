// Package language decides which files are in a programming language, with the names and the data
// of github-linguist.
//
//	set, err := language.Parse("go", "c++")
//	switch set.ByName("bin/run") {
//	case language.Unsure: // the first line decides
//		is = set.ByFirstLine(content)
//	}
//
// The whole name takes precedence over the extension, and the extension over the interpreter of the
// first line. A file whose extension belongs to several languages is in all of them: a search
// should rather find too much.
//
// The data are those of github.com/go-enry/go-enry/v2, which tests compare with. That package is
// not linked into the program, because its tables take 42 ms and 16 MB before main; here they are
// one constant string, parsed at the first question.
package language

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:generate go run generate.go

//go:embed table.txt
var text string

// facts maps a kind of fact (alias, file, extension or interpreter) and its value to the names of
// languages.
var facts = sync.OnceValue(func() map[string]map[string][]string {
	t := map[string]map[string][]string{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) < 3 { // the header
			continue
		}
		if t[fields[0]] == nil {
			t[fields[0]] = map[string][]string{}
		}
		t[fields[0]][fields[1]] = fields[2:]
	}
	return t
})

// UnknownError names an unknown language.
type UnknownError struct {
	Name  string
	Close []string // similar names
}

func (e *UnknownError) Error() string {
	if len(e.Close) == 0 {
		return fmt.Sprintf("there is no language %q; use a name of github-linguist, or extension:", e.Name)
	}
	return fmt.Sprintf("there is no language %q; perhaps it is %s, or use extension:", e.Name,
		strings.Join(e.Close, ", "))
}

// Set is a set of languages.
type Set struct {
	names    map[string]bool
	scripted bool // a first line may name one of them
}

// Parse finds languages by their names or aliases in any case. It returns an [*UnknownError] for an
// unknown name.
func Parse(names ...string) (Set, error) {
	s := Set{names: map[string]bool{}}
	if len(names) == 0 {
		return s, nil // the table need not be read
	}
	for _, name := range names {
		// Linguist writes spaces in names as underscores, GitHub's users as dashes.
		key := strings.ReplaceAll(strings.ToLower(name), " ", "_")
		languages, ok := facts()["alias"][key]
		if !ok {
			languages, ok = facts()["alias"][strings.ReplaceAll(key, "-", "_")]
		}
		if !ok {
			return Set{}, &UnknownError{name, closeTo(key)}
		}
		s.names[languages[0]] = true
	}
	s.scripted = s.hasInterpreter()
	return s, nil
}

// maxClose bounds the suggestions for an unknown name.
const maxClose = 5

// closeTo lists languages whose names share a prefix with the unknown name.
func closeTo(key string) []string {
	var names []string
	for n := len(key); n >= 2 && len(names) == 0; n-- {
		for alias, languages := range facts()["alias"] {
			if strings.HasPrefix(alias, key[:n]) && !slices.Contains(names, languages[0]) {
				names = append(names, languages[0])
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxClose)]
}

// Answer is what a file name tells about the language.
type Answer int

// The answers of [Set.ByName].
const (
	No Answer = iota
	Yes
	Unsure // ask [Set.ByFirstLine]
)

// ByName decides by the name of a file.
func (s Set) ByName(path string) Answer {
	candidates := byName(base(path))
	switch {
	case slices.ContainsFunc(candidates, s.has):
		return Yes
	case len(candidates) == 0 && s.scripted:
		return Unsure
	default:
		return No
	}
}

// Names lists the languages of the set in order.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.names)) }

// hasInterpreter reports whether a first line may name one of the languages.
func (s Set) hasInterpreter() bool {
	for _, languages := range facts()["interpreter"] {
		if slices.ContainsFunc(languages, s.has) {
			return true
		}
	}
	return false
}

// headBytes bounds the inspected part of a content: its first line, if that is short.
const headBytes = 256

// ByFirstLine decides by the first line of a file's content, after an unsure name.
func (s Set) ByFirstLine(content []byte) bool {
	content = content[:min(len(content), headBytes)]
	return slices.ContainsFunc(facts()["interpreter"][interpreter(content)], s.has)
}

func (s Set) has(language string) bool { return s.names[language] }

// byName returns the languages that a file name allows. The longest known extension counts.
func byName(name string) []string {
	if found := facts()["file"][name]; found != nil {
		return found
	}
	name = strings.ToLower(name)
	for i := range len(name) {
		if name[i] == '.' {
			if found := facts()["extension"][name[i:]]; found != nil {
				return found
			}
		}
	}
	return nil
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Of returns the languages that the name of a file allows, the likeliest first where that is known.
func Of(path string) []string { return byName(base(path)) }
