// Package language says which files are of a programming language, with the
// names and the facts of github-linguist.
//
//	set, err := language.Parse("go", "c++")
//	switch set.ByName("src/a.h") {
//	case language.Unsure: // the content decides
//		is = set.ByContent("src/a.h", content)
//	}
//
// The whole name decides before the extension, and that before the content,
// which is asked only where several languages share an extension, or where there
// is none and the first line names an interpreter. If the content does not
// decide either, a file is of all languages that it may be of: a search should
// rather find too much.
//
// The facts are those of github.com/go-enry/go-enry/v2, which tests compare with.
// It is not linked into the program, for its tables take 42 ms and 16 MB before
// main; here they are one constant text, read at the first question.
package language

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:generate sh -c "go run generate.go $(go list -m -f '{{.Dir}}' github.com/go-enry/go-enry/v2)"

//go:embed table.txt
var text string

// table is text in maps. Languages are called by their names.
type table struct {
	aliases      map[string]string
	files        map[string][]string
	extensions   map[string][]string
	interpreters map[string][]string
	rules        map[string]*ruleList // by extension
}

var facts = sync.OnceValue(func() *table {
	t := &table{
		aliases: map[string]string{}, files: map[string][]string{}, extensions: map[string][]string{},
		interpreters: map[string][]string{}, rules: map[string]*ruleList{},
	}
	lists := map[string]map[string][]string{"file": t.files, "extension": t.extensions, "interpreter": t.interpreters}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case len(fields) < 3: // the head
		case fields[0] == "alias":
			t.aliases[fields[1]] = fields[2]
		case fields[0] == "content":
			list := &ruleList{text: fields[2]}
			for extension := range strings.FieldsSeq(fields[1]) {
				t.rules[extension] = list
			}
		default:
			lists[fields[0]][fields[1]] = fields[2:]
		}
	}
	return t
})

// UnknownError names a language that there is not.
type UnknownError struct {
	Name  string
	Close []string // names that look like it
}

func (e *UnknownError) Error() string {
	if len(e.Close) == 0 {
		return fmt.Sprintf("there is no language %q; use a name of github-linguist, or extension:", e.Name)
	}
	return fmt.Sprintf("there is no language %q; perhaps it is %s, or use extension:", e.Name, strings.Join(e.Close, ", "))
}

// Set is some languages.
type Set struct {
	names    map[string]bool
	scripted bool // a first line may name one of them
}

// Parse finds languages by their names or aliases in any case. It gives an
// [*UnknownError] when there is none of a name.
func Parse(names ...string) (Set, error) {
	s := Set{names: map[string]bool{}}
	if len(names) == 0 {
		return s, nil // the table need not be read
	}
	for _, name := range names {
		// Linguist writes spaces in names as underscores, GitHub's users as dashes.
		key := strings.ReplaceAll(strings.ToLower(name), " ", "_")
		language, ok := facts().aliases[key]
		if !ok {
			if language, ok = facts().aliases[strings.ReplaceAll(key, "-", "_")]; !ok {
				return Set{}, &UnknownError{name, closeTo(key)}
			}
		}
		s.names[language] = true
	}
	s.scripted = s.hasInterpreter()
	return s, nil
}

// maxClose bounds the names that are offered for a wrong one.
const maxClose = 5

// closeTo lists languages one of whose names begins as the wrong one does.
func closeTo(key string) []string {
	var names []string
	for n := len(key); n >= 2 && len(names) == 0; n-- {
		for alias, name := range facts().aliases {
			if strings.HasPrefix(alias, key[:n]) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxClose)]
}

// Answer is what a name says about the language.
type Answer int

// The answers of [Set.ByName].
const (
	No Answer = iota
	Yes
	Unsure // ask [Set.ByContent]
)

// ByName asks the name of a file.
func (s Set) ByName(path string) Answer {
	candidates, _ := byName(base(path))
	wanted := 0
	for _, c := range candidates {
		if s.names[c] {
			wanted++
		}
	}
	switch {
	case len(candidates) == 0 && s.scripted:
		return Unsure
	case wanted == 0:
		return No
	case wanted == len(candidates):
		return Yes
	default:
		return Unsure
	}
}

// hasInterpreter reports whether a first line may name one of the languages.
func (s Set) hasInterpreter() bool {
	for _, languages := range facts().interpreters {
		for _, l := range languages {
			if s.names[l] {
				return true
			}
		}
	}
	return false
}

// HeadBytes is how much of a content counts: what linguist looks at.
const HeadBytes = 50 << 10

// ByContent asks the beginning of a file's content, where its name is unsure.
func (s Set) ByContent(path string, content []byte) bool {
	content = content[:min(len(content), HeadBytes)]
	candidates, extension := byName(base(path))
	if len(candidates) == 0 {
		candidates = facts().interpreters[interpreter(content)]
	} else if list := facts().rules[extension]; list != nil {
		if decided := list.decide(content); len(decided) > 0 {
			candidates = decided
		}
	}
	return slices.ContainsFunc(candidates, func(c string) bool { return s.names[c] })
}

// byName gives the languages that a name allows, and the extension if that
// decided. The longest known extension counts, as for linguist.
func byName(name string) (candidates []string, extension string) {
	if found := facts().files[name]; found != nil {
		return found, ""
	}
	name = strings.ToLower(name)
	for i := range len(name) {
		if name[i] == '.' {
			if found := facts().extensions[name[i:]]; found != nil {
				return found, name[i:]
			}
		}
	}
	return nil, ""
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// ruleList decides between languages by the content. Its expressions are
// compiled when they are first needed.
type ruleList struct {
	text  string
	once  sync.Once
	rules []rule
}

// rule holds when Match is found, all of All hold and none of None, and never
// when Never is set. See generate.go.
type rule struct {
	Languages []string `json:"is"`
	Match     string   `json:"match"`
	All       []rule   `json:"all"`
	None      []rule   `json:"none"`
	Never     bool     `json:"never"`
	re        *regexp.Regexp
}

func (l *ruleList) decide(content []byte) []string {
	l.once.Do(func() {
		if err := json.Unmarshal([]byte(l.text), &l.rules); err != nil {
			panic(err) // a constant of the program, which tests read whole
		}
		compile(l.rules)
	})
	for _, r := range l.rules {
		if r.holds(content) {
			return r.named()
		}
	}
	return nil
}

// named gives the languages by their names: some rules have aliases.
func (r rule) named() []string {
	names := make([]string, 0, len(r.Languages))
	for _, l := range r.Languages {
		if name, ok := facts().aliases[strings.ReplaceAll(strings.ToLower(l), " ", "_")]; ok {
			names = append(names, name)
		}
	}
	return names
}

func compile(rules []rule) {
	for i := range rules {
		if rules[i].Match != "" {
			rules[i].re = regexp.MustCompile(rules[i].Match)
		}
		compile(rules[i].All)
		compile(rules[i].None)
	}
}

func (r rule) holds(content []byte) bool {
	if r.Never || r.re != nil && !r.re.Match(content) {
		return false
	}
	for _, sub := range r.All {
		if !sub.holds(content) {
			return false
		}
	}
	return !slices.ContainsFunc(r.None, func(sub rule) bool { return sub.holds(content) })
}
