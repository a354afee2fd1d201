//go:build !manual

package main

import "github.com/spf13/cobra"

// releaseCommands are part of the build with the tag "manual" alone.
func releaseCommands() []*cobra.Command { return nil }
