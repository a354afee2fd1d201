package checkout

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/repomcp/repomcp/client"
)

const (
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
	// Paths and Exclude are git pathspecs. A run with others than the one before it
	// takes the whole archive.
	Paths, Exclude []string
	Profile        string // "" means ProfileFull
	// Plain has archives sent without compression, which is faster where bytes cost
	// less than time to make them: from a server on the same machine.
	Plain bool
	// DryRun tells of what a run would do, and leaves the folder as it is.
	DryRun bool
	// Force overwrites and removes what somebody changed.
	Force bool
	// Verify reads every file again, and mends what is missing or damaged.
	Verify bool
	// AllowExternalSymlinks makes symbolic links that lead out of the folder.
	AllowExternalSymlinks bool
	// Events, if any, is told what happens, by one goroutine at a time.
	Events func(Event)
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
}

// mostKept is enough to be read.
const mostKept = 1000

// What a program can tell apart, besides the errors of packages client and unpack.
var (
	// ErrLocked is returned while another run has the folder.
	ErrLocked = errors.New("another sync has this folder")
	// ErrGone is returned when there is no such repository, revision or path, or none
	// any more. The folder stays as it is.
	ErrGone = errors.New("the server does not have it, or no longer")
	// ErrState is returned for a state that this version does not understand.
	ErrState = errors.New("the state of the folder is damaged, or of a later version: remove .repomcp in it, " +
		"and the next sync compares all files")
)

// Sync brings the folder to the present commit of the ref. It returns no error for
// what it kept: look at the Result.
func Sync(ctx context.Context, c *client.Client, o Options) (Result, error) {
	f, err := open(o)
	if err != nil {
		return Result{}, o.failed(err)
	}
	result, err := f.sync(ctx, c, nil)
	return result, o.failed(errors.Join(err, f.close()))
}

func (o Options) failed(err error) error {
	if err != nil && o.Events != nil {
		o.Events(Event{Event: EventFailed, Error: err.Error()})
	}
	return err
}

// Follow syncs at once, and then at each new state of the ref, until ctx ends. What
// is pushed during a run is one more run. It comes back by itself when the server is
// away, and returns an error when there is no sense in going on.
func Follow(ctx context.Context, c *client.Client, o Options) error {
	f, err := open(o)
	if err != nil {
		return o.failed(err)
	}
	return o.failed(errors.Join(f.follow(ctx, c), f.close()))
}

func (f *folder) follow(ctx context.Context, c *client.Client) error {
	for state, err := range c.Watch(ctx, f.options.archive(f.options.Ref, nil)) {
		if err != nil {
			return err
		}
		if err := f.insist(ctx, c, state); err != nil {
			return err
		}
		f.options.Verify = false // once, and not at every push
	}
	return ctx.Err()
}

// Pauses of a Follow whose server does not answer, beyond those of the client.
const firstPause, mostPause = time.Second, 30 * time.Second

// insist syncs until that succeeds or fails for good.
func (f *folder) insist(ctx context.Context, c *client.Client, state client.State) error {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		_, err := f.sync(ctx, c, &state)
		if err == nil || !passes(err) {
			return err
		}
		f.tell(Event{Event: EventRetry, Error: err.Error()})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// passes tells what may be over in a moment.
func passes(err error) bool {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Busy()
	}
	return errors.Is(err, client.ErrNetwork) || errors.Is(err, client.ErrNotResumed)
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
	for name, values := range more {
		query[name] = values
	}
	return "repo://" + escape(o.Repository) + "/archive/" + escape(revision) + format + "?" +
		strings.ReplaceAll(query.Encode(), "+", "%20")
}

func escape(path string) string { return (&url.URL{Path: path}).EscapedPath() }

func (o Options) withDefaults() (Options, error) {
	o.Ref, o.Profile = cmp.Or(o.Ref, "HEAD"), cmp.Or(o.Profile, ProfileFull)
	o.Repository = strings.Trim(o.Repository, "/")
	switch {
	case o.Repository == "" || o.Dir == "":
		return o, errors.New("a repository and a folder have to be named")
	case !slices.Contains([]string{ProfileFull, ProfileArchive}, o.Profile):
		return o, errors.New("the profile is neither full nor archive")
	}
	return o, nil
}
