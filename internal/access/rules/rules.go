// Package rules decides which repositories a principal may know of, by a file of the
// operator.
//
// # Order of use
//
//	held, err := rules.Load("/etc/repomcp/access.yaml")
//	catalogue, err := repos.Open(root, repos.Options{Visible: held.Visible})
//	changed, err := held.ReloadIfChanged() // every so often
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
// A file that is malformed changes nothing: nobody gets or loses a right by a
// mistake. What is decided depends on the rules and the principal alone, never on what
// repositories there are.
package rules

import (
	"context"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/operatorfile"
)

// maxFileBytes bounds the file: some ten thousand rules.
const maxFileBytes = 1 << 20

// Rules are those of a file, as it was when it was read last. Several goroutines may
// use them. Nil is no file: everybody may know of everything.
type Rules struct {
	file  operatorfile.File
	table atomic.Pointer[table]
}

// Load reads a file.
func Load(path string) (*Rules, error) {
	r := &Rules{file: operatorfile.File{Path: path, Contents: "access rules", Limit: maxFileBytes}}
	if err := r.Reload(); err != nil {
		return nil, err
	}
	return r, nil
}

// Reload reads the file again. An error changes no rule.
func (r *Rules) Reload() error {
	_, err := r.file.Read(true, r.parse)
	return err
}

// ReloadIfChanged reads the file again if it has changed, and reports whether it was
// read. An error changes no rule.
func (r *Rules) ReloadIfChanged() (bool, error) { return r.file.Read(false, r.parse) }

func (r *Rules) parse(text []byte) error {
	list, err := parse(text)
	if err == nil {
		r.table.Store(newTable(list))
	}
	return err
}

// Visible returns which repositories the principal of a context may know of, by the
// rules as they are now; nil is all.
func (r *Rules) Visible(ctx context.Context) func(name string) bool {
	if r == nil {
		return nil
	}
	return r.table.Load().of(access.PrincipalOf(ctx)).allows
}

// Relevant returns a principal as far as the rules can tell it from others: without
// the groups and scopes that none of them names.
func (r *Rules) Relevant(p access.Principal) access.Principal {
	if r == nil {
		return access.Principal{ID: p.ID}
	}
	return r.table.Load().relevant(p)
}
