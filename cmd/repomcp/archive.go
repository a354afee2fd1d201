package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

type archiveFlags struct {
	rootFlags
	format  string
	options archive.Options
	output  string
	level   int
	dryRun  bool
}

func newArchive(env cli.Environment) *cobra.Command {
	var flags archiveFlags
	command := &cobra.Command{
		Use:   "archive --root DIR REPO [REVISION]",
		Short: "Write an archive of a commit, with the engine of the server",
		Long: `Write all files of a commit as one archive. REPO is the path of a repository
below the root without .git; REVISION is HEAD, a branch, a tag, refs/… or a
commit id, by default HEAD.

The tar inside is, to the byte, that of
  git -c tar.umask=0002 archive --format=tar REVISION
with the attributes of the commit applied. With --profile full it is the
complete tree, without any attribute applied, and with --profile worktree that
tree as git checkout writes it.

With --format manifest.json it is a list of the archive's members. With
--base it contains only the differences from that revision, after a member
.repomcp/manifest.json that lists what to delete first.

An output file appears only when the archive is complete.`,
		Example: `  repomcp archive --root testrepos hello main -o hello.tar.gz
  repomcp archive --root testrepos hello v1.0.0 --prefix hello-1.0.0/ | tar tzf -
  repomcp archive --root testrepos hello main --path src --exclude '*.md' | tar tzf -`,
		Args: cli.CountArguments(1, 2, "name a repository and, if you like, a revision"),
		RunE: func(c *cobra.Command, args []string) error {
			return writeArchive(c, env, flags, args[0], append(args, "HEAD")[1])
		},
	}
	set := command.Flags()
	flags.define(set, "also accept unreachable commits")
	set.StringVar(&flags.format, "format", "", strings.Join(archive.FormatNames(), ", ")+
		" (default: by the output's name, else tar.gz)")
	for _, p := range archive.Parameters() {
		set.Var(&optionFlag{p, &flags.options}, p.Name, p.Usage)
	}
	set.StringVarP(&flags.output, "output", "o", "-", "file to write, - for standard output")
	set.BoolVar(&flags.dryRun, "dry-run", false, "only print the number of entries and bytes of the tar")
	set.IntVar(&flags.level, "compression-level", 0, "1 (fast) to 9 (small); 0 picks a good one")
	return command
}

// optionFlag is a flag for an archive option.
type optionFlag struct {
	parameter archive.Parameter
	options   *archive.Options
}

// Set implements [pflag.Value].
func (f *optionFlag) Set(value string) error { return f.options.Set(f.parameter.Name, value) }

// String implements [pflag.Value]: the default, which is empty.
func (f *optionFlag) String() string { return "" }

// Type implements [pflag.Value]: the kind of value in the help.
func (f *optionFlag) Type() string {
	if f.parameter.Repeat {
		return "strings"
	}
	return "string"
}

func (f archiveFlags) parseFormat() (archive.Format, error) {
	name := f.format
	if name == "" {
		if _, format, ok := archive.SplitName(filepath.Base(f.output)); ok {
			return format, nil
		}
		if extension := filepath.Ext(f.output); extension != "" && !strings.HasPrefix(f.output, "/dev/") {
			return "", cli.Misused(fmt.Errorf("-o %s: %s is none of the formats %s; name one with --format", f.output,
				extension, strings.Join(archive.FormatNames(), ", ")))
		}
		name = string(archive.TarGz)
	}
	format, ok := archive.ParseFormat(name)
	if !ok {
		return "", cli.Misused(fmt.Errorf("--format %q is none of %s", name, strings.Join(archive.FormatNames(), ", ")))
	}
	return format, nil
}

func writeArchive(c *cobra.Command, env cli.Environment, flags archiveFlags, name, revision string) (err error) {
	format, err := flags.parseFormat()
	if err != nil {
		return err
	}
	if flags.root == "" {
		return errNoRoot
	}
	env.Collect(cli.ArchiveGarbage)
	catalogue, err := flags.openCatalogue(repos.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalogue.Close()) }()
	repository, err := catalogue.Get(name)
	var snapshot *git.Snapshot
	if err == nil {
		snapshot, err = repository.Snapshot()
	}
	if git.IsAbsent(err) {
		return noRepository(flags.root, name, catalogue.Names())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if flags.options.Profile == archive.ProfileCheckout && flags.options.Origin == "" {
		if flags.options.Origin, err = archive.OriginOf(repository); err != nil {
			return err
		}
	}
	head, options, err := archive.Resolve(c.Context(), snapshot, revision, flags.options)
	if git.IsAbsent(err) {
		return noRevision(repository.Name(), snapshot, revision)
	}
	if err != nil {
		return err
	}
	engine, err := archive.NewEngine(archive.EngineOptions{Level: flags.level})
	if err != nil {
		return cli.Misused(err)
	}
	defer engine.Close()
	siblings := resources.NewSiblings(catalogue.View, repository)
	defer func() { err = errors.Join(err, siblings.Close()) }()
	options.Format, options.Siblings = format, siblings
	plan, err := engine.Plan(c.Context(), snapshot, head, options)
	if errors.Is(err, archive.ErrOption) {
		return cli.Misused(err)
	}
	if err != nil {
		return err
	}
	if flags.dryRun {
		return printMeasure(c.Context(), env.Stdout, plan)
	}
	err = cli.WriteOutput(flags.output, env.Stdout, func(w io.Writer) error { return plan.WriteTo(c.Context(), w) })
	if err != nil {
		return err
	}
	return warnOfEncodings(c.Context(), env.Stderr, plan)
}

// warnOfEncodings warns of files that stay UTF-8 because their encoding is unknown. It reads
// folders, and runs after the archive, because a program may be waiting for the archive on a pipe.
func warnOfEncodings(ctx context.Context, w io.Writer, plan *archive.Plan) error {
	names, _, err := plan.UnknownEncodings(ctx)
	for _, name := range names {
		_, _ = fmt.Fprintf(w, "repomcp: warning: working-tree-encoding=%s is not known; its files stay UTF-8\n",
			strconv.QuoteToGraphic(name))
	}
	return err
}

func noRepository(root, name string, known []string) error {
	const most = 20 // fits on a screen
	hint := cli.DidYouMean(name, known)
	if hint == "" && len(known) <= most {
		hint = " There are " + strings.Join(known, ", ")
	}
	return fmt.Errorf("there is no repository %q below %s.%s", name, root, hint)
}

func noRevision(repository string, snapshot *git.Snapshot, revision string) error {
	var known []string
	refs, _ := snapshot.Refs() // on errors nothing is suggested
	for _, ref := range refs {
		name := ref.Name
		if !strings.HasPrefix(revision, "refs/") {
			name = cmp.Or(ref.Branch(), ref.Tag(), name)
		}
		known = append(known, name)
	}
	return fmt.Errorf("there is no branch, tag or commit %q in %s.%s A commit that no ref leads to needs "+
		"--allow-unreachable", revision, repository, cli.DidYouMean(revision, known))
}

func printMeasure(ctx context.Context, w io.Writer, plan *archive.Plan) error {
	measure, err := plan.Measure(ctx)
	if err != nil {
		return err
	}
	kind, head := "commit", plan.Head()
	if head.Commit.IsZero() {
		kind = "object"
	}
	_, err = fmt.Fprintf(w, "%s %s\nentries %d\nbytes %d\n", kind, head.ID, measure.Entries, measure.Bytes)
	return err
}
