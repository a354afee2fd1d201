package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects"
)

// RevisionError says that a revision has an unsupported form of gitrevisions(7), or goes too far.
// Its message does not repeat the client's string.
type RevisionError struct {
	// Form is the mark of the form, such as "@{"; "" for others.
	Form   string
	Reason string
}

func (e *RevisionError) Error() string { return "the revision " + e.Reason }

// maxAncestors bounds the commits that one revision goes back: the first parents of a history of a
// hundred thousand merges. Each commit has to be read.
const maxAncestors = 100_000

// refusedForms are the unsupported forms.
var refusedForms = []struct{ mark, reason string }{
	{"@{", "has @{…}: it asks for a reflog or the branch of a remote, and neither is read"},
	{"^{/", "has ^{/…}: messages are not searched for a revision"},
	{"^@", "stands for several commits. Name one, such as ^1"},
	{"^!", "stands for several commits. Name one"},
	{"^-", "stands for several commits. Name one"},
	{":", "has a colon: the path is an argument of its own, and messages are not searched"},
}

// step is one suffix of a revision.
type step struct {
	mark byte // ~ for ancestors, ^ for a parent, { for the kind to peel to
	n    int
	kind string // of {
}

// splitRevision splits the suffixes off a revision. The rest is the name: refs contain neither ~
// nor ^.
func splitRevision(revision string) (name string, steps []step, err error) {
	for _, r := range refusedForms {
		if strings.Contains(revision, r.mark) {
			return "", nil, &RevisionError{r.mark, r.reason}
		}
	}
	if isRange(revision) {
		return "", nil, &RevisionError{Reason: "is a range, and one commit is wanted"}
	}
	at := strings.IndexAny(revision, "~^")
	if at < 0 {
		return revision, nil, nil
	}
	for rest := revision[at:]; rest != ""; {
		var s step
		if s, rest, err = cutStep(rest); err != nil {
			return "", nil, err
		}
		steps = append(steps, s)
	}
	return revision[:at], steps, nil
}

// isRange distinguishes a..b from a path with "..", which names nothing.
func isRange(revision string) bool {
	from, to, ok := strings.Cut(revision, "..")
	return ok && !strings.HasSuffix(from, "/") && !strings.HasPrefix(to, "/")
}

func cutStep(suffix string) (step, string, error) {
	mark, rest := suffix[0], suffix[1:]
	if mark != '~' && mark != '^' {
		return step{}, "", fmt.Errorf("revision: %w", ErrNotFound)
	}
	if inner, ok := strings.CutPrefix(rest, "{"); ok && mark == '^' {
		kind, rest, closed := strings.Cut(inner, "}")
		if !closed {
			return step{}, "", fmt.Errorf("revision: %w", ErrNotFound)
		}
		return step{mark: '{', kind: kind}, rest, nil
	}
	end := leadingDigits(rest)
	if end == 0 {
		return step{mark: mark, n: 1}, rest, nil
	}
	n, err := strconv.Atoi(rest[:end])
	if err != nil || n > maxAncestors {
		n = maxAncestors + 1
	}
	return step{mark: mark, n: n}, rest[end:], nil
}

// climb follows the suffixes of a revision from an object.
type climb struct {
	*Snapshot
	left    int // commits that it may still go back
	shallow map[ID]bool
}

func (s *Snapshot) climb(ctx context.Context, id ID, steps []step) (ID, error) {
	if len(steps) == 0 {
		return id, nil
	}
	shallow, err := s.Shallow()
	if err != nil {
		return ID{}, err
	}
	c := climb{Snapshot: s, left: maxAncestors, shallow: shallow}
	for _, step := range steps {
		if id, err = c.take(ctx, id, step); err != nil {
			return ID{}, err
		}
	}
	return id, nil
}

func (c *climb) take(ctx context.Context, id ID, s step) (ID, error) {
	switch s.mark {
	case '{':
		return c.peelTo(id, s.kind)
	case '^':
		return c.parent(ctx, id, s.n)
	}
	id, err := c.peel(id)
	for ; s.n > 0 && err == nil; s.n-- {
		if err = ctx.Err(); err == nil {
			id, err = c.parent(ctx, id, 1)
		}
	}
	return id, err
}

// parent is the nth parent of a commit, and the commit itself for 0.
func (c *climb) parent(ctx context.Context, id ID, n int) (ID, error) {
	id, err := c.peel(id)
	if err != nil || n == 0 {
		return id, err
	}
	if c.left--; c.left < 0 {
		return ID{}, &RevisionError{Reason: fmt.Sprintf("goes back more than %d commits. Name a commit nearer to it",
			maxAncestors)}
	}
	var parents []ID
	if !c.shallow[id] {
		if parents, err = c.parents(ctx, id); err != nil {
			return ID{}, err
		}
	}
	if n > len(parents) {
		return ID{}, fmt.Errorf("revision: %w", ErrNotFound)
	}
	return parents[n-1], nil
}

// peelTo follows tags, and a commit to its tree, until the object has the kind in ^{kind}.
func (c *climb) peelTo(id ID, kind string) (ID, error) {
	if kind == objects.Commit.String() {
		return c.peel(id)
	}
	for range maxTagDepth {
		found, err := c.objects.Type(id)
		if err != nil {
			return ID{}, MustExist(id, domainError(err))
		}
		switch {
		case kind == "object", found.String() == kind, kind == "" && found != objects.Tag:
			return id, nil
		case found == objects.Tag:
			id, err = c.tagTarget(id)
		case found == objects.Commit && kind == objects.Tree.String():
			var commit Commit
			commit, err = c.Commit(id)
			id = commit.Tree
		default:
			err = errNotCommit
		}
		if err != nil {
			return ID{}, err
		}
	}
	return ID{}, damage(id, errTagDepth)
}
