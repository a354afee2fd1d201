package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/commands/remote"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, lookup func(string) (string, bool), stdout, stderr io.Writer) int {
	root := newRoot(cli.Environment{Lookup: lookup, Stdout: stdout, Stderr: stderr})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cli.ExitOK
	}
	_ = cli.Say(stderr, "repomcp: %s\n", errors.New(explain(err))) // the terminal may be gone
	return remote.ExitCode(err)
}

func newRoot(env cli.Environment) *cobra.Command {
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
		Version:       thisBuild().String(),
	}
	root.SetVersionTemplate("{{.Version}}")
	root.PersistentFlags().String("config", "", "YAML file with settings, by the flags' names")
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(newServe(env), newStdio(env), newArchive(env), newToken(env), newVersion(env),
		newHealthcheck())
	root.AddCommand(remote.Commands(env)...)
	root.AddCommand(releaseCommands()...)
	for _, command := range cli.Below(root) {
		inner := command.PreRunE
		command.PreRunE = func(c *cobra.Command, args []string) error {
			if err := cli.ApplySettings(c, env.Lookup); err != nil {
				return cli.Misused(err)
			}
			if inner != nil {
				return inner(c, args)
			}
			return nil
		}
	}
	root.AddCommand(newDoctor(env)) // reports wrong settings itself
	cli.ExplainMistakes(root)
	return root
}

// explanations are messages for errors that a user of the command line meets.
var explanations = []struct {
	is   error
	text string
}{
	{git.ErrDenied, "the repository's files may not be read by this user"},
	{git.ErrPartial,
		"the repository is a partial clone, and what was asked for is not in it; make one without --filter"},
	{git.ErrOutside,
		"the repository borrows objects from outside of the root (objects/info/alternates), where nothing is read; " +
			"copy them with git repack -a"},
	{git.ErrLFS,
		"delete the file of the object below lfs/objects and fetch it again with git lfs fetch --all, or leave out " +
			"--lfs content"},
	{git.ErrUnborn, "HEAD names a branch that does not exist; name a branch or a tag"},
	{git.ErrEmpty, "the repository has no commits yet"},
	{git.ErrUnsupported,
		"the repository uses a storage format that is not read (SHA-256 objects or an unknown extension)"},
	{git.ErrBusy, "out of file descriptors or temporary space; try again, or raise the limits"},
	{archive.ErrLimit, "the archive is larger than the limits allow"},
}

// explain puts a plain message before the details.
func explain(err error) string {
	if nothing := (*archive.NoMatchError)(nil); errors.As(err, &nothing) {
		return "the option " + nothing.Error()
	}
	if text := repos.ExplainRevision(err); text != "" {
		return text
	}
	if refused := (*client.Error)(nil); errors.As(err, &refused) && refused.Unauthorized() {
		return err.Error() + "; " + remote.AskToLogIn
	}
	for _, e := range explanations {
		if errors.Is(err, e.is) {
			return e.text + " (" + err.Error() + ")"
		}
	}
	return err.Error()
}
