package client_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNothingOfTheServerComesWithIt counts the modules that a program needs for
// the package, and the packages of this one.
func TestNothingOfTheServerComesWithIt(t *testing.T) {
	const own = "github.com/repomcp/repomcp"
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
			"{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0", "GOFLAGS=")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		modules, packages := map[string]bool{}, []string{}
		for line := range strings.Lines(string(out)) {
			module, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if module != "" {
				modules[module] = true
			}
			if module == own {
				packages = append(packages, name)
			}
		}
		// WebSocket is not in the standard library, and that module needs no other.
		// How bytes lie beside messages is written down once for both sides.
		if len(modules) != 2 || !modules[own] || !modules["github.com/coder/websocket"] ||
			!slices.Equal(packages, []string{own + "/client/internal/retry", own + "/internal/mcp/binary", own + "/client"}) {
			t.Errorf("%s: the modules %v and the packages %v are needed", system, modules, packages)
		}
	}
}
