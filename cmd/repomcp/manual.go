package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManual is for those who make packages.
func newManual() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands into a folder",
		Hidden: true,
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(c, args); err != nil {
				return &usageError{fmt.Errorf("name the folder that the pages go into: %w", err)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // everybody reads manuals
				return err
			}
			c.Root().DisableAutoGenTag = true // its date would make each build another one
			return doc.GenManTree(c.Root(), &doc.GenManHeader{Section: "1", Source: "repomcp", Manual: "repomcp"}, args[0])
		},
	}
}
