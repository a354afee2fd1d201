package remote

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/cli"
)

func newList(env cli.Environment) *cobra.Command {
	r, long := &target{env: env}, false
	command := &cobra.Command{
		Use:   "ls [URL] [URI]",
		Short: "List repositories, branches and tags, or files of a server",
		Long: `List what a resource of a server holds: all repositories (repo://, the default),
branches and tags (repo://REPO/refs), or a folder (repo://REPO/contents/PATH). URL
is the server's MCP endpoint, left out where REPOMCP_URL has it.

` + endpointHelp + `

` + exitCodesHelp,
		Example: `  repomcp ls http://127.0.0.1:8080/mcp
  repomcp ls ws://127.0.0.1:8080/ws repo://hello/refs
  repomcp ls -l http://127.0.0.1:8080/mcp repo://hello/contents/src`,
		Args: cli.CountArguments(0, 2, "name the endpoint and, if you like, a resource"),
		RunE: func(c *cobra.Command, args []string) error {
			defer r.close()
			rest, err := r.endpoint(args)
			if err != nil {
				return err
			}
			uri := "repo://"
			if len(rest) > 0 {
				uri = rest[0]
			}
			server, err := r.connect(c.Context())
			if err != nil {
				return err
			}
			for entry, err := range server.List(c.Context(), uri) {
				if err != nil {
					return err
				}
				if err := r.printEntry(entry, long); err != nil {
					return err
				}
			}
			return nil
		},
	}
	r.define(command.Flags())
	command.Flags().BoolVarP(&long, "long", "l", false, "also print type, size, and the id of the object or commit")
	return command
}

func (r *target) printEntry(e client.Entry, long bool) error {
	if r.json {
		r.tell(e)
		return nil
	}
	if !long {
		return cli.Say(r.env.Stdout, "%s\n", e.Name)
	}
	size := "-"
	if e.Size >= 0 {
		size = fmt.Sprint(e.Size)
	}
	return cli.Say(r.env.Stdout, "%-10s %10s %s\t%s\n",
		cmp.Or(e.Type, "repository"), size, cmp.Or(e.ID, e.Commit, "-"), e.Name)
}
