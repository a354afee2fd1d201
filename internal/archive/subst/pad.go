package subst

import (
	"bytes"
	"math"
	"strings"
)

// flush is the side on which the text is put.
type flush uint8

const (
	noFlush        flush = iota
	flushRight           // %<: padding goes to the right
	flushLeft            // %>
	flushLeftSteal       // %>>: blanks before the text are used up first
	flushBoth            // %><
)

// truncation is what is cut out of a text that is too wide.
type truncation uint8

const (
	keepAll truncation = iota
	cutLeft
	cutMiddle
	cutRight
)

// terminalColumns is the width that git takes a terminal to have when there is
// none.
const terminalColumns = 80

// flushes are the placeholders of padding, the longer before those that they
// begin with.
var flushes = []struct {
	sign string
	flush
}{
	{"><", flushBoth},
	{">>", flushLeftSteal},
	{">", flushLeft},
	{"<", flushRight},
}

var truncations = []struct {
	word string
	truncation
}{
	{"trunc)", cutRight},
	{"ltrunc)", cutLeft},
	{"mtrunc)", cutMiddle},
}

// setPadding is %<(…) and its like: parse_padding_placeholder. What it sets
// stays set even where it turns out to be no placeholder in the end.
func (f *formatter) setPadding(_ *buffer, p string) int {
	var side flush
	rest := p
	for _, choice := range flushes {
		if after, ok := strings.CutPrefix(p, choice.sign); ok {
			side, rest = choice.flush, after
			break
		}
	}
	rest, toColumn := strings.CutPrefix(rest, "|")
	arguments, ok := strings.CutPrefix(rest, "(")
	if !ok {
		return 0
	}
	end := f.indexAny(arguments, ",)")
	if end <= 0 {
		return 0
	}
	width, ok := paddingWidth(arguments, toColumn)
	if !ok {
		return 0
	}
	f.padding, f.flush = width, side
	if toColumn {
		f.padding = -width
	}
	if arguments[end] == ')' {
		f.truncate = keepAll
		return len(p) - len(arguments) + end + 1
	}
	for _, choice := range truncations {
		if after, ok := strings.CutPrefix(arguments[end+1:], choice.word); ok {
			f.truncate = choice.truncation
			return len(p) - len(after)
		}
	}
	return 0
}

// paddingWidth reads the number of columns. A negative one counts from the
// right edge of the terminal, for columns only.
func paddingWidth(s string, toColumn bool) (int, bool) {
	value, length := parseSigned(s)
	width := int(int32(value))
	if length == 0 || width == 0 || width < -formattingLimit || width > formattingLimit {
		return 0, false
	}
	if width < 0 && toColumn {
		width += terminalColumns
	}
	return width, width >= 0
}

// indexAny is strings.IndexAny, on account.
func (f *formatter) indexAny(s, chars string) int {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		f.spend(len(s))
		return i
	}
	f.spend(i)
	return i
}

// padded expands a placeholder that padding was asked for:
// format_and_pad_commit. Colours before it belong to it.
func (f *formatter) padded(p string) int {
	if f.flush == noFlush {
		return f.one(f.out, p)
	}
	wanted := f.padding
	if wanted < 0 {
		wanted = -wanted - f.column()
	}
	text := &buffer{meter: f.meter, max: f.out.max - len(f.out.b)}
	taken := f.colored(text, p)
	if !f.ok() {
		return taken
	}
	f.spend(len(text.b))
	width := widthOf(text.b)
	if f.flush == flushLeftSteal {
		wanted += f.steal(text, width-wanted)
		f.flush = flushLeft
	}
	if width > wanted {
		f.out.addBytes(f.cut(text.b, width, wanted))
	} else {
		f.fill(text.b, wanted-width)
	}
	f.flush = noFlush
	return taken
}

// colored expands colours and one placeholder after them.
func (f *formatter) colored(text *buffer, p string) int {
	taken := 0
	for {
		n := f.one(text, p[taken:])
		color := at(p, taken) == 'C'
		taken += n
		if !color || at(p, taken) != '%' || !f.ok() {
			return taken
		}
		taken++
	}
}

// column is where the present line ends. C's strings end at a NUL, and so does
// the line.
func (f *formatter) column() int {
	line := f.out.b
	f.spendFast(len(line))
	if end := bytes.IndexByte(line, 0); end >= 0 {
		line = line[:end]
	}
	line = line[max(bytes.LastIndexByte(line, '\n'), 0):]
	f.spend(len(line))
	return widthOf(line)
}

// longestEscape is how far back git looks for the beginning of a colour.
const longestEscape = 10

// steal removes blanks before the text, as many as are missing, and gives their
// number. Colours between them are moved into the text.
func (f *formatter) steal(text *buffer, missing int) int {
	out := f.out.b
	end, stolen := len(out)-1, 0
	for missing > stolen && end > 0 {
		if out[end] == ' ' {
			end--
			stolen++
			continue
		}
		start := end - 1
		for start > 0 && end-start < longestEscape && out[start] != '\x1b' {
			start--
		}
		if out[end] != 'm' || escapeLength(out, start) != end+1-start {
			break
		}
		text.insert(0, string(out[start:end+1]))
		end = start - 1
	}
	f.out.b = out[:end+1]
	return stolen
}

// cut shortens a text to the width, with two dots for what is left out.
func (f *formatter) cut(text []byte, width, wanted int) []byte {
	left := width - (wanted - 2)
	switch f.truncate {
	case cutLeft:
		return replaceColumns(text, 0, left)
	case cutMiddle:
		return replaceColumns(text, wanted/2-1, left)
	case cutRight:
		return replaceColumns(text, wanted-2, left)
	default:
		return text
	}
}

// replaceColumns puts two dots for the characters that begin in the given
// columns: strbuf_utf8_replace. Colours stay, and so does a text that is no
// UTF-8.
func replaceColumns(text []byte, from, count int) []byte {
	cut := make([]byte, 0, len(text)+2)
	dots, column := "..", 0
	for i := 0; i < len(text); {
		for n := escapeLength(text, i); n > 0; n = escapeLength(text, i) {
			cut = append(cut, text[i:i+n]...)
			i += n
		}
		if i >= len(text) {
			break
		}
		char, length := decodeChar(text, i)
		if length == 0 {
			return text
		}
		width := max(columns(char), 0)
		if width > 0 && column >= from && column < from+count {
			cut = append(cut, dots...)
			dots = ""
		} else {
			cut = append(cut, text[i:i+length]...)
		}
		column += width
		i += length
	}
	return cut
}

// fill writes the text with blanks on the side that is asked for.
func (f *formatter) fill(text []byte, blanks int) {
	before := 0
	switch f.flush {
	case flushLeft:
		before = blanks
	case flushBoth:
		before = blanks / 2
	}
	f.out.addSpaces(before)
	f.out.addBytes(text)
	f.out.addSpaces(blanks - before)
}

// wrapping is %w(…): what follows is wrapped at a width, with indents for the
// first line and the others.
func (f *formatter) wrapping(out *buffer, p string) int {
	arguments, ok := strings.CutPrefix(p, "w(")
	if !ok {
		return 0
	}
	end := f.indexAny(arguments, ")")
	if end < 0 {
		return 0
	}
	var numbers [3]int
	if end > 0 {
		rest := arguments
		for i := range numbers {
			value, length := parseUnsigned(rest)
			numbers[i] = int(min(value, math.MaxInt32))
			rest = rest[length:]
			if i == len(numbers)-1 || at(rest, 0) != ',' {
				break
			}
			rest = rest[1:]
		}
		if at(rest, 0) != ')' || max(numbers[0], numbers[1], numbers[2]) > formattingLimit {
			return 0
		}
	}
	f.rewrap(out, numbers[0], numbers[1], numbers[2])
	return len("w(") + end + 1
}

// rewrap wraps the text since the last %w as that one said, and remembers what
// to do with the text to come: rewrap_message_tail.
//
// Within padding, git takes the position in the file for one in the text that
// is padded, so that more or less of the file is wrapped than was meant.
func (f *formatter) rewrap(out *buffer, width, indent1, indent2 int) {
	if !f.ok() || f.width == width && f.indent1 == indent1 && f.indent2 == indent2 {
		return
	}
	if f.wrapStart < len(out.b) {
		tail := untilNUL(string(out.b[f.wrapStart:]))
		f.spend(len(out.b) - f.wrapStart)
		out.b = out.b[:f.wrapStart]
		wrap(out, tail, f.indent1, f.indent2, f.width)
	}
	f.wrapStart = len(out.b)
	f.width, f.indent1, f.indent2 = width, indent1, indent2
}
