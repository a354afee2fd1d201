package checkout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/repomcp/repomcp/internal/git"
)

const branchPrefix = "refs/heads/"

// IsRef reports whether a checkout can be of a ref of that name: a branch, or unless that is the
// default one, a tag.
func IsRef(name string, isDefault bool) bool {
	ref := plumbing.ReferenceName(name)
	return (ref.IsBranch() || ref.IsTag() && !isDefault) && ref.Validate() == nil
}

// Ref is the name by which a checkout knows its commit: a branch or a tag.
type Ref struct {
	// Name is the full name, or "" for a commit alone: the checkout's HEAD is then detached.
	Name string
	// Default says that the branch is the one to which the repository's HEAD leads.
	Default bool
	// Target is the object that the ref holds: the commit, or an annotated tag of it.
	Target git.ID
	Commit git.ID
}

// branch returns the short name of a branch, or "".
func (r Ref) branch() string {
	short, ok := strings.CutPrefix(r.Name, branchPrefix)
	if !ok {
		return ""
	}
	return short
}

// head returns the content of HEAD.
func (r Ref) head() []byte {
	if r.branch() != "" {
		return []byte("ref: " + r.Name + "\n")
	}
	return []byte(r.Commit.String() + "\n")
}

// packed returns the content of packed-refs (git-pack-refs(1)). remote says that there is an origin.
func (r Ref) packed(remote bool) []byte {
	var names []string
	switch branch := r.branch(); {
	case branch != "" && remote:
		names = append(names, r.Name, "refs/remotes/origin/"+branch)
	case r.Name != "":
		names = append(names, r.Name)
	}
	out := []byte("# pack-refs with: peeled fully-peeled sorted \n")
	for _, name := range names {
		out = fmt.Appendf(out, "%s %s\n", r.Target, name)
		if r.Target != r.Commit {
			out = fmt.Appendf(out, "^%s\n", r.Commit)
		}
	}
	return out
}

// remoteHead returns the content of refs/remotes/origin/HEAD.
func (r Ref) remoteHead() []byte { return []byte("ref: refs/remotes/origin/" + r.branch() + "\n") }

// fetch returns the refspec by which git fetch keeps the ref up to date, as git clone
// --single-branch writes it.
func (r Ref) fetch() string {
	switch branch := r.branch(); {
	case branch != "":
		return "+" + r.Name + ":refs/remotes/origin/" + branch
	case r.Name != "":
		return "+" + r.Name + ":" + r.Name
	default:
		return "+refs/heads/*:refs/remotes/origin/*"
	}
}

// shallow returns the content of shallow, the list of commits without their parents
// (gitrepository-layout(5)).
func shallow(cut []git.ID) []byte {
	var out []byte
	for _, id := range slices.SortedFunc(slices.Values(cut), git.ID.Compare) {
		out = append(append(out, id.String()...), '\n')
	}
	return out
}
