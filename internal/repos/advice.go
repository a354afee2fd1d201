package repos

import (
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

// revisionAdvice says what to use instead of each form of a revision that git can read and this
// server does not.
var revisionAdvice = map[string]string{
	"@{": "the revision has @{…}: it asks for a reflog or the branch of a remote, and nothing of either is served. " +
		"Name a commit, or count back with ~",
	"^{/": "the revision has ^{/…}: messages are not searched for a revision. Find the commit with list_commits " +
		"and name it",
}

// ExplainRevision returns the message for a revision that cannot be parsed, or leads to no commit:
// an error that matches [git.RevisionError] or [git.KindError]. It returns "" for other errors.
func ExplainRevision(err error) string {
	if syntax := (*git.RevisionError)(nil); errors.As(err, &syntax) {
		if advice, ok := revisionAdvice[syntax.Form]; ok {
			return advice
		}
		return syntax.Error()
	}
	other := (*git.KindError)(nil)
	switch {
	case !errors.As(err, &other):
		return ""
	case other.Tree:
		return other.Error() + ": it has no history, and can be had as an archive alone"
	default:
		return other.Error() + ": read a tag of it with the tool get_tag, and the file itself with git cat-file blob " +
			"in a clone"
	}
}
