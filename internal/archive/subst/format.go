package subst

import (
	"strings"

	"github.com/repomcp/repomcp/internal/charset"
)

// formatter expands one $Format:…$; it is git's struct format_commit_context.
// A placeholder is a function that is given the format from after the percent
// sign on, writes what it stands for, and returns how many bytes it took, 0
// when it is none.
type formatter struct {
	*Expander
	*meter
	out *buffer // the file as far as it is written

	flush    flush
	truncate truncation
	padding  int // in columns; negative: up to that column

	width, indent1, indent2 int // of %w
	wrapStart               int // where the text begins that they are for

	readText bool // the commit's text was looked at
}

// formattingLimit is git's FORMATTING_LIMIT, the largest padding and indent.
const formattingLimit = 16 << 10

// format expands a whole format. A commit that is not in UTF-8 makes git turn
// all of the file that is written so far into its encoding, the text around the
// placeholders included, or none of it when that cannot be done.
func (f *formatter) format(format string) {
	f.expand(format)
	f.rewrap(f.out, 0, 0, 0)
	if !f.ok() || !f.readText || f.commit.encoding == nil || charset.Same(*f.commit.encoding, charset.UTF8) {
		return
	}
	f.spend(len(f.out.b))
	if encoded, ok := charset.Encode(f.out.b, *f.commit.encoding); ok {
		f.out.b = append(f.out.b[:0], encoded...)
		f.out.room(0)
	}
}

func (f *formatter) expand(format string) {
	for f.ok() {
		before, rest, found := strings.Cut(format, "%")
		f.out.add(before)
		if !found {
			return
		}
		format = rest
		if strings.HasPrefix(format, "%") {
			f.out.addByte('%')
			format = format[1:]
			continue
		}
		taken := f.item(format)
		if taken == 0 {
			f.out.addByte('%')
		}
		format = format[taken:]
	}
}

// magic are the signs between the percent sign and the placeholder. The value
// is what is put before an expansion that is not empty; for '-', line feeds
// before an empty one are removed.
var magic = map[byte]byte{'-': '-', '+': '\n', ' ': ' '}

// item expands a placeholder with its magic and padding.
func (f *formatter) item(p string) int {
	sign := magic[at(p, 0)]
	if sign == 0 {
		return f.padded(p)
	}
	if at(p, 1) == 'w' {
		return 0 // may change what is before it
	}
	start := len(f.out.b)
	taken := f.padded(p[1:])
	switch {
	case sign == '-' && len(f.out.b) == start:
		for byteAt(f.out.b, len(f.out.b)-1) == '\n' {
			f.out.b = f.out.b[:len(f.out.b)-1]
		}
	case sign != '-' && len(f.out.b) < start:
		f.fail(&FatalError{Reason: "%>>| takes away the text after which a sign has to be put"})
	case sign != '-' && len(f.out.b) > start:
		f.out.insert(start, string(sign))
	}
	return taken + 1
}

type placeholder func(f *formatter, out *buffer, p string) int

// free are the placeholders that need no commit.
var free = map[byte]placeholder{
	'n': constant(1, "\n"),
	'x': (*formatter).hexByte,
	'C': (*formatter).color,
	'w': (*formatter).wrapping,
	'<': (*formatter).setPadding,
	'>': (*formatter).setPadding,
}

// identity are those that need the commit but not its text, which is what
// decides about the encoding.
var identity = map[byte]placeholder{
	'H': (*formatter).hash,
	'h': (*formatter).shortHash,
	'T': (*formatter).tree,
	't': (*formatter).shortTree,
	'P': (*formatter).parents,
	'p': (*formatter).shortParents,
	'm': constant(1, ">"),
	'd': (*formatter).decorated,
	'D': (*formatter).decorated,
	'S': constant(0, ""), // no --source
	'g': (*formatter).reflog,
	'N': constant(0, ""), // no notes
	'G': (*formatter).signature,
}

// textual are those for which git reads the text, as it does for what is no
// placeholder.
var textual = map[byte]placeholder{
	'a': func(f *formatter, out *buffer, p string) int { return f.person(out, f.commit.author, at(p, 1)) },
	'c': func(f *formatter, out *buffer, p string) int { return f.person(out, f.commit.committer, at(p, 1)) },
	'e': (*formatter).encoding,
	'B': text(func(c *commit) string { return c.message }),
	's': text(func(c *commit) string { return c.subject }),
	'f': text(func(c *commit) string { return c.fileName }),
	'b': text(func(c *commit) string { return c.body }),
	'(': (*formatter).trailers,
}

// one expands one placeholder.
func (f *formatter) one(out *buffer, p string) int {
	if expand := free[at(p, 0)]; expand != nil {
		return expand(f, out, p)
	}
	if strings.HasPrefix(p, "(describe") {
		return f.describe(out, p)
	}
	if !f.load() {
		return 0
	}
	if expand := identity[at(p, 0)]; expand != nil {
		return expand(f, out, p)
	}
	f.readText = true
	if expand := textual[at(p, 0)]; expand != nil {
		return expand(f, out, p)
	}
	return 0
}

// load reads the commit, once for the archive.
func (f *formatter) load() bool {
	if f.commit == nil {
		commit, err := f.source.commit(f.id)
		if err != nil {
			f.fail(err)
			return false
		}
		f.commit = commit
	}
	return true
}

func constant(taken int, text string) placeholder {
	return func(_ *formatter, out *buffer, _ string) int {
		out.add(text)
		return taken
	}
}

func text(part func(*commit) string) placeholder {
	return func(f *formatter, out *buffer, _ string) int {
		out.add(part(f.commit))
		return 1
	}
}

// hexByte is %x with two digits.
func (f *formatter) hexByte(out *buffer, p string) int {
	c, ok := hexPair(p[1:])
	if !ok {
		return f.unknown(out)
	}
	out.addByte(c)
	return 3
}

// unknown is what git does with what it does not know: it reads the text of
// the commit before it gives up, and then the encoding counts.
func (f *formatter) unknown(*buffer) int {
	if f.load() {
		f.readText = true
	}
	return 0
}

func (f *formatter) hash(out *buffer, _ string) int {
	out.add(f.id.String())
	return 1
}

func (f *formatter) shortHash(out *buffer, _ string) int {
	f.short(out, f.id)
	return 1
}

func (f *formatter) tree(out *buffer, _ string) int {
	out.add(f.commit.tree.String())
	return 1
}

func (f *formatter) shortTree(out *buffer, _ string) int {
	f.short(out, f.commit.tree)
	return 1
}

func (f *formatter) parents(out *buffer, _ string) int {
	for i, parent := range f.commit.parents {
		if i > 0 {
			out.addByte(' ')
		}
		out.add(parent.String())
	}
	return 1
}

func (f *formatter) shortParents(out *buffer, _ string) int {
	for i, parent := range f.commit.parents {
		if i > 0 {
			out.addByte(' ')
		}
		if f.short(out, parent); !f.ok() {
			break
		}
	}
	return 1
}

// encoding is the encoding header, %e.
func (f *formatter) encoding(out *buffer, _ string) int {
	if f.commit.encoding != nil {
		out.add(*f.commit.encoding)
	}
	return 1
}

// reflog is %g: an archive has none, so that the known ones are empty.
func (f *formatter) reflog(_ *buffer, p string) int {
	if c := at(p, 1); c != 0 && strings.IndexByte("dDsnNeE", c) >= 0 {
		return 2
	}
	return 0
}
