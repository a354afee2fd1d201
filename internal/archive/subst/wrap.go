package subst

import "strings"

// wrap writes text in lines of at most width columns, the first indented by
// indent1 and the others by indent2; a width of 0 only indents. It follows
// strbuf_add_wrapped_text (utf8.c) with all that it does to line feeds: one
// before a letter or a digit becomes a blank.
func wrap(out *buffer, text string, indent1, indent2, width int) {
	if width == 0 {
		indentLines(out, text, indent1, indent2)
		return
	}
	start := len(out.b)
	w := wrapper{out: out, text: []byte(text), width: width, indent2: indent2, utf8: true}
	if !w.run(indent1) {
		// No UTF-8: begin anew, and every byte is a column.
		out.b = out.b[:start]
		out.spend(len(text))
		w.utf8 = false
		w.run(indent1)
	}
}

func indentLines(out *buffer, text string, indent, indent2 int) {
	for text != "" && out.ok() {
		end := strings.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		out.addSpaces(indent)
		out.add(text[:end])
		text, indent = text[end:], indent2
	}
}

// wrapper is the state of wrapping. Positions are in text.
type wrapper struct {
	out     *buffer
	text    []byte
	width   int
	indent2 int
	utf8    bool

	pos    int // of the next character
	line   int // where the present line begins
	space  int // the last white space at which the line may end, -1 for none
	column int
	indent int // of the present line
}

// run reports whether the text is in the encoding that was assumed.
func (w *wrapper) run(indent int) bool {
	w.pos, w.line, w.space = 0, 0, -1
	w.column, w.indent = indent, indent
	for w.out.ok() {
		for n := escapeLength(w.text, w.pos); n > 0; n = escapeLength(w.text, w.pos) {
			w.pos += n
		}
		c := byteAt(w.text, w.pos)
		switch {
		case c == 0 || isSpace(c):
			if w.word(c) {
				return true
			}
		case !w.utf8:
			w.column++
			w.pos++
		default:
			char, length := decodeChar(w.text, w.pos)
			if length == 0 {
				return false
			}
			w.column += columns(char)
			w.pos += length
		}
	}
	return true
}

// word ends a word at white space or at the end of the text, and reports
// whether that was the end.
func (w *wrapper) word(c byte) (done bool) {
	if w.column > w.width && w.space >= 0 {
		w.newLine()
		return false
	}
	if c == 0 && w.pos == w.line {
		return true
	}
	from := w.line
	if w.space >= 0 {
		from = w.space
	} else {
		w.out.addSpaces(w.indent)
	}
	w.out.addBytes(w.text[from:w.pos])
	if c == 0 {
		return true
	}
	w.space = w.pos
	switch c {
	case '\t':
		w.column |= 7
	case '\n':
		w.space++
		next := byteAt(w.text, w.space)
		if next == '\n' {
			w.out.addByte('\n')
		}
		if !isAlnum(next) {
			w.newLine()
			return false
		}
		w.out.addByte(' ')
	}
	w.column++
	w.pos++
	return false
}

// newLine goes back to the last white space and begins a line after it.
func (w *wrapper) newLine() {
	w.out.addByte('\n')
	w.pos = w.space
	if isSpace(byteAt(w.text, w.space)) {
		w.pos++
	}
	w.line, w.space = w.pos, -1
	w.column, w.indent = w.indent2, w.indent2
}
