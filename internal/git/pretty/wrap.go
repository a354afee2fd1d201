package pretty

import (
	"strings"
	"unicode/utf8"
)

// wrapping is the setting of the last %w: git-shortlog(1), -w. The zero value does not change text.
type wrapping struct {
	width, indent, nextIndent int
	column                    int // of a line that has begun
}

// write writes text in lines of at most w.width columns, with separate indents for the first and
// other lines; without a width, it only indents.
func (w wrapping) write(out *buffer, text string) {
	if w.width > 0 {
		w.wrap(out, text)
		return
	}
	indent := w.indent
	for line := range strings.Lines(text) {
		if !out.ok() {
			return
		}
		out.addSpaces(indent)
		out.add(line)
		indent = w.nextIndent
	}
}

// wrap breaks lines at white space. It keeps a line feed before another one or before a character
// other than a letter or a digit, so that paragraphs and lists keep their lines; other line feeds
// become blanks.
func (w wrapping) wrap(out *buffer, text string) {
	valid := utf8.ValidString(text)
	column, indent := max(w.column, w.indent), w.indent
	begun, blank := w.column > 0, "" // whether the line has a word, and the blank after it
	newLine := func() {
		out.add("\n")
		column, indent, begun, blank = w.nextIndent, w.nextIndent, false, ""
	}
	for out.ok() {
		end := strings.IndexAny(text, spaces)
		last := end < 0
		if last {
			end = len(text)
		}
		word := text[:end]
		wide := wordWidth(word, valid)
		if begun && column+wide > w.width {
			newLine()
		}
		if last && word == "" && !begun {
			return
		}
		if !begun {
			out.addSpaces(indent)
		}
		out.add(blank)
		out.add(word)
		if last {
			return
		}
		column += wide + 1
		begun, blank = true, text[end:end+1]
		text = text[end+1:]
		switch next := byteAt(text, 0); {
		case blank == "\t":
			column = (column - 1) | 7 + 1
		case blank == "\n" && isAlnum(next):
			out.add(" ")
			blank = ""
		case blank == "\n":
			if next == '\n' {
				out.add("\n")
			}
			newLine()
			if isSpace(next) {
				text = text[1:]
			}
		}
	}
}

// wordWidth subtracts a column for a control character, as git does for wrapping but not for
// padding.
func wordWidth(word string, valid bool) (total int) {
	for _, wide := range pieces(word, valid) {
		total += wide
	}
	return total
}
