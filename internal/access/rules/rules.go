// Package rules decides which repositories a principal may know of, by a file of the
// operator.
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
// A rule allows its repositories to whoever fits all that it names: one of its
// principals, one of its groups, one of its scopes. What no rule allows is not
// there. Patterns are those of package wildmatch with slashes that count: * and ?
// stand for characters of one part of a name, ** for any number of parts. They are of
// whole names, without the .git of the folder.
//
// # Promises
//
// A file that is malformed, or still being written, changes nothing: nobody gets or loses a right by
// a mistake (see package operatorfile). What is decided depends on the rules and the principal alone, never on what
// repositories there are.
package rules

import (
	"context"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/operatorfile"
)

// maxFileBytes bounds the file: some ten thousand rules.
const maxFileBytes = 1 << 20

// Rules are those of a file, as it was when it was read last. Several goroutines may
// use them. Nil is no file: everybody may know of everything.
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

// Visible returns which repositories the principal of a context may know of, by the
// rules as they are now; nil is all.
func (r *Rules) Visible(ctx context.Context) func(name string) bool {
	if r == nil {
		return nil
	}
	return r.Value().of(access.PrincipalOf(ctx)).allows
}

// Relevant returns a principal as far as the rules can tell it from others: without
// the groups and scopes that none of them names.
func (r *Rules) Relevant(p access.Principal) access.Principal {
	if r == nil {
		return access.Principal{ID: p.ID}
	}
	return r.Value().relevant(p)
}
