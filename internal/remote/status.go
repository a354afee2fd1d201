package remote

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/internal/cli"
)

func newStatus(env cli.Environment) *cobra.Command {
	r := &target{env: env}
	command := &cobra.Command{
		Use:   "status DIR",
		Short: "Say what a synced folder has, without asking a server",
		Long: `Say which commit of which branch a folder has that repomcp sync keeps in step, and
which files are not as that commit has them: kept, edited or missing here, or left out.
No server is asked.`,
		Example: `  repomcp status hello
  repomcp status hello --json`,
		Args: cli.CountArguments(1, 1, "name the folder"),
		RunE: func(_ *cobra.Command, args []string) error { return r.showStatus(args[0]) },
	}
	command.Flags().BoolVar(&r.json, "json", false, "print one JSON object")
	return command
}

func (r *target) showStatus(dir string) error {
	now, err := checkout.StatusOf(dir)
	if err != nil {
		return err
	}
	if r.json {
		r.tell(now)
		return nil
	}
	commit, when := now.Commit, "synced "+now.Synced.Local().Format(time.DateTime)
	if commit == "" {
		commit = "of several commits"
	}
	if now.Interrupted {
		when = "a sync is under way, or was interrupted"
	}
	print := func(format string, args ...any) { _ = cli.Say(r.env.Stdout, format, args...) } // or it is gone
	print("%s@%s %.12s, %s\n", now.Repository, now.Ref, commit, when)
	for _, f := range now.Files {
		print("%s %s\n", f.State, f.Path)
	}
	if more := now.FileCount - len(now.Files); more > 0 {
		print("and %d more\n", more)
	}
	return nil
}
