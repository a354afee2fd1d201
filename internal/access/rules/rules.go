// Package rules decides which repositories are visible to a principal, by a file of the operator.
//
// # Order of use
//
//	held, err := rules.Load("/etc/repomcp/access.yaml")
//	catalogue, err := repos.Open(root, repos.Options{Visible: held.Visible})
//	changed, err := held.Look() // every so often
//
// # The file
//
//	rules:
//	  - anybody: true
//	    repositories: ["public/**"]
//	  - groups: [platform, release]
//	    repositories: ["platform/**", shared/tools]
//	  - principals: ["token:ci"]
//	    scopes: [read]
//	    repositories: ["**"]
//
// A rule allows its repositories to each principal that meets all of its conditions: one of its
// principals, one of its groups, one of its scopes. A repository without a rule does not exist for
// the principal. Patterns are those of package wildmatch with PathName: * and ? match characters
// within one part of a name, ** matches any number of parts. They match whole names, without the
// .git of the folder.
//
// # Promises
//
// A malformed or unfinished file changes nothing: no mistake grants or removes a right (see package
// operatorfile). Decisions depend only on the rules and the principal, never on the existing
// repositories.
package rules

import (
	"context"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

// maxFileBytes bounds the file: some ten thousand rules.
const maxFileBytes = 1 << 20

// Rules are the rules of a file's last valid version. They are safe for concurrent use. Nil means
// no file: everything is visible to all clients.
type Rules struct{ *operatorfile.File[*table] }

// Load reads a file.
func Load(path string) (*Rules, error) {
	file, err := operatorfile.Open(path, "access rules", maxFileBytes, parseTable)
	if err != nil {
		return nil, err
	}
	return &Rules{file}, nil
}

func parseTable(text []byte) (*table, error) {
	list, err := parse(text)
	if err != nil {
		return nil, err
	}
	return newTable(list), nil
}

// Visible returns a function that reports whether a repository is visible to the context's
// principal, by the current rules; nil means all.
func (r *Rules) Visible(ctx context.Context) func(name string) bool {
	if r == nil {
		return nil
	}
	return r.Value().answerFor(access.PrincipalOf(ctx)).allows
}

// Rule returns the number, from 1, of the first current rule that makes a repository visible to a
// principal; 0 if none does, or if there are no rules.
func (r *Rules) Rule(p access.Principal, name string) int {
	if r == nil {
		return 0
	}
	return r.Value().ruleFor(p, name)
}

// Relevant returns a principal without the groups and scopes that no rule names, so that principals
// with equal rights can share answers.
func (r *Rules) Relevant(p access.Principal) access.Principal {
	if r == nil {
		return access.Principal{ID: p.ID}
	}
	return r.Value().relevant(p)
}
