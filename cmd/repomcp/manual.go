//go:build manual

package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/repomcp/repomcp/internal/commands/cli"
)

// releaseCommands write the additional files of packages. Only builds with the tag "manual" contain
// them, for releases.
func releaseCommands() []*cobra.Command {
	return []*cobra.Command{{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands into a folder",
		Hidden: true,
		Args:   cli.CountArguments(1, 1, "name the folder that the pages go into"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manuals are public
				return err
			}
			c.Root().InitDefaultVersionFlag()
			c.Root().DisableAutoGenTag = true // reproducible builds
			// SOURCE_DATE_EPOCH sets the date of the pages.
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Section: "1", Source: "repomcp", Manual: "repomcp"}, args[0])
		},
	}}
}
