package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

// The process's exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// Those of the commands that ask a server.
	exitKept    = 3 // a sync kept what somebody changed
	exitNetwork = 4 // the server was not reached, or is busy
	exitRefused = 5 // the server has no such thing, or not for who asks
	exitDamaged = 6 // what came is damaged, or unsafe to unpack
	exitLocked  = 7 // another sync has the folder

	exitSignal = 130 // a second signal ended the process, as shells say it for SIGINT
)

// environment is what a command gets from the process.
type environment struct {
	lookup func(name string) (string, bool)
	stdout io.Writer
	stderr io.Writer
}

// The garbage that may gather, in percent of what is in use (see runtime/debug).
const (
	// serveGarbage takes a third off the memory of a busy server: its buffers
	// are pooled, so that there is little to collect.
	serveGarbage = 25
	// archiveGarbage spares a command that ends soon most collections: they
	// would take a tenth of the time of a small archive, and one of the three
	// would come just before the first byte.
	archiveGarbage = 300
)

// collect sets the garbage that may gather. GOGC in the environment wins.
func (e environment) collect(percent int) {
	if _, chosen := e.lookup("GOGC"); !chosen {
		debug.SetGCPercent(percent)
	}
}

// unpackMemory is what the garbage collector aims at where an archive is unpacked. With
// the program itself, that takes less than 64 MiB.
const unpackMemory = 32 << 20

// limitMemory sets what the garbage collector aims at. GOMEMLIMIT in the environment
// wins.
func (e environment) limitMemory(bytes int64) {
	if _, chosen := e.lookup("GOMEMLIMIT"); !chosen {
		debug.SetMemoryLimit(bytes)
	}
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, lookup func(string) (string, bool), stdout, stderr io.Writer) int {
	root := newRoot(environment{lookup: lookup, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// The flags of a command that does not exist are unknown as well.
		if word := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }); c == root &&
			word >= 0 {
			return noCommand(c, args[word])
		}
		return &usageError{plainError(err)}
	})
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintln(stderr, "repomcp:", explain(err))
	return exitCode(err)
}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "repomcp",
		Short: "Serve a folder of git mirrors over MCP and stream archives of them",
		Long: `repomcp runs beside a folder of git mirrors. Coding agents query the
repositories over MCP (Model Context Protocol); editors and sandboxes pull files
and archives as raw bytes, generated straight into the HTTP response.

Every flag can also be given as an environment variable, REPOMCP_ and the
flag's name in capitals with underscores (--read-limit is REPOMCP_READ_LIMIT),
or in a YAML file named by --config, under the flag's name. A flag on the
command line wins over the environment, and that over the file.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       describe(),

		SuggestionsMinimumDistance: 2, // letters, as in cobra's own messages
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}")
	root.PersistentFlags().String("config", "", "YAML file with settings, by the flags' names")
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.AddCommand(newServe(env), newStdio(env), newArchive(env), newList(env), newCat(env), newGet(env), newSync(env),
		newToken(env), newLogin(env), newLogout(env), newVersion(env), newHealthcheck(), newManual(env))
	for _, command := range below(root) {
		inner := command.PreRunE
		command.PreRunE = func(c *cobra.Command, args []string) error {
			if err := applySettings(c, env.lookup); err != nil {
				return &usageError{err}
			}
			if inner != nil {
				return inner(c, args)
			}
			return nil
		}
	}
	root.AddCommand(newDoctor(env)) // which tells of settings that are wrong
	return root
}

// below are all commands of a command, and theirs.
func below(c *cobra.Command) (list []*cobra.Command) {
	for _, inner := range c.Commands() {
		list = append(append(list, inner), below(inner)...)
	}
	return list
}

func noCommand(root *cobra.Command, name string) error {
	nearest := ""
	if names := root.SuggestionsFor(name); len(names) > 0 {
		nearest = " Did you mean " + strings.Join(names, " or ") + "?"
	}
	return &usageError{fmt.Errorf("there is no command %q.%s See repomcp --help", name, nearest)}
}

// usageError says that the command line or a setting is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// explanations are the words for errors that a user of the command line meets.
var explanations = []struct {
	is   error
	text string
}{
	{repos.ErrDenied, "the repository's files may not be read by this user"},
	{repos.ErrPartial,
		"the repository is a partial clone, and what was asked for is not in it; make one without --filter"},
	{repos.ErrOutside,
		"the repository borrows objects from outside of the root (objects/info/alternates), where nothing is read; " +
			"copy them with git repack -a"},
	{repos.ErrUnborn, "HEAD names a branch that does not exist; name a branch or a tag"},
	{repos.ErrEmpty, "the repository has no commits yet"},
	{repos.ErrUnsupported,
		"the repository uses a storage format that is not read (SHA-256 objects, reftable or an unknown extension)"},
	{repos.ErrNotFound, "no such repository or revision; a commit that no ref leads to needs --allow-unreachable"},
	{repos.ErrBusy, "out of file descriptors or temporary space; try again, or raise the limits"},
	{archive.ErrLimit, "the archive is larger than the limits allow"},
}

// explain puts plain words before the details.
func explain(err error) string {
	if nothing := (*archive.NoMatchError)(nil); errors.As(err, &nothing) {
		return "the option " + nothing.Error()
	}
	if syntax := (*repos.RevisionError)(nil); errors.As(err, &syntax) {
		return syntax.Error()
	}
	if refused := (*client.Error)(nil); errors.As(err, &refused) && refused.Unauthorized() {
		return err.Error() + "; " + askToLogIn
	}
	for _, e := range explanations {
		if errors.Is(err, e.is) {
			return e.text + " (" + err.Error() + ")"
		}
	}
	return err.Error()
}
