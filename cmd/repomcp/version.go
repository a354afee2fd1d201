package main

import (
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"
)

// version is that of the module as the Go toolchain recorded it, with the
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

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the protocol versions it speaks",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.stdout, "repomcp %s\nMCP %v\n", version(), mcp.ValidProtocolVersions)
			return err
		},
	}
}
