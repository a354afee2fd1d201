//go:build !manual

package main

import "github.com/spf13/cobra"

// releaseCommands returns nothing: only builds with the tag "manual" contain these commands.
func releaseCommands() []*cobra.Command { return nil }
