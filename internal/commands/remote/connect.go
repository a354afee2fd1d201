package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/operate/clientconfig"
)

// connectFlags are those of the command connect.
type connectFlags struct {
	env                           cli.Environment
	server                        clientconfig.Server
	root, file                    string
	project, write, print, remove bool
}

func newConnect(env cli.Environment) *cobra.Command {
	f := &connectFlags{env: env}
	command := &cobra.Command{
		Use:   "connect CLIENT [URL]",
		Short: "Write or print the configuration of an MCP client for a server",
		Long: `Configure an MCP client for the server at URL, or, with --root, to start repomcp stdio
itself. CLIENT is one of
` + strings.Join(clientconfig.IDs(), ", ") + `.

connect writes a file that does not exist or has only this entry. For any other file it
prints the entry, and --write merges the entry into the file. Comments, order and all
other entries stay, and FILE.bak is a copy of the old file.

connect writes no token. With --token-env the client takes the token from an environment
variable, or prompts for it.`,
		Example: `  repomcp connect codex https://git.example.com
  repomcp connect vscode https://git.example.com --token-env REPOMCP_TOKEN --project
  repomcp connect claude-desktop --root ~/src --write
  repomcp connect codex --remove`,
		Args: cli.CountArguments(1, 2, "name the client, and the server's URL or --root DIR"),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args) },
	}
	set := command.Flags()
	set.StringVar(&f.root, "root", "", "folder of repositories for repomcp stdio, in the place of URL")
	set.StringVar(&f.server.Name, "name", clientconfig.DefaultName, "name of the server in the configuration")
	set.StringVar(&f.server.TokenVariable, "token-env", "",
		"environment variable that the client takes its token for URL from, such as REPOMCP_TOKEN")
	set.BoolVar(&f.project, "project", false, "use the file of the project in the current folder")
	set.StringVar(&f.file, "file", "", "use this file")
	set.BoolVar(&f.write, "write", false, "also write a file that has more than this entry")
	set.BoolVar(&f.print, "print", false, "write nothing, and print the entry")
	set.BoolVar(&f.remove, "remove", false, "remove the entry of the server")
	command.MarkFlagsMutuallyExclusive("write", "print")
	command.MarkFlagsMutuallyExclusive("project", "file")
	return command
}

// serverName matches names that every format takes as they are.
var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// variableName matches names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (f *connectFlags) run(args []string) error {
	client, err := clientconfig.Find(args[0])
	if err != nil {
		return cli.Misused(err)
	}
	if !serverName.MatchString(f.server.Name) {
		return cli.Misused(errors.New("--name takes letters, digits, - and _, and begins with a letter"))
	}
	name, err := f.fileOf(client)
	if err != nil {
		return err
	}
	if f.remove {
		return f.removeFrom(client, name)
	}
	if err := f.describe(args[1:]); err != nil {
		return err
	}
	return f.add(client, name)
}

// describe completes the description of the server.
func (f *connectFlags) describe(args []string) error {
	if len(args) == 0 {
		return f.describeProgram()
	}
	server, err := withScheme(args[0])
	if err != nil {
		return err
	}
	u, err := url.Parse(server)
	switch {
	case err != nil || !isURL(server) || u.Host == "":
		return cli.Misused(errors.New("name the server by its address, such as https://git.example.com"))
	case u.User != nil:
		return cli.Misused(errors.New("the address has a password in it, which would be written into a file; " +
			"leave it out, and use --token-env"))
	case f.server.TokenVariable != "" && !variableName.MatchString(f.server.TokenVariable):
		return cli.Misused(errors.New("--token-env takes the name of an environment variable, not a token"))
	}
	f.server.URL = endpointOf(server)
	return nil
}

func (f *connectFlags) describeProgram() error {
	if f.root == "" {
		return cli.Misused(errors.New("name the server's URL, or a folder of repositories with --root DIR"))
	}
	if f.server.TokenVariable != "" {
		return cli.Misused(errors.New("--token-env is for a URL: repomcp stdio wants no token"))
	}
	root, err := filepath.Abs(f.root)
	if err != nil {
		return err
	}
	// Desktop programs do not have the PATH of a shell.
	if f.server.Command, err = os.Executable(); err != nil {
		return err
	}
	f.server.Args = []string{"stdio", "--root", root}
	return nil
}

// fileOf returns the path of the client's file, or "" if the client changes it itself.
func (f *connectFlags) fileOf(client *clientconfig.Client) (string, error) {
	switch {
	case f.file != "":
		return f.file, nil
	case f.project && client.Files.Project == "":
		return "", cli.Misused(fmt.Errorf("%s has no file for a project", client.Name))
	case f.project:
		return filepath.FromSlash(client.Files.Project), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder; name the file with --file, or set HOME")
	}
	settings, err := os.UserConfigDir()
	if err != nil {
		return "", errors.New("there is no folder for settings; name the file with --file")
	}
	return client.Files.UserFile(runtime.GOOS, home, settings), nil
}

// add writes or prints the entry.
func (f *connectFlags) add(client *clientconfig.Client, name string) error {
	if f.print || name == "" {
		return f.show(client, name, "")
	}
	content, err := contentOf(name)
	if err != nil {
		return err
	}
	others, err := client.Others(content, f.server.Name)
	if err != nil {
		return fmt.Errorf("%s: %w; mend it, or add by hand what --print shows", name, err)
	}
	if others && !f.write {
		return f.show(client, name, ", which has other content; --write merges the entry into it")
	}
	changed, err := client.Add(content, f.server)
	if err != nil {
		return fmt.Errorf("%s: %w; add by hand what --print shows", name, err)
	}
	return f.replace(client, name, content, changed)
}

// show prints the entry alone: the rest of a file may have secrets of others.
func (f *connectFlags) show(client *clientconfig.Client, name, why string) error {
	if _, err := fmt.Fprint(f.env.Stdout, client.Example(f.server)); err != nil {
		return err
	}
	if name == "" {
		name = client.Files.Shown() + " (--project)"
	}
	_ = cli.Say(f.env.Stderr, "this is for %s"+why+"\n", name) // the terminal may be gone
	if command := client.Command(f.server); command != "" {
		_, _ = fmt.Fprintf(f.env.Stderr, "%s does it by itself: %s\n", client.Name, command)
	}
	f.sayToken(client)
	return nil
}

// sayToken tells where the client gets its token from.
func (f *connectFlags) sayToken(client *clientconfig.Client) {
	switch {
	case f.server.TokenVariable == "":
	case client.Prompts():
		_ = cli.Say(f.env.Stderr, "%s prompts for the token\n", client.Name) // the terminal may be gone
	default:
		_ = cli.Say(f.env.Stderr, "set %s to the token where %s is started\n", f.server.TokenVariable, client.Name)
	}
}

func (f *connectFlags) removeFrom(client *clientconfig.Client, name string) error {
	if name == "" {
		return cli.Misused(fmt.Errorf("%s changes its own file; remove the entry with its command, or name a file "+
			"with --project or --file", client.Name))
	}
	content, err := contentOf(name)
	if err != nil {
		return err
	}
	changed, err := client.Remove(content, f.server.Name)
	if err != nil {
		return fmt.Errorf("%s: %w; remove the entry by hand", name, err)
	}
	if f.print && !bytes.Equal(content, changed) {
		return cli.Say(f.env.Stderr, "%s would be removed from %s\n", f.server.Name, name)
	}
	return f.replace(client, name, content, changed)
}

// replace writes a file that has changed, and says so.
func (f *connectFlags) replace(client *clientconfig.Client, name string, before, after []byte) error {
	if bytes.Equal(before, after) {
		state := "has this entry already"
		if f.remove {
			state = "has no such entry"
		}
		return cli.Say(f.env.Stderr, "%s "+state+"; nothing was written\n", name)
	}
	backup, err := replaceFile(name, before, after)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_ = cli.Say(f.env.Stderr, "wrote %s\n", name) // the terminal may be gone
	if backup != "" {
		_ = cli.Say(f.env.Stderr, "a copy of the old file is %s\n", backup)
	}
	if !f.remove {
		f.sayToken(client)
	}
	return nil
}

// contentOf reads a configuration; one that does not exist is empty.
func contentOf(name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// Permissions of new configurations: those of other servers have secrets in them.
const (
	configFile   = 0o600
	configFolder = 0o700
)

var errMeanwhile = errors.New("another program has changed it meanwhile; try again")

// replaceFile replaces a file atomically, or the file that a symbolic link leads to. It returns the
// name of the backup, "" if there was no file.
func replaceFile(name string, before, after []byte) (backup string, err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if err := os.MkdirAll(filepath.Dir(name), configFolder); err != nil {
		return "", err
	}
	mode := fs.FileMode(configFile)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
		if backup, err = writeBackup(name, before, mode); err != nil {
			return "", err
		}
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return "", err
	}
	_, err = file.Write(after)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if now, failed := contentOf(name); err == nil && (failed != nil || !bytes.Equal(now, before)) {
		err = errMeanwhile
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return backup, nil
}

// writeBackup writes the content beside a file, under the first name that is free.
func writeBackup(name string, content []byte, mode fs.FileMode) (string, error) {
	for n := 1; ; n++ {
		backup := name + ".bak"
		if n > 1 {
			backup = fmt.Sprintf("%s.bak%d", name, n)
		}
		file, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(content)
		return backup, errors.Join(err, file.Sync(), file.Close())
	}
}
