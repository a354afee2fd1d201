package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// maxMachine bounds the memory of one machine in bytes. Expressions that need
	// more make their states again and again, which is slow and still linear.
	maxMachine = 2 << 20
	// stateOverhead is what a state takes besides its steps.
	stateOverhead = 8*utf8.RuneSelf + 200
)

// automaton tells which lines an expression matches, one step for each rune. It
// is a deterministic automaton whose states are made when they are first needed
// (R. Cox, "Regular Expression Matching in the Wild"). Where in the line the
// match is, it does not know.
type automaton struct {
	program *syntax.Prog
	wide    []rune // where runes beyond ASCII begin to be treated differently
	begins  bool   // some step asks for the beginning of a line
	words   bool   // some step asks for the boundary of a word
	idle    sync.Pool
}

func newAutomaton(program *syntax.Prog) *automaton {
	a := &automaton{program: program}
	for i := range program.Inst {
		inst := &program.Inst[i]
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1:
			a.divide(inst)
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(inst.Arg) //nolint:gosec // the compiler puts six flags there
			a.begins = a.begins || op&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0
			a.words = a.words || op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		}
	}
	a.wide = append(a.wide, utf8.RuneSelf)
	slices.Sort(a.wide)
	a.wide = slices.Compact(a.wide)
	return a
}

// divide notes where a step begins and ends to take runes beyond ASCII.
func (a *automaton) divide(inst *syntax.Inst) {
	note := func(lo, hi rune) {
		for _, r := range []rune{lo, hi + 1} {
			if r > utf8.RuneSelf {
				a.wide = append(a.wide, r)
			}
		}
	}
	if len(inst.Rune) == 1 { // a single one, perhaps in any case
		first := inst.Rune[0]
		note(first, first)
		for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
			note(r, r)
		}
		return
	}
	for i := 0; i+1 < len(inst.Rune); i += 2 {
		note(inst.Rune[i], inst.Rune[i+1])
	}
}

// line gives the first matching line at or after from, where a line begins.
func (a *automaton) line(text []byte, from int) (start, end int) {
	m, ok := a.idle.Get().(*machine)
	if !ok {
		m = newMachine(a)
	}
	defer a.idle.Put(m)
	i := m.run(text, from)
	if i < 0 {
		return -1, -1
	}
	return lineAround(text, i)
}

// machine has the states that were made so far. One goroutine uses it.
type machine struct {
	*automaton
	states  map[string]*state
	bytes   int    // that the states take
	start   *state // at the beginning of a line
	matched *state
	seen    []bool // of each step
	stack   []uint32
	steps   []uint32 // that take a rune, reached from a state
	key     []byte
}

// state is a set of steps of the program that may come next.
type state struct {
	ascii [utf8.RuneSelf]*state
	wide  []*state // by the parts of automaton.wide
	steps []uint32 // sorted
	after context
}

// context is what the rune before a state was.
type context uint8

const (
	afterNewline context = iota
	afterOther
	afterWord
)

func newMachine(a *automaton) *machine {
	m := &machine{automaton: a, seen: make([]bool, len(a.program.Inst)), matched: new(state)}
	m.forget()
	return m
}

// forget drops all states.
func (m *machine) forget() {
	m.states, m.bytes = make(map[string]*state), 0
	m.start = m.state([]uint32{uint32(m.program.Start)}, afterNewline) //nolint:gosec // bounded by maxInstructions
}

// run gives a place in, or at the end of, the first matching line; -1 for none.
func (m *machine) run(text []byte, from int) int {
	s := m.start
	for i := from; i < len(text); {
		c := text[i]
		width := 1
		var next *state
		if c < utf8.RuneSelf {
			if next = s.ascii[c]; next == nil {
				next = m.step(s, rune(c))
				s.ascii[c] = next
			}
		} else {
			next, width = m.wideStep(s, text[i:])
		}
		if next == m.matched {
			return i
		}
		s, i = next, i+width
	}
	if from < len(text) && text[len(text)-1] != '\n' && m.step(s, '\n') == m.matched {
		return len(text)
	}
	return -1
}

// wideStep takes a rune beyond ASCII, or an invalid byte, which counts as U+FFFD
// as in Go's regexp.
func (m *machine) wideStep(s *state, text []byte) (*state, int) {
	r, width := utf8.DecodeRune(text)
	part, exact := slices.BinarySearch(m.wide, r)
	if !exact {
		part-- // the first part begins with the first of these runes
	}
	if s.wide == nil {
		s.wide = make([]*state, len(m.wide))
		m.bytes += 8 * len(s.wide)
	}
	if s.wide[part] == nil {
		s.wide[part] = m.step(s, r)
	}
	return s.wide[part], width
}

// step makes the state after a rune. A match that ends before the rune makes it
// the matched one; a newline leads back to the start.
func (m *machine) step(s *state, r rune) *state {
	if m.reach(s, emptyOps(s.after, r)) {
		return m.matched
	}
	if r == '\n' {
		return m.start
	}
	next := make([]uint32, 0, len(m.steps)+1)
	for _, pc := range m.steps {
		if inst := &m.program.Inst[pc]; inst.MatchRune(r) {
			next = append(next, inst.Out)
		}
	}
	next = append(next, uint32(m.program.Start)) //nolint:gosec // bounded by maxInstructions
	slices.Sort(next)
	return m.state(slices.Compact(next), m.contextAfter(r))
}

// contextAfter tells apart only what the program asks for: fewer states.
func (m *machine) contextAfter(r rune) context {
	if m.words && isWord(r) {
		return afterWord
	}
	if !m.words && !m.begins {
		return afterNewline
	}
	return afterOther
}

func isWord(r rune) bool { return syntax.IsWordChar(r) }

// emptyOps are the conditions that hold between two runes.
func emptyOps(after context, next rune) syntax.EmptyOp {
	var ops syntax.EmptyOp
	if after == afterNewline {
		ops |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if next == '\n' {
		ops |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	if (after == afterWord) != isWord(next) {
		return ops | syntax.EmptyWordBoundary
	}
	return ops | syntax.EmptyNoWordBoundary
}

// reach collects in m.steps what takes a rune and can come next under the
// conditions, and reports whether a match can end here.
func (m *machine) reach(s *state, ops syntax.EmptyOp) (matched bool) {
	clear(m.seen)
	m.steps = m.steps[:0]
	m.stack = append(m.stack[:0], s.steps...)
	for len(m.stack) > 0 {
		pc := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if m.seen[pc] {
			continue
		}
		m.seen[pc] = true
		switch inst := &m.program.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			m.stack = append(m.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			m.stack = append(m.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^ops == 0 { //nolint:gosec // the compiler puts six flags there
				m.stack = append(m.stack, inst.Out)
			}
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
		default:
			m.steps = append(m.steps, pc)
		}
	}
	return false
}

// state gives the state of a sorted set, the same one each time.
func (m *machine) state(steps []uint32, after context) *state {
	m.key = append(m.key[:0], byte(after))
	for _, pc := range steps {
		m.key = binary.LittleEndian.AppendUint32(m.key, pc)
	}
	if s := m.states[string(m.key)]; s != nil {
		return s
	}
	if m.bytes > maxMachine {
		m.forget()
	}
	m.bytes += stateOverhead + 2*len(m.key)
	s := &state{steps: steps, after: after}
	m.states[string(m.key)] = s
	return s
}
