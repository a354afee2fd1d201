package pretty

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// maxPattern is the longest argument of a program on Linux: git runs git describe.
const maxPattern = 128 << 10

// Descriptions caches the results of each %(describe…) of a commit, which may need a walk through
// its history. Any number of formatters of the commit may share it, so that their results agree.
type Descriptions struct {
	mu    sync.Mutex
	texts map[string]string // by the placeholder's arguments
}

// find returns the description for a placeholder, and computes it the first time.
func (d *Descriptions) find(args string, describe func() (string, error)) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, known := d.texts[args]; known {
		return text, nil
	}
	text, err := describe()
	if err != nil {
		return "", err
	}
	if d.texts == nil {
		d.texts = make(map[string]string)
	}
	d.texts[args] = text
	return text, nil
}

// describe expands %(describe) and %(describe:…). A formatter expands it once, and an attempt with
// wrong options counts: gitattributes(5), export-subst. The result is empty if nothing describes
// the commit.
func (x *expansion) describe(out *buffer, args string) (rest string, ok bool) {
	if x.described {
		return "", false
	}
	x.described = true
	d := describer{
		Formatter: x.Formatter, meter: x.meter, abbreviation: automatic, names: make(map[git.ID]*tagName),
	}
	if rest, ok = x.readOptions(args, d.set); !ok {
		return "", false
	}
	text, err := x.descriptions.find(args[:len(args)-len(rest)], d.describe)
	if err != nil {
		x.fail(err)
	}
	out.add(text)
	return rest, true
}

func (d *describer) set(o option) bool {
	switch o.name {
	case "tags":
		on, ok := o.flag()
		if !ok { // git ignores it at the end of the list
			return strings.HasPrefix(o.rest, ")")
		}
		d.lightweight = on
		return true
	case "abbrev":
		number, after := cutInt(o.value)
		d.abbreviation = abbreviationLength(int32(number)) // git truncates it to 32 bits
		return o.value != "" && after == ""
	case "match":
		d.match = append(d.match, o.value)
		return o.value != ""
	case "exclude":
		d.exclude = append(d.exclude, o.value)
		return o.value != ""
	}
	return false
}

// abbreviationLength returns 0 for no id, or a length within git's bounds.
func abbreviationLength(number int32) int {
	const shortest, longest = 4, 40
	if number == 0 {
		return 0
	}
	return min(max(int(number), shortest), longest)
}

// describer finds the tag that describes a commit best: git-describe(1).
type describer struct {
	*Formatter
	*meter
	lightweight    bool // includes lightweight tags
	abbreviation   int
	match, exclude []string
	names          map[git.ID]*tagName
}

type tagName struct {
	ref       git.Ref
	annotated bool
	read      bool // the tag object was read
	broken    bool // the tag object is unreadable
	object    tagObject
}

// tagObject is an annotated tag.
type tagObject struct {
	name   string
	target git.ID
	date   uint64
}

func (d *describer) describe() (string, error) {
	for _, pattern := range slices.Concat(d.match, d.exclude) {
		if len(pattern) >= maxPattern {
			return "", nil
		}
	}
	if err := d.collect(); err != nil || len(d.names) == 0 {
		return "", err
	}
	if exact := d.names[d.id]; exact != nil && d.takesPart(exact) {
		return d.text(exact, 0, true)
	}
	best, err := d.search()
	if best == nil || err != nil {
		return "", err
	}
	return d.text(best.name, best.depth, false)
}

func (d *describer) takesPart(n *tagName) bool { return d.lightweight || n.annotated }

func (d *describer) collect() error {
	tags, err := readable(d.repository.Tags())
	if err != nil {
		return err
	}
	for _, ref := range tags {
		if ref.Commit.IsZero() || !d.selected(ref.Tag()) {
			continue
		}
		n := &tagName{ref: ref, annotated: ref.Target != ref.Commit}
		better, err := d.better(n, d.names[ref.Commit])
		if err != nil {
			return err
		}
		if better {
			d.names[ref.Commit] = n
		}
	}
	return d.err
}

// selected reports whether the options admit a tag.
func (d *describer) selected(name string) bool {
	matches := func(pattern string) bool {
		d.spend(len(pattern) * len(name)) // the maximal cost of matching
		return d.ok() && wildmatch.Match(pattern, []byte(name), 0)
	}
	return !slices.ContainsFunc(d.exclude, matches) && (len(d.match) == 0 || slices.ContainsFunc(d.match, matches))
}

// better reports whether a tag replaces another one of the commit. Annotated tags precede others,
// and later ones precede earlier ones.
func (d *describer) better(n, present *tagName) (bool, error) {
	if present == nil || n.annotated && !present.annotated {
		return true, nil
	}
	if !n.annotated || !present.annotated {
		return false, nil
	}
	if err := d.readTag(present); err != nil || present.broken {
		return err == nil, err
	}
	if err := d.readTag(n); err != nil || n.broken {
		return false, err
	}
	return present.object.date < n.object.date, nil
}

func (d *describer) readTag(n *tagName) error {
	if n.read || !n.annotated {
		return nil
	}
	n.read = true
	raw, err := d.repository.RawTag(n.ref.Target)
	if errors.Is(err, git.ErrNotFound) {
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

func parseTag(raw string) (t tagObject, ok bool) {
	object, rest, _ := strings.Cut(raw, "\n")
	hex, isObject := strings.CutPrefix(object, "object ")
	kind, rest, _ := strings.Cut(rest, "\n")
	name, rest, named := strings.Cut(rest, "\n")
	name, isTag := strings.CutPrefix(name, "tag ")
	target, err := git.ParseID(hex)
	if !isObject || err != nil || !strings.HasPrefix(kind, "type ") || !named || !isTag {
		return tagObject{}, false
	}
	t = tagObject{name: name, target: target}
	if tagger, _, ended := strings.Cut(rest, "\n"); ended && strings.HasPrefix(tagger, "tagger ") {
		_, when, _ := strings.Cut(tagger, ">")
		t.date = git.ParseSeconds(when)
	}
	return t, true
}

// text returns the name of a tag and the commit's distance from it. The name in a tag object takes
// precedence over that of its ref; if they differ, the id of the tagged commit is added.
func (d *describer) text(n *tagName, depth int, exact bool) (string, error) {
	if err := d.readTag(n); err != nil || n.broken {
		return "", err
	}
	name, misnamed := n.ref.Tag(), false
	if n.annotated {
		name, misnamed = n.object.name, n.object.name != name
	}
	name = untilNUL(name)
	if misnamed || !exact && d.abbreviation != 0 {
		id := d.id
		if exact {
			id = n.object.target
		}
		short, err := d.repository.Abbreviate(id, d.abbreviation)
		if err != nil {
			return "", err
		}
		name += fmt.Sprintf("-%d-g%s", depth, short)
	}
	return strings.TrimRight(name, spaces), nil
}
