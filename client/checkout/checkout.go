package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/client"
)

const (
	// ProfileWorktree is what git checkout writes, with core.autocrlf=false and
	// core.eol=lf: line endings, keywords and encodings as .gitattributes ask for them.
	ProfileWorktree = "worktree"
	// ProfileFull is the tree as it is stored.
	ProfileFull = "full"
	// ProfileArchive is what git archive makes of it.
	ProfileArchive = "archive"

	// packed costs the least to unpack of the formats that are compressed. plain costs
	// the server nothing.
	packed, plain = ".tar.zst", ".tar"
)

// Options say what is brought, where, and how.
type Options struct {
	Repository string
	Ref        string // a branch, a tag or a commit; "" means HEAD
	Dir        string // made if it is not there
	// IntoExisting allows a folder that has files and was not synced before, the home
	// folder and the root of a disk. Files that are there are kept.
	IntoExisting bool
	// Paths and Exclude are git pathspecs. A run with others than the one before it
	// takes the whole archive.
	Paths, Exclude []string
	// Profile is that of the archive; "" means the one of the run before, or
	// ProfileWorktree.
	Profile string
	// LFS brings the objects that the server has in place of the pointers of git-lfs,
	// and Submodules what is in those that it serves. With either each update takes the
	// whole archive. An object that the server gets later comes with Verify.
	LFS, Submodules bool
	// Plain has archives sent without compression, which is faster where bytes cost
	// less than time to make them: from a server on the same machine.
	Plain bool
	// DryRun tells of what a run would do, and leaves the folder as it is.
	DryRun bool
	// Force overwrites and removes what the user changed, or has put in the way. A
	// folder with a repository of git in it stays.
	Force bool
	// Theirs are paths for which Force holds, and what is below them.
	Theirs []string
	// Mine are paths that were kept, or what is below them: they stay as they are, and
	// are told of no more until the commit has another version of them.
	Mine []string
	// Verify reads every file again, and mends what is missing or damaged.
	Verify bool
	// AllowExternalSymlinks makes symbolic links that lead out of the folder. Without it
	// they are left out, and told of.
	AllowExternalSymlinks bool
	// Replaces, if any, is asked before a file is overwritten by another version or
	// removed. False keeps it; a version that was to come is tried again by the next
	// run. An editor has unsaved changes of a file, for instance.
	Replaces func(path string) bool
	// Events, if any, is told what happens, by one goroutine at a time.
	Events func(Event)
	// Renew, if any, makes a client for a Follow whose server wants other credentials.
	// The one before is not used any more.
	Renew func(context.Context) (*client.Client, error)
}

// Result is what a run has done.
type Result struct {
	Commit  string `json:"commit"` // that the folder has now
	Base    string `json:"base"`   // that it had before, or ""
	Full    bool   `json:"full"`   // a whole archive was taken
	Written int    `json:"written"`
	Deleted int    `json:"deleted"`
	Bytes   int64  `json:"bytes"` // that were downloaded
	// Kept are the paths, in their order, of what the folder does not have as the
	// commit does, since somebody changed it there; at most 1,000.
	Kept []string `json:"kept"`
	// KeptCount is how many there are.
	KeptCount int `json:"keptCount"`
	// Skipped are the paths of symbolic links that lead outside, and were not made; at
	// most 1,000.
	Skipped []string `json:"skipped"`
	// SkippedCount is how many there are.
	SkippedCount int `json:"skippedCount"`
}

// mostNamed is enough to be read.
const mostNamed = 1000

// What a program can tell apart, besides the errors of packages client and unpack.
var (
	// ErrLocked is returned while another run has the folder.
	ErrLocked = errors.New("another sync has this folder")
	// ErrGone is returned when there is no such repository, revision or path, or none
	// any more. The folder stays as it is.
	ErrGone = errors.New("the server does not have it, or no longer")
	// ErrState is returned for a state that this version does not understand.
	ErrState = errors.New("the state of the folder is damaged, or of a later version: remove .repomcp in it, " +
		"and a sync into the existing folder (--into-existing) compares all files")
	// ErrOccupied is returned for a folder that has other files, without
	// [Options].IntoExisting. It was not touched.
	ErrOccupied = errors.New("name an empty folder, or allow it (--into-existing): " +
		"files that are there are kept then, and others come beside them")

	errArguments = errors.New("wrong arguments")
)

// Sync brings the folder to the present commit of the ref. It returns no error for
// what it kept or skipped: look at the Result.
func Sync(ctx context.Context, c *client.Client, o Options) (Result, error) {
	f, err := open(o)
	if err != nil {
		return Result{}, o.failed(ctx, err)
	}
	result, err := f.sync(ctx, c, nil)
	return result, o.failed(ctx, errors.Join(err, f.close()))
}

// failed tells of the error that ends everything, if any.
func (o Options) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		o.tell(Event{Event: EventStopped})
	default:
		o.tell(failure(EventFailed, err))
	}
	return err
}

func (o Options) archive(revision string, more url.Values) string {
	format := packed
	if o.Plain {
		format = plain
	}
	query := url.Values{"profile": {o.Profile}}
	for name, values := range map[string][]string{"path": o.Paths, "exclude": o.Exclude} {
		if len(values) > 0 {
			query[name] = values
		}
	}
	for name, wanted := range map[string]bool{"lfs": o.LFS, "submodules": o.Submodules} {
		if wanted {
			query.Set(name, "content")
		}
	}
	for name, values := range more {
		query[name] = values
	}
	return "repo://" + escape(o.Repository) + "/archive/" + escape(revision) + format + "?" +
		strings.ReplaceAll(query.Encode(), "+", "%20")
}

func escape(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// isComposed reports whether archives have content from outside of their commit. There
// are no differences between such.
func (o Options) isComposed() bool { return o.LFS || o.Submodules }

// forces reports whether what the user changed at a path is overwritten.
func (o Options) forces(path string) bool { return o.Force || isAmong(path, o.Theirs) }

// isAmong reports whether a path is one of several, or below one.
func isAmong(path string, several []string) bool {
	return slices.ContainsFunc(several, func(one string) bool { return path == one || below(path, one) })
}

var profiles = []string{ProfileWorktree, ProfileFull, ProfileArchive}

func (o Options) withDefaults() (Options, error) {
	o.Ref = cmp.Or(o.Ref, "HEAD")
	o.Repository = strings.Trim(o.Repository, "/")
	switch {
	case o.Repository == "" || o.Dir == "":
		return o, fmt.Errorf("%w: a repository and a folder have to be named", errArguments)
	case o.Profile != "" && !slices.Contains(profiles, o.Profile):
		return o, fmt.Errorf("%w: the profile %q is none of %q", errArguments, o.Profile, profiles)
	}
	o.Mine, o.Theirs = cleaned(o.Mine), cleaned(o.Theirs)
	if slices.Contains(slices.Concat(o.Mine, o.Theirs), "") {
		return o, fmt.Errorf("%w: a path to keep or to overwrite is empty", errArguments)
	}
	return o, nil
}

// cleaned are paths as records have them.
func cleaned(paths []string) (clean []string) {
	for _, path := range paths {
		clean = append(clean, strings.Trim(strings.TrimPrefix(path, "./"), "/"))
	}
	return clean
}
