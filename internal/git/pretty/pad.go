package pretty

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	// maxColumns bounds padding and indent.
	maxColumns = 16 << 10
	// terminalColumns is git's default width of a terminal.
	terminalColumns = 80
	// longestEscape is how far back %>> searches for the beginning of a colour.
	longestEscape = 10
)

// padding is the effect of %<(…) and similar placeholders. It applies to the next placeholder only.
type padding struct {
	side    side
	columns int                   // negative: up to that column
	cutFrom func(columns int) int // the first column to omit; nil: none
}

// side is where blanks are added.
type side uint8

const (
	nowhere      side = iota
	right             // %<
	left              // %>
	leftStealing      // %>>: replaces blanks before the text first
	both              // %><
)

// truncations maps the truncating options to the column of the two dots.
var truncations = map[string]func(columns int) int{
	"trunc":  func(columns int) int { return columns - len(dots) },
	"ltrunc": func(int) int { return 0 },
	"mtrunc": func(columns int) int { return columns/2 - 1 },
}

const dots = ".."

// setPadding expands %<(N), %<|(N) and similar placeholders, with an optional truncation. The
// padding remains set even if the truncation is invalid.
func setPadding(s side) func(*expansion, *buffer, string) (string, bool) {
	return func(x *expansion, _ *buffer, args string) (string, bool) {
		args, toColumn := strings.CutPrefix(args, "|")
		args, ok := strings.CutPrefix(args, "(")
		if !ok {
			return "", false
		}
		end := x.indexAny(args, ",)")
		columns, ok := paddingColumns(args, toColumn)
		if end <= 0 || !ok {
			return "", false
		}
		x.padding.side, x.padding.columns = s, columns
		if args[end] == ')' {
			x.padding.cutFrom = nil
			return args[end+1:], true
		}
		args = args[end+1:]
		if end = x.indexAny(args, ")"); end < 0 {
			return "", false
		}
		cutFrom, ok := truncations[args[:end]]
		if ok {
			x.padding.cutFrom = cutFrom
		}
		return args[end+1:], ok
	}
}

// paddingColumns parses the number of columns. A negative one counts from the right edge of the
// terminal, only for %<| and its variants.
func paddingColumns(s string, toColumn bool) (columns int, ok bool) {
	number, rest := cutInt(s)
	columns = int(int32(number)) // git truncates it to 32 bits
	if rest == s || columns == 0 || columns < -maxColumns || columns > maxColumns {
		return 0, false
	}
	if !toColumn {
		return columns, columns > 0
	}
	if columns < 0 {
		columns += terminalColumns
	}
	return -columns, columns >= 0
}

// padded expands a placeholder with the current padding, and returns the rest of the format.
func (x *expansion) padded(format string) (rest string) {
	if x.padding.side == nowhere {
		return x.expandOne(x.out, format)
	}
	text := &buffer{meter: x.meter, max: x.out.max - len(x.out.bytes)}
	target := x.padding.columns
	if target < 0 {
		target = -target - x.column()
	}
	rest = x.colored(text, format)
	if !x.ok() {
		return rest
	}
	x.spend(len(text.bytes))
	width := widthOf(string(text.bytes))
	if x.padding.side == leftStealing {
		target += x.steal(text, width-target)
	}
	blanks := max(target-width, 0)
	before := map[side]int{left: blanks, leftStealing: blanks, both: blanks / 2}[x.padding.side]
	x.out.addSpaces(before)
	if cutFrom := x.padding.cutFrom; width > target && cutFrom != nil {
		x.out.add(replaceColumns(string(text.bytes), cutFrom(target), width-(target-len(dots))))
	} else {
		x.out.add(string(text.bytes))
	}
	x.out.addSpaces(blanks - before)
	x.padding.side = nowhere
	return rest
}

// colored expands colours and the placeholder after them, which padding treats as one.
func (x *expansion) colored(text *buffer, format string) (rest string) {
	for rest = format; x.ok(); rest = rest[1:] {
		isColor := byteAt(rest, 0) == 'C'
		rest = x.expandOne(text, rest)
		if !isColor || byteAt(rest, 0) != '%' {
			break
		}
	}
	return rest
}

// column returns the column at the end of the current line. A text ends at a NUL.
func (x *expansion) column() int {
	line := x.out.bytes
	x.spendFast(len(line))
	if end := bytes.IndexByte(line, 0); end >= 0 {
		line = line[:end]
	}
	line = line[max(bytes.LastIndexByte(line, '\n'), 0):]
	x.spend(len(line))
	return widthOf(string(line))
}

// steal removes blanks before the text, up to the missing number, and returns their number. Colours
// between them move into the text. It keeps blanks before the format, and the first byte of the
// text.
func (x *expansion) steal(text *buffer, missing int) (stolen int) {
	before := x.out.bytes
	for first := max(x.begin, 1); stolen < missing && len(before) > first; {
		last := len(before) - 1
		if before[last] == ' ' {
			before = before[:last]
			stolen++
			continue
		}
		reach := max(x.begin, last-longestEscape, 0)
		escape := bytes.LastIndexByte(before[reach:], '\x1b')
		if escape < 0 || escapeLength(string(before[reach+escape:])) != len(before)-reach-escape {
			break
		}
		text.insert(0, string(before[reach+escape:]))
		before = before[:reach+escape]
	}
	x.out.bytes = before
	return stolen
}

// replaceColumns replaces the characters that begin in these columns by two dots. Colours and
// invalid UTF-8 stay.
func replaceColumns(text string, from, count int) string {
	if !utf8.ValidString(text) {
		return text
	}
	var replaced strings.Builder
	column, mark := 0, dots
	for piece, wide := range pieces(text, true) {
		if wide > 0 && column >= from && column < from+count {
			replaced.WriteString(mark)
			mark = ""
		} else {
			replaced.WriteString(piece)
		}
		column += max(wide, 0)
	}
	return replaced.String()
}

// setWrapping expands %w(width,indent,next indent). Earlier text is wrapped by the previous
// setting.
func (x *expansion) setWrapping(out *buffer, args string) (rest string, ok bool) {
	args, ok = strings.CutPrefix(args, "(")
	end := x.indexAny(args, ")")
	if !ok || end < 0 {
		return "", false
	}
	var numbers [3]int64
	list := args[:end]
	for i := range numbers {
		numbers[i], list = cutInt(list)
		if numbers[i] < 0 || numbers[i] > maxColumns {
			return "", false
		}
		if after, more := strings.CutPrefix(list, ","); more && i < len(numbers)-1 {
			list = after
			continue
		}
		break
	}
	if list != "" {
		return "", false
	}
	x.wrapAs(out, wrapping{width: int(numbers[0]), indent: int(numbers[1]), nextIndent: int(numbers[2])})
	return args[end+1:], true
}

// wrapAs wraps the text since the last %w by its setting, and stores the next one. Within padding,
// git takes a position in the whole text for one in the padded text, and so does this.
func (x *expansion) wrapAs(out *buffer, next wrapping) {
	if !x.ok() || x.wrapping == next {
		return
	}
	if x.wrapFrom < len(out.bytes) {
		tail := untilNUL(string(out.bytes[x.wrapFrom:]))
		x.spend(len(out.bytes) - x.wrapFrom)
		out.bytes = out.bytes[:x.wrapFrom]
		x.wrapping.write(out, tail)
	}
	x.wrapping, x.wrapFrom = next, len(out.bytes)
}
