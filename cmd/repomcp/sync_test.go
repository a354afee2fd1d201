package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/client/checkout"
	"github.com/repomcp/repomcp/internal/cli"
)

// recipe finds a block of docs/sync.md below a heading.
func recipe(t *testing.T, heading, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/sync.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(page), "\n## "+heading+"\n")
	_, below, _ = strings.Cut(below, "```"+language+"\n")
	block, _, found := strings.Cut(below, "```")
	if !found {
		t.Fatalf("docs/sync.md has no recipe %q", heading)
	}
	return block
}

// withProgram is the environment in which "repomcp" is the one that was built.
func withProgram(p *process) []string {
	return append(os.Environ(), "PATH="+filepath.Dir(p.cmd.Path)+":"+os.Getenv("PATH"), "REPOMCP_URL="+p.url+"/mcp")
}

func TestRecipeForTheShell(t *testing.T) {
	p := start(t, "../../testrepos")
	dir := t.TempDir()
	for content, want := range map[string]string{"": "in step\n",
		"mine": "in step, but for files that were changed here\n"} {
		if content != "" {
			if err := os.MkdirAll(filepath.Join(dir, "hello"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "hello/README.md"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		shell := exec.CommandContext(t.Context(), "sh", "-c", recipe(t, "In a shell", "sh"))
		shell.Dir, shell.Env = dir, append(withProgram(p), "REPOMCP_INTO_EXISTING=true") // with a file in it
		out, err := shell.Output()
		if err != nil || !strings.HasSuffix(string(out), "\n"+want) {
			t.Errorf("%v: %s", err, out)
		}
		if err := os.RemoveAll(filepath.Join(dir, "hello")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecipeForAnEditor does what VS Code does with the task, as far as that is
// processes and patterns.
func TestRecipeForAnEditor(t *testing.T) {
	p := start(t, "../../testrepos")
	var file struct {
		Tasks []struct {
			Command        string
			Args           []string
			ProblemMatcher struct {
				Background struct{ BeginsPattern, EndsPattern string }
			}
		}
	}
	if err := json.Unmarshal([]byte(recipe(t, "In an editor", "json")), &file); err != nil {
		t.Fatal(err)
	}
	task := file.Tasks[0]
	for i := range task.Args {
		task.Args[i] = strings.Replace(task.Args[i], "http://127.0.0.1:8080", p.url, 1)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(p.cmd.Path), task.Command), task.Args...)
	cmd.Dir, cmd.Env = t.TempDir(), withProgram(p)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begins, ends := regexp.MustCompile(task.ProblemMatcher.Background.BeginsPattern), regexp.MustCompile(
		task.ProblemMatcher.Background.EndsPattern)
	begun, ended := false, false
	for lines := bufio.NewScanner(out); !ended && lines.Scan(); {
		var event checkout.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Errorf("%s: %v", lines.Bytes(), err)
		}
		begun = begun || begins.Match(lines.Bytes())
		ended = ends.Match(lines.Bytes())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !begun || !ended {
		t.Errorf("begun %v, ended %v: %v", begun, ended, err)
	}
}

// TestDocumentationOfSync looks for all flags and events.
func TestDocumentationOfSync(t *testing.T) {
	page, err := os.ReadFile("../../docs/sync.md")
	if err != nil {
		t.Fatal(err)
	}
	command, _, err := newRoot(cli.Environment{}).Find([]string{"sync"})
	if err != nil {
		t.Fatal(err)
	}
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if !strings.Contains(string(page), "`--"+flag.Name+"`") {
			t.Errorf("docs/sync.md lacks --%s", flag.Name)
		}
	})
	for _, event := range []string{checkout.EventStart, checkout.EventProgress, checkout.EventWrite,
		checkout.EventDelete, checkout.EventKeep, checkout.EventSkipped, checkout.EventRetry, checkout.EventGone,
		checkout.EventBack, checkout.EventDone, checkout.EventFailed, checkout.EventStopped} {
		if !strings.Contains(string(page), "\n| `"+event+"` | ") {
			t.Errorf("docs/sync.md lacks the event %s", event)
		}
	}
	for _, word := range []string{checkout.ReasonEdited, checkout.ReasonUntracked, checkout.ReasonInTheWay,
		checkout.ReasonDeleted, checkout.ReasonInUse, checkout.ReasonHeld, checkout.ReasonOutside,
		checkout.PhaseReceive, checkout.PhaseCheck, checkout.PhaseFinish, checkout.FileKept, checkout.FileMine,
		checkout.FilePostponed, checkout.FileSkipped, checkout.FileEdited, checkout.FileMissing,
		checkout.ProfileWorktree, checkout.ProfileFull, checkout.ProfileArchive} {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/sync.md lacks %q", word)
		}
	}
	for _, code := range []checkout.Code{checkout.CodeArguments, checkout.CodeOccupied, checkout.CodeLocked,
		checkout.CodeState, checkout.CodeGone, checkout.CodeUnauthorized, checkout.CodeRefused, checkout.CodeBusy,
		checkout.CodeNetwork, checkout.CodeOtherOrigin, checkout.CodeTooLarge, checkout.CodeDamaged,
		checkout.CodeUnsafe, checkout.CodeStopped, checkout.CodeFailed} {
		if !strings.Contains(string(page), "`"+string(code)+"`") {
			t.Errorf("docs/sync.md lacks the code %s", code)
		}
	}
}
