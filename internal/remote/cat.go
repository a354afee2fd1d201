package remote

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/cli"
)

func newCat(env cli.Environment) *cobra.Command {
	r := &target{env: env}
	command := &cobra.Command{
		Use:   "cat [URL] REPO[@REF]/PATH",
		Short: "Print a file or an archive of a server",
		Long: `Write a file of a server to standard output, or whatever else a URI names, such as an
archive. URL is the MCP endpoint, left out where REPOMCP_URL has it; the address of a
plain download, or a link, stands for both. A download that breaks goes on where it was.

` + endpointHelp + `

` + namesHelp + `

` + exitCodesHelp,
		Example: `  repomcp cat http://127.0.0.1:8080 hello@main/README.md
  repomcp cat http://127.0.0.1:8080/raw/hello/main/README.md
  repomcp cat 'stdio:repomcp stdio --root /srv/git' repo://hello/contents/README.md`,
		Args: cli.CountArguments(1, 2, "name the server and a file, such as https://git.example.com hello/README.md"),
		RunE: func(c *cobra.Command, args []string) error {
			defer r.close()
			s, err := r.source(args)
			if err != nil {
				return err
			}
			d, err := r.open(c.Context(), &s, client.Part{})
			if err != nil {
				return err
			}
			_, err = io.Copy(env.Stdout, d)
			return forPeople(s.what, errors.Join(err, d.Close()))
		},
	}
	r.define(command.Flags())
	_ = command.Flags().MarkHidden("json") // what is printed is the resource
	return command
}
