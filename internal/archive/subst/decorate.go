package subst

import (
	"errors"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/repos"
)

// kind is what sort of name a commit has.
type kind uint8

const (
	other kind = iota
	branch
	tag
	head
)

// decoration is a name of the commit.
type decoration struct {
	kind kind
	name string
}

// namespaces are the prefixes that are left out of names: prettify_refname
// (refs.c), with the kinds of ref_namespace.
var namespaces = []struct {
	prefix string
	kind   kind
}{
	{"refs/heads/", branch},
	{"refs/tags/", tag},
	{"refs/remotes/", other},
}

// replacePrefix is of refs that are no names where git does not replace objects.
const replacePrefix = "refs/replace/"

// decorated is %d and %D: format_decorations (log-tree.c).
func (f *formatter) decorated(out *buffer, p string) int {
	names, err := f.decorations()
	if err != nil {
		f.fail(err)
		return 1
	}
	if len(names) == 0 {
		return 1
	}
	open, end := " (", ")"
	if p[0] == 'D' {
		open, end = "", ""
	}
	out.add(open)
	for i, name := range names {
		if i > 0 {
			out.add(", ")
		}
		out.add(name.name)
	}
	out.add(end)
	return 1
}

// decorations are the names of the commit as they are shown, once for the
// archive: HEAD first, then the refs from the last to the first.
func (e *Expander) decorations() ([]decoration, error) {
	if e.names != nil {
		return *e.names, nil
	}
	if err := e.source.open(); err != nil {
		return nil, err
	}
	refs, err := e.source.allRefs()
	if err != nil {
		return nil, err
	}
	var names []decoration
	for _, ref := range refs {
		if name, ok := e.decorates(ref); ok {
			names = append(names, name)
		}
	}
	ref, err := e.source.Head()
	if err != nil && !errors.Is(err, repos.ErrEmpty) {
		return nil, err
	}
	if err == nil && ref.Commit == e.id {
		names = e.addHead(names, ref)
	}
	if e.source.shallow[e.id] {
		names = append(names, decoration{other, "grafted"})
	}
	slices.Reverse(names)
	for i := range names {
		names[i].name = shown(names[i])
	}
	e.names = &names
	return names, nil
}

// decorates gives the name that a ref is for the commit, if it is one.
func (e *Expander) decorates(ref repos.Ref) (decoration, bool) {
	if strings.HasPrefix(ref.Name, replacePrefix) {
		return decoration{}, false
	}
	switch e.id {
	case ref.Target:
		return decoration{kindOf(ref.Name), ref.Name}, true
	case ref.Commit: // by way of a tag object, wherever the ref is
		return decoration{tag, ref.Name}, true
	}
	return decoration{}, false
}

// addHead adds HEAD, together with the branch that it points to.
func (e *Expander) addHead(names []decoration, ref repos.Ref) []decoration {
	if ref.Target != e.id {
		return append(names, decoration{tag, "HEAD"})
	}
	i := slices.Index(names, decoration{branch, ref.Name})
	if i < 0 {
		return append(names, decoration{head, "HEAD"})
	}
	names = slices.Delete(names, i, i+1)
	return append(names, decoration{head, "HEAD -> " + strings.TrimPrefix(ref.Name, namespaces[0].prefix)})
}

func kindOf(ref string) kind {
	for _, n := range namespaces {
		if strings.HasPrefix(ref, n.prefix) {
			return n.kind
		}
	}
	return other
}

func shown(d decoration) string {
	name := d.name
	for _, n := range namespaces {
		if rest, ok := strings.CutPrefix(name, n.prefix); ok {
			name = rest
			break
		}
	}
	if d.kind == tag {
		return "tag: " + name
	}
	return name
}
