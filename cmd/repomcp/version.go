package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/cli"
	"github.com/repomcp/repomcp/internal/mcp"
)

// release is the version that the linker is told where git or the module's version
// may be missing: -ldflags "-X main.release=v1.2.3".
var release string

// version returns the version of the program: that of a release, that of the module
// as the Go toolchain recorded it ("go install …@v1.2.3", a build in a clone), or
// "devel" with the commit.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(release, info)
}

// versionOf takes nil for a program without information on its build.
func versionOf(release string, info *debug.BuildInfo) string {
	const short = 12
	switch commit, _ := commitOf(info); {
	case release != "":
		return release
	case info != nil && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	case len(commit) >= short:
		return "devel+" + commit[:short]
	default:
		return "devel"
	}
}

// commitOf returns the commit that was built, "" if it is not known, and whether
// files were changed after it.
func commitOf(info *debug.BuildInfo) (commit string, changed bool) {
	if info == nil {
		return "", false
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			changed = setting.Value == "true"
		}
	}
	return commit, changed
}

// describe returns what a report of a fault should begin with.
func describe() string {
	info, _ := debug.ReadBuildInfo()
	commit, changed := commitOf(info)
	switch {
	case commit == "":
		commit = "unknown"
	case changed:
		commit += ", changed"
	}
	return fmt.Sprintf("repomcp %s\ncommit %s\n%s %s/%s\nMCP %v\n", versionOf(release, info), commit, runtime.Version(),
		runtime.GOOS, runtime.GOARCH, mcp.Versions())
}

func newVersion(env cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the protocol versions it speaks",
		Args:  cli.Arguments(cobra.NoArgs, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(env.Stdout, describe())
			return err
		},
	}
}
