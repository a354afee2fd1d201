package repos

import (
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/objects"
)

// alwaysHidden are namespaces that tools keep for themselves. What only they
// lead to was not published: GitLab's keep-around refs hold force-pushed
// commits for ever, a stash is a private draft, and replacements have no part in
// what is served.
var alwaysHidden = []string{"refs/stash", "refs/keep-around", "refs/original", "refs/bisect", "refs/rewritten",
	"refs/worktree", "refs/replace"}

// hidingKeys are those by which an operator tells git which refs not to hand out.
var hidingKeys = []string{"transfer.hiderefs", "uploadpack.hiderefs"}

// hidingRules say which refs are not served, in the form of transfer.hideRefs in
// git-config(1): a ref's name or the folder that it is in, after "!" what is
// shown all the same. The last rule that fits counts.
type hidingRules []string

// hidingRules of a repository: those for all repositories, then the
// repository's own, then the operator's, which so have the last word.
func (c *Catalogue) hidingRules(database *objects.Database) hidingRules {
	return slices.Concat(alwaysHidden, database.Configured(hidingKeys...), c.options.HideRefs)
}

// hides reports whether a ref is not served, by its full name.
func (rules hidingRules) hides(name string) bool {
	for _, rule := range slices.Backward(rules) {
		rule, shown := strings.CutPrefix(rule, "!")
		// "^" has git match before it strips a namespace (gitnamespaces(7)), of
		// which there are none here.
		rule = strings.TrimRight(strings.TrimPrefix(rule, "^"), "/")
		if rest, ok := strings.CutPrefix(name, rule); ok && (rest == "" || rest[0] == '/') {
			return !shown
		}
	}
	return false
}
