package pretty

import (
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

// expansion is the state while expanding one format.
type expansion struct {
	*Text
	known    *commit // for placeholders that need it
	begin    int     // start of the format's own text
	padding  padding
	wrapping wrapping
	wrapFrom int // start of the text to wrap
}

// placeholder is the meaning of a name after a percent sign.
type placeholder struct {
	needs  need
	drifts bool // see DependsOnRefs
	// expand writes the expansion, and returns the format after its arguments. ok is false for
	// invalid arguments.
	expand func(x *expansion, out *buffer, args string) (rest string, ok bool)
}

// need is the part of a commit that a placeholder reads.
type need uint8

const (
	nothing need = iota
	links        // the commit without its text
	words        // its text, which affects Text.Encode
)

// placeholders are those of git-log(1), PRETTY FORMATS, by name. The longest matching name counts.
var placeholders = table(map[string]placeholder{
	"n":  {nothing, false, constant("\n")},
	"x":  {nothing, false, hexCode},
	"C":  {nothing, false, (*expansion).color},
	"w":  {nothing, false, (*expansion).setWrapping},
	"<":  {nothing, false, setPadding(right)},
	">":  {nothing, false, setPadding(left)},
	">>": {nothing, false, setPadding(leftStealing)},
	"><": {nothing, false, setPadding(both)},

	"H": {links, false, commitPart(func(x *expansion, _ *commit) (string, error) { return x.id.String(), nil })},
	"h": {links, true, commitPart(func(x *expansion, _ *commit) (string, error) { return x.shortID(x.id) })},
	"T": {links, false, commitPart(func(_ *expansion, c *commit) (string, error) { return c.tree.String(), nil })},
	"t": {links, true, commitPart(func(x *expansion, c *commit) (string, error) { return x.shortID(c.tree) })},
	"P": {links, false, parents(func(_ *expansion, id git.ID) (string, error) { return id.String(), nil })},
	"p": {links, true, parents((*expansion).shortID)},
	"m": {links, false, constant(">")},
	"d": {links, true, decorated(" (", ")")},
	"D": {links, true, decorated("", "")},

	// Notes, reflog and --source do not exist here.
	"N": {links, false, unknown},
	"S": {links, false, unknown},
	"g": {links, false, unknown},

	"G":  {links, true, unknown},
	"G?": {links, true, signature(func(state string) string { return state })},
	"GT": {links, true, signature(func(string) string { return "undefined" })},

	"e": {words, false, commitText((*commit).encoding)},
	"B": {words, false, commitText(func(c *commit) string { return c.Message })},
	"s": {words, false, commitText(func(c *commit) string { return c.subject })},
	"f": {words, false, commitText(func(c *commit) string { return c.fileName })},
	"b": {words, false, commitText(func(c *commit) string { return c.body })},

	"(describe": {nothing, true, (*expansion).describe},
	"(trailers": {words, false, (*expansion).trailers},
	"(decorate": {words, true, unknown}, // from a later git
})

// longestName is the length of the longest name.
const longestName = len("(describe")

// table adds the placeholders of people, and those that are always empty.
func table(t map[string]placeholder) map[string]placeholder {
	for _, name := range []string{"gD", "gd", "gs", "gn", "gN", "ge", "gE"} {
		t[name] = placeholder{links, false, constant("")}
	}
	for _, name := range []string{"GG", "GS", "GK", "GF", "GP"} {
		t[name] = placeholder{links, true, signature(func(string) string { return "" })}
	}
	for role, line := range map[string]func(*commit) string{
		"a": func(c *commit) string { return c.Author },
		"c": func(c *commit) string { return c.Committer },
	} {
		for name, part := range personParts {
			t[role+name] = placeholder{words, part.drifts, person(line, part)}
		}
	}
	return t
}

// find returns the placeholder at the start of a format, and the format after its name. An unknown
// placeholder needs the whole commit.
func find(format string) (p placeholder, args string) {
	for n := min(longestName, len(format)); n > 0; n-- {
		if p, ok := placeholders[format[:n]]; ok {
			return p, format[n:]
		}
	}
	return placeholder{words, false, unknown}, format
}

// expand expands a format, and copies other text.
func (x *expansion) expand(format string) {
	for x.ok() {
		before, rest, found := strings.Cut(format, "%")
		x.out.add(before)
		if !found {
			return
		}
		if after, ok := strings.CutPrefix(rest, "%"); ok {
			x.out.add("%")
			format = after
			continue
		}
		if format = x.item(rest); len(format) == len(rest) {
			x.out.add("%")
		}
	}
}

// signs may precede the name of a placeholder. They are inserted before a non-empty expansion,
// except the minus, which removes line feeds before an empty one.
var signs = map[byte]string{'-': "-", '+': "\n", ' ': " "}

// item expands a placeholder with its sign and padding, and returns the rest of the format.
func (x *expansion) item(format string) (rest string) {
	sign := signs[byteAt(format, 0)]
	if sign == "" {
		return x.padded(format)
	}
	if byteAt(format, 1) == 'w' {
		return format // would change the text before it
	}
	start := len(x.out.bytes)
	rest = x.padded(format[1:])
	switch end := len(x.out.bytes); {
	case sign == "-" && end == start:
		x.out.trimEnd("\n")
		x.begin = min(x.begin, len(x.out.bytes))
	case sign != "-" && end < start:
		x.fail(&FatalError{Reason: "%>>| takes away the text after which a sign has to be put"})
	case sign != "-" && end > start:
		x.out.insert(start, sign)
	}
	return rest
}

// expandOne expands one placeholder, and returns the rest of the format; all of it if there is no
// placeholder.
func (x *expansion) expandOne(out *buffer, format string) (rest string) {
	p, args := find(format)
	if p.needs != nothing {
		c, err := x.commit()
		if err == nil {
			err = x.ctx.Err()
		}
		if err != nil {
			x.fail(err)
			return format
		}
		x.known = c
		x.readText = x.readText || p.needs == words
	}
	if rest, ok := p.expand(x, out, args); ok {
		return rest
	}
	return format
}

func unknown(*expansion, *buffer, string) (string, bool) { return "", false }

func constant(text string) func(*expansion, *buffer, string) (string, bool) {
	return func(_ *expansion, out *buffer, args string) (string, bool) {
		out.add(text)
		return args, true
	}
}

// commitPart returns an expansion that shows a part of the commit.
func commitPart(part func(*expansion, *commit) (string, error)) func(*expansion, *buffer, string) (string, bool) {
	return func(x *expansion, out *buffer, args string) (string, bool) {
		text, err := part(x, x.known)
		if err != nil {
			x.fail(err)
			return "", false
		}
		out.add(text)
		return args, true
	}
}

func commitText(part func(*commit) string) func(*expansion, *buffer, string) (string, bool) {
	return commitPart(func(_ *expansion, c *commit) (string, error) { return part(c), nil })
}

func parents(name func(*expansion, git.ID) (string, error)) func(*expansion, *buffer, string) (string, bool) {
	return commitPart(func(x *expansion, c *commit) (string, error) {
		names := make([]string, len(c.parents))
		for i, id := range c.parents {
			var err error
			if names[i], err = name(x, id); err != nil {
				return "", err
			}
		}
		return strings.Join(names, " "), nil
	})
}

// hexCode expands %x with two digits.
func hexCode(x *expansion, out *buffer, args string) (string, bool) {
	code, ok := hexByte(args)
	if !ok {
		x.readText = true // as for all unknown placeholders
		return "", false
	}
	out.add(code)
	return args[2:], true
}

// signature expands %G as far as that is possible without a verifying program.
func signature(part func(state string) string) func(*expansion, *buffer, string) (string, bool) {
	return commitPart(func(_ *expansion, c *commit) (string, error) {
		state, err := c.signatureState()
		return part(state), err
	})
}

// decorated expands %d and %D: the names of the commit between two delimiters.
func decorated(begin, end string) func(*expansion, *buffer, string) (string, bool) {
	return commitPart(func(x *expansion, _ *commit) (string, error) {
		names, err := x.decorations()
		if len(names) == 0 {
			return "", err
		}
		return begin + strings.Join(names, ", ") + end, err
	})
}
