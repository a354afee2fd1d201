package remote

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

func newList(env cli.Environment) *cobra.Command {
	r, long := &target{env: env}, false
	command := &cobra.Command{
		Use:   "ls [URL] [REPO[@REF][/PATH]]",
		Short: "List repositories, branches and tags, or files of a server",
		Long: `List the repositories of a server, the files in a folder of one, or its branches and
tags (repo://REPO/refs). URL is the server's MCP endpoint, left out where REPOMCP_URL
has it.

` + endpointHelp + `

` + namesHelp + `

` + exitCodesHelp,
		Example: `  repomcp ls http://127.0.0.1:8080
  repomcp ls -l http://127.0.0.1:8080 hello@main/src
  repomcp ls ws://127.0.0.1:8080/ws repo://hello/refs`,
		Args: cli.CountArguments(0, 2, "name the server and, if you like, a repository"),
		RunE: func(c *cobra.Command, args []string) error {
			defer r.close()
			rest, err := r.endpoint(args)
			if err != nil {
				return err
			}
			n := parseName(append(rest, "repo://")[0])
			server, err := r.connect(c.Context())
			if err != nil {
				return forPeople(withoutUser(r.url), err)
			}
			for _, uri := range n.contents() {
				printed := 0
				if printed, err = r.list(c.Context(), server, uri, long); printed > 0 || !isAbsent(err) {
					break
				}
			}
			return forPeople(n.text, err)
		},
	}
	r.define(command.Flags())
	command.Flags().BoolVarP(&long, "long", "l", false, "also print type, size, and the id of the object or commit")
	return command
}

func (r *target) list(ctx context.Context, server *client.Client, uri string, long bool) (printed int, err error) {
	for entry, err := range server.List(ctx, uri) {
		if err == nil {
			err = r.printEntry(entry, long)
		}
		if err != nil {
			return printed, err
		}
		printed++
	}
	return printed, nil
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
