package subst

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/archive/wildmatch"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// maxArgument is Linux's MAX_ARG_STRLEN: git describe is another process,
	// which does not start with a longer pattern.
	maxArgument = 128 << 10
)

// describeOptions are those of %(describe:…).
type describeOptions struct {
	tags           bool
	abbreviation   int
	match, exclude []string
}

// describe is %(describe…). It is expanded once in an archive; an attempt with
// wrong options counts. When nothing describes the commit it is empty.
func (f *formatter) describe(out *buffer, p string) int {
	if f.described {
		return 0
	}
	f.described = true
	rest := strings.TrimPrefix(p, "(describe")
	options := describeOptions{abbreviation: automatic}
	if after, ok := strings.CutPrefix(rest, ":"); ok {
		rest = options.parse(f.meter, after)
	}
	if at(rest, 0) != ')' {
		return 0
	}
	length := len(p) - len(rest) + 1
	text, err := f.descriptions.of(p[:length], func() (string, error) { return f.description(options) })
	if err != nil {
		f.fail(err)
	}
	out.add(text)
	return length
}

// Descriptions are what each %(describe…) of a commit came to: to know one can take
// a walk through its history. They may be shared by any number of expanders of the
// commit, so that all say the same.
type Descriptions struct {
	mu    sync.Mutex
	texts map[string]string // by the placeholder
}

// of gives the description that a placeholder asks for, and makes it the first
// time.
func (d *Descriptions) of(placeholder string, describe func() (string, error)) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, known := d.texts[placeholder]; known {
		return text, nil
	}
	text, err := describe()
	if err != nil {
		return "", err
	}
	if d.texts == nil {
		d.texts = make(map[string]string)
	}
	d.texts[placeholder] = text
	return text, nil
}

// parse is parse_describe_args (pretty.c). It gives the rest of the format, all
// of it when an option is wrong.
func (o *describeOptions) parse(m *meter, format string) (rest string) {
	a := arguments{meter: m, rest: format}
	for m.ok() {
		found, ok := o.option(&a)
		if !ok {
			return format
		}
		if !found {
			break
		}
	}
	return a.rest
}

// option reads one option; it is not ok when its value is wrong.
func (o *describeOptions) option(a *arguments) (found, ok bool) {
	if value, ok := a.takeBool("tags"); ok {
		o.tags = value
		return true, true
	}
	if value, _, ok := a.take("abbrev"); ok {
		number, length := parseSigned(value)
		o.abbreviation = abbreviationLength(number)
		return true, length > 0 && length == len(value)
	}
	if value, _, ok := a.take("exclude"); ok {
		o.exclude = append(o.exclude, value)
		return true, value != ""
	}
	if value, _, ok := a.take("match"); ok {
		o.match = append(o.match, value)
		return true, value != ""
	}
	return false, true
}

// abbreviationLength is parse_opt_abbrev_cb (parse-options-cb.c), which takes
// the number for an int.
func abbreviationLength(number int64) int {
	const shortest, longest = 4, 40
	switch n := int(int32(number)); {
	case n == 0:
		return 0
	case n < shortest:
		return shortest
	default:
		return min(n, longest)
	}
}

// description is what cmd_describe (builtin/describe.c) writes.
func (f *formatter) description(o describeOptions) (string, error) {
	d := describer{formatter: f, options: o, names: make(map[repos.ID]*tagName)}
	if !d.startable() {
		return "", nil
	}
	return d.run()
}

// tagName is the best tag of a commit: struct commit_name.
type tagName struct {
	ref       repos.Ref
	annotated bool
	read      bool // the tag object was looked at
	object    tagObject
	broken    bool // it cannot be read
}

// name is what the tag is called: the name in the object, whatever the ref is.
func (n *tagName) name() string {
	if n.annotated {
		return n.object.name
	}
	return n.ref.Tag()
}

// misnamed reports whether the ref has another name than the object.
func (n *tagName) misnamed() bool { return n.annotated && n.object.name != n.ref.Tag() }

// describer finds the tag that a commit is best described by.
type describer struct {
	*formatter
	options describeOptions
	names   map[repos.ID]*tagName
}

func (d *describer) startable() bool {
	for _, list := range [][]string{d.options.match, d.options.exclude} {
		for _, pattern := range list {
			if len(pattern) >= maxArgument {
				return false
			}
		}
	}
	return true
}

func (d *describer) run() (string, error) {
	if err := d.collect(); err != nil || len(d.names) == 0 {
		return "", err
	}
	if exact := d.names[d.id]; exact != nil && d.usable(exact) {
		return d.text(exact, 0, true)
	}
	best, err := d.search()
	if best == nil || err != nil {
		return "", err
	}
	return d.text(best.name, best.depth, false)
}

// usable reports whether a tag counts: lightweight ones only with the option.
func (d *describer) usable(n *tagName) bool { return d.options.tags || n.annotated }

// collect finds the best tag of each commit.
func (d *describer) collect() error {
	tags, err := d.source.tags()
	if err != nil {
		return err
	}
	for _, ref := range tags {
		if ref.Commit.IsZero() || !d.selected(ref.Tag()) {
			continue
		}
		candidate := &tagName{ref: ref, annotated: ref.Target != ref.Commit}
		better, err := d.better(candidate, d.names[ref.Commit])
		if err != nil {
			return err
		}
		if better {
			d.names[ref.Commit] = candidate
		}
	}
	return d.err
}

// selected reports whether the options let a tag take part.
func (d *describer) selected(name string) bool {
	return !d.matchesAny(d.options.exclude, name) &&
		(len(d.options.match) == 0 || d.matchesAny(d.options.match, name))
}

func (d *describer) matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		d.spend(len(pattern) * len(name)) // the most that it can cost
		if d.ok() && wildmatch.Match(pattern, []byte(name), 0) {
			return true
		}
	}
	return false
}

// better reports whether a tag takes the place of another one: replace_name.
// Annotated tags go before others, and later ones before earlier ones.
func (d *describer) better(candidate, present *tagName) (bool, error) {
	if present == nil || candidate.annotated && !present.annotated {
		return true, nil
	}
	if !candidate.annotated || !present.annotated {
		return false, nil
	}
	if err := d.readTag(present); err != nil || present.broken {
		return err == nil, err
	}
	if err := d.readTag(candidate); err != nil || candidate.broken {
		return false, err
	}
	return present.object.date < candidate.object.date, nil
}

// readTag reads the tag object, once.
func (d *describer) readTag(n *tagName) error {
	if n.read || !n.annotated {
		return nil
	}
	n.read = true
	raw, err := d.source.RawTag(n.ref.Target)
	if errors.Is(err, repos.ErrNotFound) {
		n.broken = true
		return nil
	}
	if err != nil {
		return err
	}
	d.spend(len(raw))
	object, ok := parseTag(string(raw))
	n.object, n.broken = object, !ok
	return nil
}

// text is the name of a tag and how far the commit is from it.
func (d *describer) text(n *tagName, depth int, exact bool) (string, error) {
	if err := d.readTag(n); err != nil || n.broken {
		return "", err
	}
	text := untilNUL(n.name())
	if n.misnamed() || !exact && d.options.abbreviation != 0 {
		id := d.id
		if exact {
			id = n.object.target
		}
		abbreviation, err := d.source.Abbreviate(id, d.options.abbreviation)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("-%d-g%s", depth, abbreviation)
	}
	return strings.TrimRight(text, spaces), nil
}

// tagObject is an annotated tag: parse_tag_buffer (tag.c).
type tagObject struct {
	name   string
	target repos.ID
	date   uint64
}

func parseTag(raw string) (t tagObject, ok bool) {
	hex, rest, _ := strings.Cut(raw, "\n")
	hex, isObject := strings.CutPrefix(hex, "object ")
	kind, rest, _ := strings.Cut(rest, "\n")
	name, rest, named := strings.Cut(rest, "\n")
	name, isTag := strings.CutPrefix(name, "tag ")
	target, err := repos.ParseID(hex)
	if !isObject || err != nil || !strings.HasPrefix(kind, "type ") || !named || !isTag {
		return tagObject{}, false
	}
	t = tagObject{name: name, target: target}
	if tagger, _, ended := strings.Cut(rest, "\n"); ended && strings.HasPrefix(tagger, "tagger ") {
		if _, after, found := strings.Cut(tagger, ">"); found {
			t.date, _ = parseUnsigned(after)
		}
	}
	return t, true
}
