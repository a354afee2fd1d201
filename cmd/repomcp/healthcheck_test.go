package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/commands/cli"
)

// healthcheck runs the command, and returns its exit code and what it says.
func healthcheck(t *testing.T, variables []string, flags ...string) (int, string) {
	t.Helper()
	command := exec.CommandContext(within(t), program(t), append([]string{"healthcheck"}, flags...)...)
	command.Env = append(os.Environ(), variables...)
	said, _ := command.CombinedOutput() // the code says how it went
	return command.ProcessState.ExitCode(), string(said)
}

func TestHealthcheckAsksTheServer(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "mirrors")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	p := start(t, root)
	address := strings.TrimPrefix(p.url, "http://")
	_, port, _ := strings.Cut(address, ":")
	for _, listen := range []string{address, ":" + port, "0.0.0.0:" + port, "localhost:" + port} {
		if code, said := healthcheck(t, nil, "--listen", listen); code != cli.ExitOK || said != "" {
			t.Errorf("%s: %d %s", listen, code, said)
		}
	}
	if code, said := healthcheck(t, []string{"REPOMCP_LISTEN=" + address, "REPOMCP_ROOT=" +
		root}); code != cli.ExitOK || said != "" {
		t.Errorf("from the environment: %d %s", code, said)
	}
	if code, said := healthcheck(t, nil, "--listen", address, "--tls-cert", "x"); code != cli.ExitFailed ||
		!strings.Contains(said, "no answer at") {
		t.Errorf("HTTPS of a server that speaks HTTP: %d %s", code, said)
	}
	if err := os.Rename(root, root+"2"); err != nil {
		t.Fatal(err)
	}
	if code, said := healthcheck(t, nil, "--listen", address); code != cli.ExitFailed ||
		!strings.Contains(said, "the server is not well: 503") {
		t.Errorf("without its root: %d %s", code, said)
	}
	if code, said := healthcheck(t, nil, "--listen", "127.0.0.1:1"); code != cli.ExitFailed ||
		!strings.Contains(said, "no answer at 127.0.0.1:1") {
		t.Errorf("without a server: %d %s", code, said)
	}
	if code, _ := healthcheck(t, nil, "word"); code != cli.ExitUsage {
		t.Errorf("with an argument: %d", code)
	}
}
