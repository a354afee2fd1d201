package attributes

import "bytes"

// Stack holds the rules of the folders from the root to the current one of a walk. It is used by
// one goroutine.
type Stack struct {
	info   source
	macros macros
	frames []frame // the first is that of info
	rules  int     // in all frames
	result evaluation
}

// frame holds the relevant rules of one file.
type frame struct {
	origin int // length of the folder's path
	rules  []rule
}

type rule struct {
	pattern pattern
	words   []assignment
}

// NewStack returns the attributes of a tree. info is the content of $GIT_DIR/info/attributes, or
// nil; it must not change while the stack is in use.
func NewStack(info []byte) *Stack {
	return &Stack{info: infoSource(info)}
}

// Push enters a folder. dir is its path with a final slash, and empty for the root, which must be
// pushed first; content is that of its .gitattributes, or nil. Push keeps neither.
func (s *Stack) Push(dir, content []byte) {
	root := len(s.frames) == 0
	file := treeSource(content, root)
	if root {
		s.macros = defineMacros([]source{{content: []byte(builtin), macros: true}, file, s.info})
		s.result.known = make([]uint64, len(s.macros.words))
		s.result.round = 0
		s.add(0, s.info)
	}
	s.add(len(dir), file)
}

func (s *Stack) add(origin int, file source) {
	f := frame{origin: origin}
	if len(file.content) > 0 {
		file.lines(func(l line) {
			if l.macro {
				return
			}
			if words := s.macros.assignments(l.states); len(words) > 0 {
				f.rules = append(f.rules, rule{newPattern(string(l.name)), words})
			}
		})
	}
	s.frames = append(s.frames, f)
	s.rules += len(f.rules)
}

// Pop leaves the current folder.
func (s *Stack) Pop() {
	s.drop()
	if len(s.frames) == 1 { // info's frame belongs to the root
		s.drop()
	}
}

func (s *Stack) drop() {
	last := len(s.frames) - 1
	s.rules -= len(s.frames[last].rules)
	s.frames[last] = frame{}
	s.frames = s.frames[:last]
}

// Quiet reports whether no path in the current folder can have an attribute.
func (s *Stack) Quiet() bool { return s.rules == 0 }

// Lookup evaluates an entry of the current folder: path is its whole path without a final slash.
// folder is true for folders and gitlinks, for which git adds a slash, so that patterns with a
// final slash match.
func (s *Stack) Lookup(path []byte, folder bool) Attributes {
	if s.Quiet() {
		return Attributes{}
	}
	e := &s.result
	e.reset()
	about := subject{path: path, base: bytes.LastIndexByte(path, '/') + 1, folder: folder}
	s.apply(&s.frames[0], &about)
	for i := len(s.frames) - 1; i > 0; i-- {
		s.apply(&s.frames[i], &about)
	}
	return e.values
}

// apply applies the rules of a file from the last one, which has the highest precedence.
func (s *Stack) apply(f *frame, about *subject) {
	for i := len(f.rules) - 1; i >= 0 && s.result.missing > 0; i-- {
		r := &f.rules[i]
		if r.pattern.match(about, f.origin) {
			s.result.assign(r.words, s.macros.words)
		}
	}
}

// evaluation is the state of a lookup. The first assignment wins, because rules are applied in
// decreasing precedence.
type evaluation struct {
	known   []uint64 // by id: the round that assigned it
	round   uint64   // number of this evaluation
	changed bool     // some value is set
	missing int      // unassigned outputs
	values  Attributes
	todo    [][]assignment // words of macros being expanded
}

func (e *evaluation) reset() {
	e.round++
	e.missing = int(outputs)
	if e.changed {
		clear(e.values[:])
		e.changed = false
	}
}

// assign processes words from last to first, because the last word about an attribute counts. A
// macro that becomes set is expanded immediately, in a loop, because hostile macros nest as deeply
// as a file is long.
func (e *evaluation) assign(words []assignment, macros [][]assignment) {
	e.todo = append(e.todo[:0], words)
	for len(e.todo) > 0 {
		top := &e.todo[len(e.todo)-1]
		if len(*top) == 0 {
			e.todo = e.todo[:len(e.todo)-1]
			continue
		}
		a := &(*top)[len(*top)-1]
		*top = (*top)[:len(*top)-1]
		if e.known[a.id] == e.round {
			continue
		}
		e.known[a.id] = e.round
		if a.id < outputs {
			e.values[a.id] = a.value
			e.changed = true
			e.missing--
		}
		if a.value.State == Set && len(macros[a.id]) > 0 {
			e.todo = append(e.todo, macros[a.id])
		}
	}
}

// CanMention reports whether the content of a .gitattributes could set the attribute for a path: if
// that is false for all of a tree's files and info/attributes, no path of the tree has the
// attribute. It is not valid for diff, merge and text, which the macro binary unsets without
// mentioning them.
func CanMention(content []byte, name string) bool {
	return len(content) < MaxFile && bytes.Contains(content, []byte(name))
}
