package attributes

import "slices"

// ID is the number of an attribute: one of [Attributes], or a macro that can set one of them.
type ID int32

// The attributes that affect an archive.
const (
	ExportIgnore ID = iota
	ExportSubst
	Text
	CRLF
	EOL
	Ident
	Filter
	WorkingTreeEncoding
	Diff    // whether zip marks a file as text
	outputs // their number: macros follow
)

var outputIDs = map[string]ID{
	"export-ignore":         ExportIgnore,
	"export-subst":          ExportSubst,
	"text":                  Text,
	"crlf":                  CRLF,
	"eol":                   EOL,
	"ident":                 Ident,
	"filter":                Filter,
	"working-tree-encoding": WorkingTreeEncoding,
	"diff":                  Diff,
}

// builtin is git's built-in macro.
const builtin = "[attr]binary -diff -merge -text\n"

// assignment is one word after a pattern.
type assignment struct {
	id    ID
	value Value
}

// macros are the definitions of a tree. They are in the root's file, and so the same for all paths.
type macros struct {
	ids   map[string]ID
	words [][]assignment // of the macro with the id
}

// defineMacros parses the definitions in the files, in increasing precedence. The last definition
// of a name counts. Macros that cannot set any of [Attributes] are dropped.
func defineMacros(files []source) macros {
	states := make(map[string][]byte)
	for _, f := range files {
		f.lines(func(l line) {
			if l.macro {
				states[string(l.name)] = l.states
			}
		})
	}
	m := macros{ids: make(map[string]ID)}
	for name, output := range outputIDs {
		m.ids[name] = output
	}
	names := relevant(states)
	for i, name := range names {
		if _, output := outputIDs[name]; !output {
			m.ids[name] = outputs + ID(i)
		}
	}
	m.words = make([][]assignment, int(outputs)+len(names))
	for _, name := range names {
		m.words[m.ids[name]] = m.assignments(states[name])
	}
	return m
}

// relevant returns the names, in order, of the macros that mention one of [Attributes] or a
// relevant macro.
func relevant(states map[string][]byte) []string {
	users := make(map[string][]string) // macros by the names that they mention
	for name, words := range states {
		eachState(words, func(word []byte, _ State, _ []byte) {
			_, macro := states[string(word)]
			_, output := outputIDs[string(word)]
			if macro || output {
				users[string(word)] = append(users[string(word)], name)
			}
		})
	}
	var found []string
	seen := make(map[string]bool)
	var todo []string
	for name := range outputIDs {
		todo = append(todo, name)
	}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range users[name] {
			if !seen[user] {
				seen[user] = true
				found = append(found, user)
				todo = append(todo, user)
			}
		}
	}
	slices.Sort(found)
	return found
}

// assignments returns the relevant words in order.
func (m *macros) assignments(states []byte) []assignment {
	var words []assignment
	eachState(states, func(name []byte, state State, value []byte) {
		if id, ok := m.ids[string(name)]; ok {
			words = append(words, assignment{id, Value{State: state, Text: string(value)}})
		}
	})
	return words
}
