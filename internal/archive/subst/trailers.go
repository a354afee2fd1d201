package subst

import (
	"strings"

	"github.com/repomcp/repomcp/internal/message"
)

// trailerBlock is the last paragraph of a message when it has trailers:
// struct trailer_info (trailer.c), with the defaults of trailer.*.
type trailerBlock struct {
	whole string
	lines []trailer
}

// trailer is one item of the block, with its continuation lines.
type trailer struct {
	text       string
	separator  int // where the colon is; below 1 it is no trailer
	key, value string
}

const (
	trailerSeparator = ':'
	commentMark      = '#'
	// scissors is the line below which git commit -v puts a diff.
	scissors = "# ------------------------ >8 ------------------------\n"
	// A block with a line of git's own may have three other lines for each
	// trailer.
	othersPerTrailer = 3
)

// generated are the beginnings of lines that git itself writes.
var generated = []string{"Signed-off-by: ", "(cherry picked from commit "}

// trailerOptions are those of %(trailers:…).
type trailerOptions struct {
	only, unfold, keyOnly, valueOnly bool
	keys                             []string
	separator, keyValueSeparator     *string
}

// untouched reports whether the block is shown as it is.
func (o trailerOptions) untouched() bool {
	return !o.only && !o.unfold && !o.keyOnly && !o.valueOnly && o.keys == nil &&
		o.separator == nil && o.keyValueSeparator == nil
}

// trailers is %(trailers…).
func (f *formatter) trailers(out *buffer, p string) int {
	rest, ok := strings.CutPrefix(p, "(trailers")
	if !ok {
		return 0
	}
	var options trailerOptions
	if after, colon := strings.CutPrefix(rest, ":"); colon {
		a := arguments{meter: f.meter, rest: after}
		ok = options.parse(&a)
		rest = a.rest
	}
	if !ok || at(rest, 0) != ')' {
		return 0
	}
	f.showTrailers(out, options)
	return len(p) - len(rest) + 1
}

// parse is format_set_trailers_options (pretty.c).
func (o *trailerOptions) parse(a *arguments) bool {
	for a.ok() && at(a.rest, 0) != ')' {
		if !o.option(a) {
			return false
		}
	}
	return true
}

// option reads one option.
func (o *trailerOptions) option(a *arguments) bool {
	if key, given, ok := a.take("key"); ok {
		o.keys = append(o.keys, message.FoldCase(strings.TrimSuffix(key, ":")))
		o.only = true
		return given
	}
	if text, _, ok := a.take("separator"); ok {
		o.separator = literal(text)
		return true
	}
	if text, _, ok := a.take("key_value_separator"); ok {
		o.keyValueSeparator = literal(text)
		return true
	}
	for _, flag := range []struct {
		name string
		set  *bool
	}{{"only", &o.only}, {"unfold", &o.unfold}, {"keyonly", &o.keyOnly}, {"valueonly", &o.valueOnly}} {
		if value, ok := a.takeBool(flag.name); ok {
			*flag.set = value
			return true
		}
	}
	return false
}

// literal expands %n, %x and %% only.
func literal(s string) *string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			text := b.String()
			return &text
		}
		c, isHex := hexPair(strings.TrimPrefix(rest, "x"))
		switch {
		case at(rest, 0) == '%':
			b.WriteByte('%')
			s = rest[1:]
		case at(rest, 0) == 'n':
			b.WriteByte('\n')
			s = rest[1:]
		case at(rest, 0) == 'x' && isHex:
			b.WriteByte(c)
			s = rest[3:]
		default:
			b.WriteByte('%')
			s = rest
		}
	}
}

// showTrailers is format_trailer_info.
func (f *formatter) showTrailers(out *buffer, o trailerOptions) {
	if f.commit.block == nil {
		f.spend(len(f.commit.text))
		f.commit.block = parseTrailers(f.commit.text)
	}
	block := f.commit.block
	if o.untouched() {
		out.add(block.whole)
		return
	}
	start := len(out.b)
	for i := range block.lines {
		line := &block.lines[i]
		if f.spend(len(line.text) + len(o.keys)); !f.ok() {
			return
		}
		switch {
		case line.separator >= 1 && o.wants(line.key):
			if o.separator != nil && len(out.b) != start {
				out.add(*o.separator)
			}
			o.show(out, line)
		case line.separator < 1 && !o.only:
			if o.separator != nil && len(out.b) != start {
				out.add(*o.separator)
			}
			out.add(line.text)
			if o.separator != nil {
				trimEnd(out)
			}
		}
	}
}

func trimEnd(out *buffer) {
	for len(out.b) > 0 && isSpace(out.b[len(out.b)-1]) {
		out.b = out.b[:len(out.b)-1]
	}
}

func (o trailerOptions) wants(key string) bool {
	if o.keys == nil {
		return true
	}
	key = message.FoldCase(key)
	for _, wanted := range o.keys {
		if key == wanted {
			return true
		}
	}
	return false
}

func (o trailerOptions) show(out *buffer, line *trailer) {
	if !o.valueOnly {
		out.add(line.key)
	}
	if !o.keyOnly && !o.valueOnly {
		if o.keyValueSeparator != nil {
			out.add(*o.keyValueSeparator)
		} else {
			out.add(": ")
		}
	}
	if !o.keyOnly {
		value := line.value
		if o.unfold {
			value = unfold(value)
		}
		out.add(value)
	}
	if o.separator == nil {
		out.addByte('\n')
	}
}

// unfold makes one line of a value.
func unfold(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '\n' {
			b.WriteByte(value[i])
			continue
		}
		for isSpace(at(value, i+1)) {
			i++
		}
		b.WriteByte(' ')
	}
	return strings.Trim(b.String(), spaces)
}

// parseTrailers finds the trailers of a message that begins with its subject:
// trailer_info_get.
func parseTrailers(message string) *trailerBlock {
	message = message[:trailersEnd(message)]
	block := &trailerBlock{whole: message[trailersStart(message):]}
	rest, begin := block.whole, 0
	for begin < len(rest) {
		end := lineEnd(rest, begin)
		separator := findSeparator(rest[begin:end])
		for separator >= 1 && isSpace(at(rest, end)) && end < len(rest) {
			end = lineEnd(rest, end)
		}
		line := trailer{text: rest[begin:end], separator: separator}
		if separator >= 1 {
			line.key = strings.Trim(line.text[:separator], spaces)
			line.value = strings.Trim(line.text[separator+1:], spaces)
		}
		block.lines = append(block.lines, line)
		begin = end
	}
	return block
}

// lineEnd is the position after the line that begins at i.
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(s)
}

// findSeparator gives where the key of a trailer ends, 0 for an empty key and
// -1 when the line is no trailer.
func findSeparator(line string) int {
	blank := false
	for i := range len(line) {
		switch c := line[i]; {
		case c == trailerSeparator:
			return i
		case !blank && (isAlnum(c) || c == '-'):
		case i > 0 && (c == ' ' || c == '\t'):
			blank = true
		default:
			return -1
		}
	}
	return -1
}

// trailersEnd leaves out what is after the scissors, comments and empty lines at
// the end, and an old list of conflicts: ignore_non_trailer (commit.c).
func trailersEnd(message string) int {
	cutoff := len(message)
	if strings.HasPrefix(message, scissors) {
		cutoff = 0
	} else if i := strings.Index(message, "\n"+scissors); i >= 0 {
		cutoff = i + 1
	}
	end, conflicts := 0, false
	for begin := 0; begin < cutoff; begin = lineEnd(message, begin) {
		c := message[begin]
		switch {
		case c == commentMark || c == '\n':
			if end == 0 {
				end = begin
			}
		case strings.HasPrefix(message[begin:], "Conflicts:\n"):
			conflicts = true
			if end == 0 {
				end = begin
			}
		case conflicts && c == '\t':
		case end != 0:
			end, conflicts = 0, false
		}
	}
	if end != 0 {
		return end
	}
	return cutoff
}

// trailersStart gives where the block of trailers begins, the end of the
// message when there is none: find_trailer_start. It goes backwards over lines
// to an empty one.
func trailersStart(message string) int {
	title := titleEnd(message)
	var c trailerCount
	for end := len(message); end > 0; {
		begin := strings.LastIndexByte(message[:end-1], '\n') + 1
		if begin < title {
			break
		}
		line := message[begin:end]
		end = begin
		switch {
		case line[0] == commentMark:
			c.flush()
		case strings.Trim(line, spaces) == "":
			if c.blankOnly() {
				continue
			}
			if c.isBlock() {
				return begin + len(line)
			}
			return len(message)
		default:
			c.add(line)
		}
	}
	return len(message)
}

// titleEnd is the end of the first paragraph, which has no trailers.
func titleEnd(message string) int {
	begin := 0
	for begin < len(message) {
		end := lineEnd(message, begin)
		if message[begin] != commentMark && strings.Trim(message[begin:end], spaces) == "" {
			break
		}
		begin = end
	}
	return begin
}

// trailerCount decides whether a paragraph is a block of trailers.
type trailerCount struct {
	text              bool // a line that is not blank was seen
	generated         bool
	trailers, others  int
	maybeContinuation int // lines that belong to a trailer if one is above them
}

func (c *trailerCount) blankOnly() bool { return !c.text }

func (c *trailerCount) flush() {
	c.others += c.maybeContinuation
	c.maybeContinuation = 0
}

func (c *trailerCount) add(line string) {
	c.text = true
	for _, begin := range generated {
		if strings.HasPrefix(line, begin) {
			c.generated = true
			c.trailers++
			c.maybeContinuation = 0
			return
		}
	}
	switch {
	case isSpace(line[0]):
		c.maybeContinuation++
	case findSeparator(line) >= 1:
		c.trailers++
		c.maybeContinuation = 0
	default:
		c.others++
		c.flush()
	}
}

func (c *trailerCount) isBlock() bool {
	c.flush()
	if c.generated && c.trailers*othersPerTrailer >= c.others {
		return true
	}
	return c.trailers > 0 && c.others == 0
}
