package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/mcp"
)

// version returns the version of the module as the Go toolchain recorded it, with the
// commit for a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel" + revision(info)
	}
	return info.Main.Version
}

func revision(info *debug.BuildInfo) string {
	const short = 12
	if info == nil {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= short {
			return "+" + setting.Value[:short]
		}
	}
	return ""
}

// describe returns what a report of a fault should begin with.
func describe() string {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				commit += ", changed"
			}
		}
	}
	return fmt.Sprintf("repomcp %s\ncommit %s\n%s %s/%s\nMCP %v\n", version(), commit, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, mcp.Versions())
}

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the protocol versions it speaks",
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.NoArgs(c, args); err != nil {
				return &usageError{err}
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(env.stdout, describe())
			return err
		},
	}
}
