package pretty

import (
	"errors"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
	remotes  = "refs/remotes/"
	// Replacement refs are no decorations if git does not replace objects.
	replacements = "refs/replace/"
	tagMark      = "tag: "
)

// readDecorations returns the commit's names in display order: the end of a shallow history, HEAD,
// and the refs from last to first. HEAD's branch is shown with it.
func (f *Formatter) readDecorations() (names []string, err error) {
	shallow, err := f.shallow()
	if err != nil {
		return nil, err
	}
	refs, err := readable(f.repository.Refs())
	if err != nil {
		return nil, err
	}
	head, err := f.repository.Head()
	if err != nil && !errors.Is(err, git.ErrEmpty) {
		return nil, err
	}
	if shallow[f.id] {
		names = append(names, "grafted")
	}
	current := ""
	switch listed := slices.ContainsFunc(refs, func(r git.Ref) bool { return r.Name == head.Name }); {
	case err != nil || head.Commit != f.id:
	case head.Target != f.id:
		names = append(names, tagMark+"HEAD")
	case listed && strings.HasPrefix(head.Name, branches):
		current = head.Name
		names = append(names, "HEAD -> "+strings.TrimPrefix(current, branches))
	default:
		names = append(names, "HEAD")
	}
	for _, ref := range slices.Backward(refs) {
		if ref.Name != current && ref.Commit == f.id && !strings.HasPrefix(ref.Name, replacements) {
			names = append(names, decoration(ref))
		}
	}
	return names, nil
}

// decoration returns the short name of a ref. A ref that reaches the commit through an annotated
// tag counts as a tag, wherever it is.
func decoration(ref git.Ref) string {
	mark := ""
	if ref.Target != ref.Commit || strings.HasPrefix(ref.Name, tags) {
		mark = tagMark
	}
	for _, namespace := range []string{branches, tags, remotes} {
		if name, ok := strings.CutPrefix(ref.Name, namespace); ok {
			return mark + name
		}
	}
	return mark + ref.Name
}
