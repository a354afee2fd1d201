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
	// ProfileWorktree is the output of git checkout with core.autocrlf=false and core.eol=lf: line
	// endings, keywords and encodings as .gitattributes defines them.
	ProfileWorktree = "worktree"
	// ProfileFull is the tree as it is stored.
	ProfileFull = "full"
	// ProfileArchive is the output of git archive.
	ProfileArchive = "archive"
	// ProfileCheckout is ProfileWorktree in a clone: the folder has a .git, and git status is clean.
	ProfileCheckout = "checkout"

	// ObjectsConverted is the option objects of an archive with ProfileCheckout for this package, which
	// packs the files itself.
	ObjectsConverted = "converted"

	// packed is the cheapest compressed format to unpack. plain costs the server nothing.
	packed, plain = ".tar.zst", ".tar"
)

// Options say what is synced, where to, and how.
type Options struct {
	Repository string
	Ref        string // a branch, a tag or a commit; "" means HEAD
	Dir        string // made if it does not exist
	// IntoExisting allows a folder that has files and was not synced before, the home folder and
	// the root of a disk. Existing files are kept.
	IntoExisting bool
	// Paths and Exclude are git pathspecs. A run whose pathspecs differ from those of the previous
	// run takes the whole archive.
	Paths, Exclude []string
	// Profile is that of the archive; "" means that of the previous run, or ProfileWorktree.
	Profile string
	// LFS replaces pointers of git-lfs by the objects that the server has, and Submodules adds the
	// contents of submodules that it serves. With either, each update takes the whole archive. An
	// object that the server gets later comes with Verify.
	LFS, Submodules bool
	// Plain requests archives without compression, which is faster where bytes cost less than
	// compression: from a server on the same machine.
	Plain bool
	// DryRun reports what a run would do, and leaves the folder unchanged.
	DryRun bool
	// Force overwrites and removes files that the user changed, or that are in the way. A folder
	// with a git repository in it stays.
	Force bool
	// Theirs are paths to which Force applies, including those below them.
	Theirs []string
	// Mine are paths that were kept, including those below them: they stay as they are, and are not
	// reported again until the commit has another version of them.
	Mine []string
	// Verify reads every file again, and repairs missing and damaged ones.
	Verify bool
	// AllowExternalSymlinks makes symbolic links that lead out of the folder. Otherwise they are
	// skipped and reported.
	AllowExternalSymlinks bool
	// Replaces, if not nil, is called before a file is overwritten by another version or removed.
	// False keeps the file, for example because an editor has unsaved changes of it; the next run
	// tries again.
	Replaces func(path string) bool
	// Events, if not nil, is called with each event, by one goroutine at a time.
	Events func(Event)
	// Renew, if not nil, makes a client for a Follow whose server wants other credentials. The
	// previous client is not used any more.
	Renew func(context.Context) (*client.Client, error)
}

// Result is the result of a run.
type Result struct {
	Commit  string `json:"commit"` // of the folder after the run
	Base    string `json:"base"`   // of the folder before the run, or ""
	Full    bool   `json:"full"`   // a whole archive was taken
	Written int    `json:"written"`
	Deleted int    `json:"deleted"`
	Bytes   int64  `json:"bytes"` // downloaded
	// Kept are the sorted paths at which the folder differs from the commit because the user
	// changed them; at most 1,000.
	Kept []string `json:"kept"`
	// KeptCount is the number of kept paths.
	KeptCount int `json:"keptCount"`
	// Skipped are the paths of symbolic links that lead outside, and were not made; at most 1,000.
	Skipped []string `json:"skipped"`
	// SkippedCount is the number of skipped links.
	SkippedCount int `json:"skippedCount"`
	// TextLinks is the number of symbolic links that were written as files with the target, because the file system
	// has no symbolic links.
	TextLinks int `json:"textLinks,omitempty"`
	// Behind is the reason why a clone has got the new commits, and its branch stays where it was; "" otherwise.
	Behind string `json:"behind,omitempty"`
}

// mostNamed is as many as a person reads.
const mostNamed = 1000

// Programs can distinguish these errors, besides those of packages client and unpack.
var (
	// ErrLocked says that another run has locked the folder.
	ErrLocked = errors.New("another sync has this folder")
	// ErrGone says that the repository, revision or path does not exist, or no longer. The folder
	// stays as it is.
	ErrGone = errors.New("the server does not have it, or no longer")
	// ErrState says that this version does not understand the state.
	ErrState = errors.New("the state of the folder is damaged, or of a later version: remove .repomcp in it, " +
		"and a sync into the existing folder (--into-existing) compares all files")
	// ErrOccupied says that a folder has other files, without [Options].IntoExisting. The folder
	// was not touched.
	ErrOccupied = errors.New("name an empty folder, or allow it (--into-existing): " +
		"files that are there are kept then, and others come beside them")

	// ErrNoCheckouts says that a server is older than ProfileCheckout.
	ErrNoCheckouts = errors.New("the server is of a version that makes no checkouts: update it, use git clone, or " +
		"take " +
		"the files without a .git (without --checkout)")

	errArguments = errors.New("wrong arguments")
)

// Sync brings the folder to the present commit of the ref. Kept and skipped paths are no error: see
// the Result.
func Sync(ctx context.Context, c *client.Client, o Options) (Result, error) {
	f, err := open(o)
	if err != nil {
		return Result{}, o.failed(ctx, err)
	}
	result, err := f.sync(ctx, c, nil)
	return result, o.failed(ctx, errors.Join(err, f.close()))
}

// failed reports the error that ends everything, if any.
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
	if o.isCheckout() {
		query.Set("objects", ObjectsConverted)
	}
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

func (o Options) isCheckout() bool { return o.Profile == ProfileCheckout }

func escape(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// isComposed reports whether archives have content from outside of their commit. There are no
// deltas between such archives.
func (o Options) isComposed() bool { return o.LFS || o.Submodules }

// forces reports whether a user's changes at a path are overwritten.
func (o Options) forces(path string) bool { return o.Force || isAmong(path, o.Theirs) }

// isAmong reports whether a path is one of several, or below one.
func isAmong(path string, several []string) bool {
	return slices.ContainsFunc(several, func(one string) bool { return path == one || below(path, one) })
}

// checkCheckout refuses options that a clone does not have.
func (o Options) checkCheckout() error {
	if !o.isCheckout() {
		return nil
	}
	for _, refused := range []struct {
		given bool
		why   string
	}{
		{len(o.Paths)+len(o.Exclude) > 0, "a clone has all paths; git sparse-checkout leaves some out of the folder"},
		{o.LFS, "git lfs pull fetches the objects of a clone"},
		{o.Submodules, "git submodule update fetches those of a clone"},
		{o.Verify, "git status compares all files of a clone, and git restore brings them back"},
		{len(o.Mine) > 0, "git knows which files of a clone are changed; commit or stash them"},
	} {
		if refused.given {
			return fmt.Errorf("%w: %s", errArguments, refused.why)
		}
	}
	return nil
}

// IsTooOld reports whether a server has refused a checkout because it is older than these.
func IsTooOld(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && (strings.Contains(refused.Message, `"objects" is unknown`) ||
		strings.Contains(refused.Message, `"checkout" is none of`))
}

var profiles = []string{ProfileWorktree, ProfileFull, ProfileArchive, ProfileCheckout}

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

// cleaned returns paths in the form of records.
func cleaned(paths []string) (clean []string) {
	for _, path := range paths {
		clean = append(clean, strings.Trim(strings.TrimPrefix(path, "./"), "/"))
	}
	return clean
}
