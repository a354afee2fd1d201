package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/internal/base/loopback"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// Errors of a sync that left some files as they are.
var (
	errKept = errors.New("files that were changed here are kept; --force overwrites them, --theirs PATH one of them, " +
		"and --mine PATH tells no more of one")
	errBehind  = errors.New("the branch was fetched, and stays where it was")
	errSkipped = errors.New("symbolic links that lead out of the folder are left out; " +
		"--allow-external-symlinks makes them")
)

type syncFlags struct {
	target
	options checkout.Options
	clone   bool
	watch   bool
	once    bool
}

func newSync(env cli.Environment) *cobra.Command {
	f := &syncFlags{target: target{env: env}}
	command := &cobra.Command{
		Use:   "sync [URL] REPO[@REF] DIR",
		Short: "Keep a folder in step with a branch of a server",
		Long: fmt.Sprintf(`Download the files of a branch, a tag or a commit into a folder: first as a whole
archive, which is unpacked while it arrives, and later only the differences. URL is the
MCP endpoint, by default that of REPOMCP_URL.

The folder gets the files that git checkout writes. Locally changed files are kept
and reported at the end; unchanged files are not touched; only files that sync itself
wrote are removed. With --watch it continues, and follows every push until it is
interrupted. A folder with other files is accepted only with --into-existing.

With --checkout the folder is a git clone, also one that git has made: sync fetches, and
advances the branch if that is behind and nothing changed here is in the way.

%s It is %d where changed files were kept or links were left out, and
%d while another sync has the folder.`, exitCodesHelp, cli.ExitKept, cli.ExitLocked),
		Example: `  repomcp sync http://127.0.0.1:8080/mcp hello@main hello
  repomcp sync http://127.0.0.1:8080/mcp hello hello --watch
  repomcp sync http://127.0.0.1:8080/mcp hello@v1.0.0 docs --path docs --dry-run
  repomcp sync http://127.0.0.1:8080/mcp hello@main hello --checkout --watch`,
		Args: cli.CountArguments(2, 3, "name the endpoint, a repository and a folder"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	set := command.Flags()
	f.define(set)
	set.StringArrayVar(&f.options.Paths, "path", nil, "only paths that this git pathspec matches (repeatable)")
	set.StringArrayVar(&f.options.Exclude, "exclude", nil, "no paths that this git pathspec matches (repeatable)")
	set.StringVar(&f.options.Profile, "profile", "",
		"worktree: what git checkout writes; full: the tree as it is stored; archive: what git archive makes of it "+
			"(default: that of the run before, or worktree); checkout: as --checkout")
	set.BoolVar(&f.clone, "checkout", false, "keep a git clone up to date, and make one of an empty folder")
	set.BoolVar(&f.options.LFS, "lfs", false, "replace Git LFS pointers by the objects that the server has")
	set.BoolVar(&f.options.Submodules, "submodules", false, "include submodules that the server has as well")
	set.BoolVar(&f.options.IntoExisting, "into-existing", false,
		"accept a folder with other files, your home folder, or the root of a disk")
	set.BoolVar(&f.options.DryRun, "dry-run", false, "only print what would be done")
	set.BoolVar(&f.options.Force, "force", false, "overwrite local changes, and files at the paths of new ones")
	set.StringArrayVar(&f.options.Theirs, "theirs", nil,
		"overwrite this path of the folder, and everything below it (repeatable)")
	set.StringArrayVar(&f.options.Mine, "mine", nil,
		"keep the local version of this path, and do not report it until the branch changes it (repeatable)")
	set.BoolVar(&f.options.Verify, "verify", false, "read all files again, and repair missing or damaged ones")
	set.BoolVar(&f.options.AllowExternalSymlinks, "allow-external-symlinks", false,
		"make symbolic links that lead out of the folder")
	set.BoolVar(&f.watch, "watch", false, "follow the branch until interrupted")
	set.DurationVar(&f.poll, "poll", 0,
		"with --watch, how often it looks without a notification, which a proxy may hold back (default 30s)")
	set.BoolVar(&f.once, "once", false, "run once, whatever the settings say")
	return command
}

func (f *syncFlags) run(ctx context.Context, args []string) error {
	defer f.close()
	rest, err := f.endpoint(args)
	if err != nil {
		return err
	}
	o := &f.options
	switch {
	case len(rest) != 2:
		return cli.Misused(errors.New("name a repository and a folder"))
	case strings.Contains(rest[0], "://"):
		return cli.Misused(fmt.Errorf("%s is a URI: name the repository, such as hello or hello@main", rest[0]))
	case f.watch && !f.once && o.DryRun:
		return cli.Misused(errors.New("--dry-run does not go with --watch"))
	case f.clone && o.Profile != "" && o.Profile != checkout.ProfileCheckout:
		return cli.Misused(fmt.Errorf("--checkout does not go with --profile %s", o.Profile))
	case f.clone:
		o.Profile = checkout.ProfileCheckout
	}
	o.Repository, o.Ref, _ = strings.Cut(rest[0], "@")
	o.Dir, o.Plain = rest[1], isLocal(f.url)
	memory := int64(unpackMemory)
	if _, err := os.Lstat(filepath.Join(o.Dir, ".git")); err == nil || o.Profile == checkout.ProfileCheckout {
		memory = cloneMemory
	}
	f.env.LimitMemory(memory)
	f.env.Collect(cli.ArchiveGarbage)
	c, err := f.begin(ctx)
	if err != nil {
		return err
	}
	shown := &syncProgress{syncFlags: f}
	o.Events = shown.show
	if f.watch && !f.once {
		o.Renew = f.renew
		err := checkout.Follow(ctx, c, *o)
		if ctx.Err() != nil {
			return nil // an interrupt is the normal end
		}
		return forPeople(rest[0], err)
	}
	result, err := checkout.Sync(ctx, c, *o)
	switch {
	case err != nil:
		return forPeople(rest[0], err)
	case result.Behind != "":
		return fmt.Errorf("%w: %s", errBehind, advice[result.Behind])
	case result.KeptCount > 0 && result.SkippedCount > 0:
		return fmt.Errorf("%w; %w", errKept, errSkipped)
	case result.KeptCount > 0:
		return errKept
	case result.SkippedCount > 0:
		return errSkipped
	default:
		return nil
	}
}

// advice says what to do about a branch that was not advanced.
var advice = map[string]string{
	checkout.ReasonEdited: "files that were changed here are in the way; commit or stash them, and sync again, or " +
		"let " +
		"--force overwrite them",
	checkout.ReasonInUse:      "programs have files open for writing that it changes; sync again when they are closed",
	checkout.ReasonHeld:       "an editor holds files that it changes; sync again when it lets them go",
	checkout.ReasonCommits:    "it is not behind the server's; git rebase or git merge goes on from there",
	checkout.ReasonElsewhere:  "another one is checked out; git switch goes back",
	checkout.ReasonUnfinished: "a merge, rebase or the like has to be finished first, see git status; sync then again",
	checkout.ReasonLocked: "another git program uses the folder; sync again, and if there is none remove " +
		".git/index.lock",
}

// renew creates a client with current credentials: the token file may have changed.
func (f *syncFlags) renew(ctx context.Context) (*client.Client, error) {
	before := f.server
	c, err := f.begin(ctx)
	if err != nil {
		f.server = before
		return nil, err
	}
	return c, before.Close()
}

func isLocal(address string) bool {
	if isCommand(address) {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && loopback.Is(u.Hostname())
}

// textLinks is for people whose file system has no symbolic links.
const textLinks = "repomcp: %d symbolic links are files with their targets: the file system has no links, or the " +
	"user no right to make them\n"

// syncProgress shows the events of runs: all of them to programs, a selection to people.
type syncProgress struct {
	*syncFlags
	bar *progressbar.ProgressBar
}

func (s *syncProgress) show(e checkout.Event) {
	s.tell(e)
	if s.json {
		return
	}
	switch e.Event {
	case checkout.EventProgress:
		if s.bar == nil {
			s.bar = s.target.bar(cmp.Or(e.Size, -1), s.options.Repository)
		}
		_ = s.bar.Set64(e.Bytes) // a terminal that is gone
	case checkout.EventWrite, checkout.EventDelete:
		if s.options.DryRun {
			s.print("%s %s\n", e.Event, e.Path)
		}
	case checkout.EventKeep:
		s.warn("kept %s: %s\n", e.Path, e.Reason)
		if e.Copy != "" {
			s.warn("another version of %s is kept as %s\n", e.Path, e.Copy)
		}
	case checkout.EventSkipped:
		s.warn("left out %s: %s\n", e.Path, e.Reason)
	case checkout.EventBehind:
		if s.watch {
			s.warn("%v: %s\n", errBehind, advice[e.Reason])
		}
	case checkout.EventRetry:
		s.warn("%s; trying again\n", errors.New(e.Error))
	case checkout.EventGone:
		s.warn("%s; waiting for it\n", errors.New(e.Error))
	case checkout.EventBack:
		s.warn("in step again\n")
	case checkout.EventDone:
		s.end()
		if e.Result.TextLinks > 0 {
			_ = cli.Say(s.env.Stderr, textLinks, e.Result.TextLinks) // likewise
		}
		s.print("%s %.12s: %d written, %d deleted, %d kept\n", s.options.Repository, e.Commit, e.Result.Written,
			e.Result.Deleted, e.Result.KeptCount)
	}
}

func (s *syncProgress) end() {
	if s.bar != nil {
		_ = s.bar.Exit() // likewise
		s.bar = nil
	}
}

func (s *syncProgress) warn(format string, args ...any) {
	s.end()
	_ = cli.Say(s.env.Stderr, "repomcp: "+format, args...) // a terminal that is gone
}

func (s *syncProgress) print(format string, args ...any) {
	_ = cli.Say(s.env.Stdout, format, args...) // likewise
}
