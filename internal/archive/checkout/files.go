package checkout

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"

	"github.com/repomcp/repomcp/internal/git"
)

const (
	branchPrefix = "refs/heads/"
	tagPrefix    = "refs/tags/"
)

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

// Head returns the content of HEAD.
func (r Ref) Head() []byte {
	if r.branch() != "" {
		return []byte("ref: " + r.Name + "\n")
	}
	return []byte(r.Commit.String() + "\n")
}

// PackedRefs returns the content of packed-refs (git-pack-refs(1)).
func (r Ref) PackedRefs(remote bool) []byte {
	names := []string{}
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

// RemoteHead returns the content of refs/remotes/origin/HEAD, or nil if there is none.
func (r Ref) RemoteHead() []byte {
	if !r.Default {
		return nil
	}
	return []byte("ref: refs/remotes/origin/" + r.branch() + "\n")
}

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

// Config returns the content of config. Under it git believes an index whose entries have only
// sizes, and times in whole seconds.
func Config(ref Ref, remote Remote) ([]byte, error) {
	c := config.New()
	version := "0"
	if remote.Promises {
		version = "1" // git reads extensions only then
	}
	for _, setting := range [][2]string{
		{"repositoryformatversion", version}, {"filemode", "true"}, {"bare", "false"}, {"logallrefupdates", "true"},
		{"checkStat", "minimal"}, {"trustctime", "false"},
	} {
		c.AddOption("core", "", setting[0], setting[1])
	}
	if remote.Promises {
		c.AddOption("extensions", "", "partialClone", "origin")
	}
	if remote.URL != "" {
		c.AddOption("remote", "origin", "url", remote.URL)
		if remote.PushURL != "" {
			c.AddOption("remote", "origin", "pushurl", remote.PushURL)
		}
		c.AddOption("remote", "origin", "fetch", ref.fetch())
		if remote.Promises {
			c.AddOption("remote", "origin", "promisor", "true")
			c.AddOption("remote", "origin", "partialclonefilter", "blob:none")
		}
		if branch := ref.branch(); branch != "" {
			c.AddOption("branch", branch, "remote", "origin")
			c.AddOption("branch", branch, "merge", ref.Name)
		}
	}
	var out bytes.Buffer
	err := config.NewEncoder(&out).Encode(c)
	return out.Bytes(), err
}

// Shallow returns the content of shallow, the list of commits without their parents
// (gitrepository-layout(5)).
func Shallow(cut []git.ID) []byte {
	var out []byte
	for _, id := range slices.SortedFunc(slices.Values(cut), git.ID.Compare) {
		out = append(append(out, id.String()...), '\n')
	}
	return out
}

// Folders lists the folders of .git, as git init makes them without a template, in the order of a tar.
func Folders() []string {
	return []string{"", "info/", "objects/", "objects/info/", "objects/pack/", "refs/", "refs/heads/", "refs/tags/"}
}
