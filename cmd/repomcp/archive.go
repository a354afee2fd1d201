package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

type archiveFlags struct {
	root             string
	format           string
	prefix           string
	output           string
	level            int
	dryRun           bool
	allowUnreachable bool
}

func newArchive(env environment) *cobra.Command {
	var flags archiveFlags
	command := &cobra.Command{
		Use:   "archive --root DIR REPO [REVISION]",
		Short: "Write an archive of a commit, with the engine of the server",
		Long: `Write all files of a commit as tar or tar.gz. REPO is the path of a repository
below the root without .git; REVISION is HEAD, a branch, a tag, refs/… or a
commit id, by default HEAD.

The tar inside is, to the byte, that of
  git -c tar.umask=0002 archive --format=tar --worktree-attributes REVISION
in a bare repository: the complete tree, without any attribute applied.

An output file appears only when the archive is whole.`,
		Example: `  repomcp archive --root testrepos hello main -o hello.tar.gz
  repomcp archive --root testrepos hello v1.0.0 --prefix hello-1.0.0/ | tar tzf -`,
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.RangeArgs(1, 2)(c, args); err != nil {
				return &usageError{fmt.Errorf("name a repository and, if you like, a revision: %w", err)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			revision := "HEAD"
			if len(args) > 1 {
				revision = args[1]
			}
			return writeArchive(c, env, flags, args[0], revision)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.root, "root", "", "folder of the git mirrors (required)")
	set.StringVar(&flags.format, "format", "", "tar or tar.gz (default: by the output's name, else tar.gz)")
	set.StringVar(&flags.prefix, "prefix", "", "put this before every path; end it with / for a folder")
	set.StringVarP(&flags.output, "output", "o", "-", "file to write, - for standard output")
	set.BoolVar(&flags.dryRun, "dry-run", false, "only print how many entries and bytes of tar there would be")
	set.IntVar(&flags.level, "compression-level", 0, "1 (fast) to 9 (small); 0 picks a good one")
	set.BoolVar(&flags.allowUnreachable, "allow-unreachable", false, "also take commits that no ref leads to")
	return command
}

func (f archiveFlags) parseFormat() (archive.Format, error) {
	name := f.format
	if name == "" {
		if _, format, ok := archive.SplitName(filepath.Base(f.output)); ok {
			return format, nil
		}
		name = string(archive.TarGz)
	}
	format, ok := archive.ParseFormat(name)
	if !ok {
		return "", &usageError{fmt.Errorf("--format %q is neither tar nor tar.gz", name)}
	}
	return format, nil
}

func writeArchive(c *cobra.Command, env environment, flags archiveFlags, name, revision string) (err error) {
	format, err := flags.parseFormat()
	if err != nil {
		return err
	}
	if flags.root == "" {
		return errNoRoot
	}
	env.collect(archiveGarbage)
	catalogue, err := repos.Open(flags.root, repos.Options{AllowUnreachable: flags.allowUnreachable})
	if err != nil {
		return fmt.Errorf("root %s: %w", flags.root, err)
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	repository, err := catalogue.Get(name)
	if err != nil {
		return err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	commit, err := snapshot.Resolve(c.Context(), revision)
	if err != nil {
		return err
	}
	engine, err := archive.NewEngine(archive.EngineOptions{Level: flags.level})
	if err != nil {
		return &usageError{err}
	}
	defer engine.Close()
	plan, err := engine.Plan(snapshot, commit, archive.Options{Format: format, Prefix: flags.prefix})
	if err != nil {
		return err
	}
	if flags.dryRun {
		return printMeasure(c.Context(), env.stdout, plan)
	}
	return writeOutput(flags.output, env.stdout, func(w io.Writer) error { return plan.WriteTo(c.Context(), w) })
}

func printMeasure(ctx context.Context, w io.Writer, plan *archive.Plan) error {
	measure, err := plan.Measure(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "commit %s\nentries %d\nbytes %d\n", plan.Commit().ID, measure.Entries, measure.Bytes)
	return err
}

// writeOutput gives write the standard output, or a file that gets its name
// only when everything is written.
func writeOutput(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		if isTerminal(stdout) {
			return &usageError{errors.New("an archive is not shown on a terminal; name a file with -o, or pipe it on")}
		}
		if file, ok := stdout.(*os.File); ok {
			widen(file)
		}
		return write(stdout)
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}
