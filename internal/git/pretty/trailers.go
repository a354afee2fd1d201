package pretty

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/git/message"
)

// The defaults of trailer.separators and core.commentChar.
const (
	keyEnd      = ":"
	commentMark = '#'
)

const (
	// scissors is the line below which git commit -v puts a diff.
	scissors = "# ------------------------ >8 ------------------------\n"
	// conflictsTitle starts a list of files in messages of old merges.
	conflictsTitle = "Conflicts:\n"
	// othersPerTrailer is the number of other lines per trailer that a paragraph may have, if one
	// trailer is generated.
	othersPerTrailer = 3
)

// generated are the prefixes of lines that git itself writes.
var generated = []string{"Signed-off-by: ", "(cherry picked from commit "}

// trailerBlock is the last paragraph of a message with trailers: git-interpret-trailers(1).
type trailerBlock struct {
	whole string
	items []trailer
}

// trailer is one line of the block, with its indented continuation lines.
type trailer struct {
	text       string
	isTrailer  bool // there is a key
	key, value string
}

type trailerOptions struct {
	only, unfold, keyOnly, valueOnly bool
	keys                             []string
	separator, keyValueSeparator     *string
}

func (x *expansion) trailers(out *buffer, args string) (rest string, ok bool) {
	var options trailerOptions
	rest, ok = x.readOptions(args, func(o option) bool { return options.set(x.meter, o) })
	if ok {
		x.showTrailers(out, options)
	}
	return rest, ok
}

func (t *trailerOptions) set(m *meter, o option) bool {
	switch o.name {
	case "key":
		t.keys = append(t.keys, message.FoldCase(strings.TrimSuffix(o.value, keyEnd)))
		t.only = true
		return o.hasValue
	case "separator":
		t.separator = literal(o.value)
		return true
	case "key_value_separator":
		t.keyValueSeparator = literal(o.value)
		return true
	}
	flags := map[string]*bool{
		"only": &t.only, "unfold": &t.unfold, "keyonly": &t.keyOnly, "valueonly": &t.valueOnly,
	}
	flag := flags[o.name]
	if flag == nil {
		return false
	}
	on, ok := o.flag()
	if !ok { // git ignores it before another flag
		return flags[m.cutOption(o.rest).name] != nil
	}
	*flag = on
	return true
}

// literalCodes are the codes allowed in separators, compiled on demand.
var literalCodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%([%n]|x[[:xdigit:]]{2})`) })

func literal(s string) *string {
	text := literalCodes().ReplaceAllStringFunc(s, func(code string) string {
		switch code[1] {
		case '%':
			return "%"
		case 'n':
			return "\n"
		}
		char, _ := hexByte(code[2:])
		return char
	})
	return &text
}

// showTrailers writes the block, unchanged or by the options.
func (x *expansion) showTrailers(out *buffer, o trailerOptions) {
	c := x.known
	if c.trailers == nil {
		x.spend(len(c.text))
		c.trailers = parseTrailers(c.text)
	}
	if o.asTheyAre() {
		out.add(c.trailers.whole)
		return
	}
	start := len(out.bytes)
	for _, t := range c.trailers.items {
		if x.spend(len(t.text) + len(o.keys)); !x.ok() {
			return
		}
		if t.isTrailer && !o.wants(t.key) || !t.isTrailer && o.only {
			continue
		}
		if o.separator != nil && len(out.bytes) != start {
			out.add(*o.separator)
		}
		out.add(o.text(t))
		if o.separator != nil && !t.isTrailer {
			out.trimEnd(spaces)
		}
	}
}

func (o *trailerOptions) asTheyAre() bool {
	return !o.only && !o.unfold && !o.keyOnly && !o.valueOnly && o.keys == nil &&
		o.separator == nil && o.keyValueSeparator == nil
}

func (o *trailerOptions) wants(key string) bool {
	return o.keys == nil || slices.Contains(o.keys, message.FoldCase(key))
}

// text returns a trailer in its displayed form.
func (o *trailerOptions) text(t trailer) string {
	if !t.isTrailer {
		return t.text
	}
	var shown string
	if !o.valueOnly {
		shown = t.key
	}
	switch {
	case o.keyOnly || o.valueOnly:
	case o.keyValueSeparator != nil:
		shown += *o.keyValueSeparator
	default:
		shown += keyEnd + " "
	}
	switch {
	case o.keyOnly:
	case o.unfold:
		shown += unfold(t.value)
	default:
		shown += t.value
	}
	if o.separator == nil {
		shown += "\n"
	}
	return shown
}

// unfold joins the lines of a value.
func unfold(value string) string {
	lines := strings.Split(value, "\n")
	for i := range lines[1:] {
		lines[i+1] = strings.TrimLeft(lines[i+1], spaces)
	}
	return strings.Trim(strings.Join(lines, " "), spaces)
}

// parseTrailers finds the trailers of a message that begins with its subject.
func parseTrailers(text string) *trailerBlock {
	block := &trailerBlock{whole: lastParagraph(withoutRemarks(text))}
	for rest := block.whole; rest != ""; {
		end := lineEnd(rest)
		key, isTrailer := cutKey(rest[:end])
		for isTrailer && end < len(rest) && isSpace(rest[end]) {
			end += lineEnd(rest[end:])
		}
		t := trailer{text: rest[:end], isTrailer: isTrailer}
		if isTrailer {
			t.key = strings.Trim(key, spaces)
			t.value = strings.Trim(t.text[len(key)+len(keyEnd):], spaces)
		}
		block.items = append(block.items, t)
		rest = rest[end:]
	}
	return block
}

func lineEnd(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n + 1
	}
	return len(s)
}

// cutKey returns the part of a trailer before the colon: letters, digits and hyphens, which only
// blanks may follow.
func cutKey(line string) (key string, ok bool) {
	key, _, found := strings.Cut(line, keyEnd)
	word := strings.TrimRight(key, " \t")
	for i := range len(word) {
		if !isAlnum(word[i]) && word[i] != '-' {
			return "", false
		}
	}
	return key, found && word != ""
}

// withoutRemarks removes the part after the scissors, and comments, empty lines, and an old list of
// conflicts at the end of the rest.
func withoutRemarks(text string) string {
	if i := strings.Index("\n"+text, "\n"+scissors); i >= 0 {
		text = text[:i]
	}
	end, conflicts := len(text), false
	for begin := 0; begin < len(text); begin += lineEnd(text[begin:]) {
		title := strings.HasPrefix(text[begin:], conflictsTitle)
		switch {
		case text[begin] == commentMark, text[begin] == '\n', title:
			end = min(end, begin)
			conflicts = conflicts || title
		case !conflicts || text[begin] != '\t':
			end, conflicts = len(text), false
		}
	}
	return text[:end]
}

// lastParagraph returns the last paragraph if it consists of trailers and is not the first, which
// is the subject. Comments do not end it.
func lastParagraph(text string) string {
	seen := false // a line that is neither blank nor a comment
	for end := len(text); end > 0; {
		begin := strings.LastIndexByte(text[:end-1], '\n') + 1
		blank := strings.Trim(text[begin:end], spaces) == ""
		if blank && seen {
			if areTrailers(text[end:]) {
				return text[end:]
			}
			return ""
		}
		seen = seen || !blank && text[begin] != commentMark
		end = begin
	}
	return ""
}

// areTrailers reports whether all lines of a paragraph are trailers, or one is generated and at
// least a quarter are trailers. Indented lines belong to the trailer above them.
func areTrailers(paragraph string) bool {
	trailers, others, someGenerated, within := 0, 0, false, false
	for line := range strings.Lines(paragraph) {
		_, isTrailer := cutKey(line)
		isGenerated := slices.ContainsFunc(generated, func(begin string) bool { return strings.HasPrefix(line, begin) })
		switch {
		case strings.Trim(line, spaces) == "":
		case line[0] == commentMark:
			within = false
		case isTrailer || isGenerated:
			within = true
			trailers++
			someGenerated = someGenerated || isGenerated
		case !within || !isSpace(line[0]):
			within = false
			others++
		}
	}
	return trailers > 0 && (others == 0 || someGenerated && trailers*othersPerTrailer >= others)
}
