package repos

import (
	"slices"
	"strings"
)

// alwaysHidden are namespaces that tools keep for themselves. Commits that only they lead to were
// not published: GitLab's keep-around refs hold force-pushed commits for ever, a stash is a private
// draft, and replacements are not served.
var alwaysHidden = []string{"refs/stash", "refs/keep-around", "refs/original", "refs/bisect", "refs/rewritten",
	"refs/worktree", "refs/replace"}

// hidingKeys are the settings by which an operator hides refs from git's clients.
var hidingKeys = []string{"transfer.hiderefs", "uploadpack.hiderefs"}

// hidingRules say which refs are not served, in the form of transfer.hideRefs in git-config(1): a
// ref's name or the folder that it is in; a "!" before it shows the ref. The last matching rule
// counts.
type hidingRules struct {
	rules []string
	// served are the only refs that may be shown: names or folders. None means all.
	served []string
}

// hidingRules returns the rules of a repository: those for all repositories, then the repository's
// own, then the operator's, which have the last word.
func (c *Catalogue) hidingRules(configured func(keys ...string) []string) hidingRules {
	return hidingRules{
		slices.Concat(alwaysHidden, configured(hidingKeys...), c.options.HideRefs), c.options.ServeRefs,
	}
}

// within reports whether a rule is a ref's name or a folder that it is in.
func within(name, rule string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimRight(rule, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// hides reports whether a ref is not served, by its full name.
func (h hidingRules) hides(name string) bool {
	listed := func(rule string) bool { return within(name, rule) }
	if len(h.served) > 0 && !slices.ContainsFunc(h.served, listed) {
		return true
	}
	for _, rule := range slices.Backward(h.rules) {
		rule, shown := strings.CutPrefix(rule, "!")
		// "^" makes git match before it strips a namespace (gitnamespaces(7)); there are no
		// namespaces here.
		if within(name, strings.TrimPrefix(rule, "^")) {
			return !shown
		}
	}
	return false
}
