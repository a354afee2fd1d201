package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/mcp"
)

// release is the version, set by the linker if git or the module's version may be missing: -ldflags
// "-X main.release=v1.2.3".
var release string

// version returns the version of the program: that of a release, that of the module
// as the Go toolchain recorded it ("go install …@v1.2.3", a build in a clone), or
// "devel" with the commit.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(release, info)
}

// versionOf accepts nil for a program without build information.
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

// commitOf returns the built commit, "" if unknown, and whether files were changed after it.
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

// build is the information for a bug report.
type build struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"` // missing if unknown
	Changed  bool     `json:"changed"`          // files were changed after the commit
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	MCP      []string `json:"mcp"` // versions of the protocol, newest first
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	commit, changed := commitOf(info)
	return build{versionOf(release, info), commit, changed, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH,
		mcp.Versions()}
}

func (b build) String() string {
	commit := cmp.Or(b.Commit, "unknown")
	if b.Changed {
		commit += ", changed"
	}
	return fmt.Sprintf("repomcp %s\ncommit %s\n%s %s\nMCP %v\n", b.Version, commit, b.Go, b.Platform, b.MCP)
}

func newVersion(env cli.Environment) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the protocol versions it speaks",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return writeJSON(env.Stdout, thisBuild())
			}
			_, err := fmt.Fprint(env.Stdout, thisBuild())
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
