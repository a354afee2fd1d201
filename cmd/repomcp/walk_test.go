package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	operatePage = "../../docs/operate.md"
	walkTitle   = "## From download to a private server\n"
	// walkCommands is how many the section has at least: fewer were found means that
	// they are not understood, or that the walk has become shorter.
	walkCommands = 53
)

// standIns are programs that the walk must not run on the machine of a test. Each notes
// its arguments, one a line, in a file of its name.
var standIns = map[string]string{
	"claude":    ``,
	"systemctl": ``,
	"sudo":      `exec "$@"`,
	"make":      `cp "$PROGRAM" "$2/repomcp"`,
}

// walked is a block of commands, and what is to be seen after it.
type walked struct {
	commands []string
	shown    string
}

var walkBlock = regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n(?:[^\n`#]+\n\n)?```text\n(.*?)```\n)?")

// walkBlocks reads the section, whose blocks are all commands or what they show.
func walkBlocks(t *testing.T) (blocks []walked) {
	t.Helper()
	page, err := os.ReadFile(operatePage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), walkTitle)
	if !found {
		t.Fatalf("docs/operate.md has no %q", walkTitle)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	fences := 0
	for _, match := range walkBlock.FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, walked{commandsIn(match[1]), match[2]})
		fences += strings.Count(match[0], "```")
	}
	if all := strings.Count(section, "```"); all != fences {
		t.Fatalf("of %d fences of code %d are understood", all, fences)
	}
	return blocks
}

var hereDocument = regexp.MustCompile(`<< '?([A-Z]+)'?$`)

// commandsIn divides a block into what is entered at a time: a line, with those that
// continue it or are its input.
func commandsIn(block string) (commands []string) {
	var command, end string
	for line := range strings.Lines(block) {
		command += line
		line = strings.TrimSuffix(line, "\n")
		if match := hereDocument.FindStringSubmatch(line); match != nil {
			end = match[1]
		}
		if line == end {
			end = ""
		}
		if end == "" && !strings.HasSuffix(line, `\`) {
			commands, command = append(commands, command), ""
		}
	}
	return commands
}

// walk is a terminal that executes the commands of the page.
type walk struct {
	t      *testing.T
	home   string
	places *strings.Replacer // of the page, and where the test has them
	shell  *exec.Cmd
	input  io.Writer
	output *bufio.Reader
	server int // the id of its process, 0 before there is one
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	home := t.TempDir()
	address := freeAddress(t)
	w := &walk{t: t, home: home, places: strings.NewReplacer(
		"/srv/git", home+"/srv/git", "/etc/repomcp", home+"/etc/repomcp", "/etc/systemd", home+"/etc/systemd",
		"/usr/local/bin", home+"/bin", "0.0.0.0:8443", address, ":8443", address[strings.LastIndex(address, ":"):],
	)}
	for _, folder := range []string{"bin", "stand-ins", "etc/systemd/system", "notes"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, does := range standIns {
		script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >> \"$HOME/notes/" + name + "\"\n" + does + "\n"
		if err := os.WriteFile(filepath.Join(home, "stand-ins", name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.makeUpstreams()
	w.open()
	return w
}

// makeUpstreams has git find here what the page has on GitHub.
func (w *walk) makeUpstreams() {
	unit, err := os.ReadFile("../../deploy/systemd/repomcp.service")
	if err != nil {
		w.t.Fatal(err)
	}
	github := filepath.Join(w.home, "github")
	for name, file := range map[string]gittest.File{
		"octocat/Hello-World.git": gittest.Regular("README", "Hello World!\n"),
		"octocat/Spoon-Knife.git": gittest.Regular("README.md", "### Well hello there!\n"),
		"repomcp/repomcp":         gittest.Regular("deploy/systemd/repomcp.service", string(unit)),
	} {
		upstream := gittest.At(w.t, filepath.Join(github, name))
		upstream.Commit("master", file)
		upstream.WriteFile("HEAD", []byte("ref: refs/heads/master\n"))
	}
	settings := fmt.Sprintf("[url \"file://%s/\"]\n\tinsteadOf = https://github.com/\n", github)
	if err := os.WriteFile(filepath.Join(w.home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// open starts the shell. When it ends so does the server that it has started.
func (w *walk) open() {
	t := w.t
	w.shell = exec.Command("bash", "--noprofile", "--norc")
	w.shell.Dir = w.home
	w.shell.Env = []string{
		"HOME=" + w.home, "PATH=" + w.home + "/stand-ins:" + w.home + "/bin:" + os.Getenv("PATH"), "LC_ALL=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "PROGRAM=" + program(t),
	}
	input, err := w.shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := w.shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.shell.Stderr = w.shell.Stdout // as in a terminal
	w.input, w.output = input, bufio.NewReader(output)
	if err := w.shell.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = w.shell.Process.Kill() }) // it may have ended
	t.Cleanup(func() {
		stuck.Stop()
		if server, err := os.FindProcess(w.server); w.server > 0 && err == nil {
			_ = server.Kill() // the walk has ended it, unless it failed
		}
		_ = input.Close() // which ends the shell
		if err := w.shell.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// endOfCommand is printed after each, by the test: the exit code and the id of the server.
var endOfCommand = regexp.MustCompile(`\x01(\d+) (\d*)\n$`)

// enter runs a command and returns what it prints.
func (w *walk) enter(command string) string {
	w.t.Helper()
	_, err := io.WriteString(w.input, w.places.Replace(command)+"printf '\\1%s %s\\n' $? \"${SERVER-}\"\n")
	if err != nil {
		w.t.Fatal(err)
	}
	var said strings.Builder
	for {
		line, err := w.output.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			w.t.Fatalf("%s: %v after %s", command, err, said.String())
		}
		end := endOfCommand.FindStringSubmatch(line)
		if end == nil {
			continue
		}
		w.server, _ = strconv.Atoi(end[2]) // empty before there is one
		seen := strings.TrimSuffix(said.String(), end[0])
		if end[1] != "0" {
			w.t.Fatalf("%s ended with %s: %s", command, end[1], seen)
		}
		return seen
	}
}

// looksLike returns what matches an output as the page has it: … is a part of a line or,
// alone, some lines.
func looksLike(shown string) *regexp.Regexp {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for line := range strings.Lines(shown) {
		if line == "…\n" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return regexp.MustCompile(pattern.String() + `$`)
}

// noted are the arguments of a stand-in.
func (w *walk) noted(name string) []string {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.home, "notes", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// agent is a client that sends what the command of the page told an agent to send.
type agent struct {
	header string
	base   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (a agent) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	name, value, _ := strings.Cut(a.header, ": ")
	request.Header.Set(name, value)
	return a.base.RoundTrip(request)
}

// connect has the official client of Go in the place of the agent. It trusts the
// certificate of the walk and no other.
func (w *walk) connect() (*mcp.ClientSession, error) {
	t := w.t
	told := w.noted("claude")
	if len(told) != 8 || strings.Join(told[:5], " ") != "mcp add --transport http repomcp" || told[6] != "--header" {
		t.Fatalf("the agent was told %q", told)
	}
	certificate, err := os.ReadFile(filepath.Join(w.home, "etc/repomcp/tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(certificate) {
		t.Fatal("there is no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}}
	t.Cleanup(transport.CloseIdleConnections)
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(within(t),
		&mcp.StreamableClientTransport{
			Endpoint: told[5], DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: agent{told[7], transport}},
		}, nil)
}

// useAgent asks for what the page says that the agent answers.
func (w *walk) useAgent() {
	t := w.t
	session, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(within(t), nil)
	if err != nil || len(list.Tools) < 10 {
		t.Fatalf("%v, %+v", err, list)
	}
	called, err := session.CallTool(within(t), &mcp.CallToolParams{
		Name: "search_repositories", Arguments: map[string]any{"query": ""},
	})
	if err != nil || called.IsError || len(called.Content) == 0 {
		t.Fatalf("%v, %+v", err, called)
	}
	text, ok := called.Content[0].(*mcp.TextContent)
	if !ok || !strings.Contains(text.Text, "public/hello") || strings.Contains(text.Text, "spoon") {
		t.Errorf("the agent is told %+v", called.Content[0])
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// missAgent finds that the agent is not let in any more.
func (w *walk) missAgent() {
	if session, err := w.connect(); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		w.t.Errorf("with a token that was revoked: %v, %v", session, err)
	}
}

// The commands of the section print what it shows.
func TestWalkFromDownloadToAPrivateServer(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for _, need := range []string{"bash", "git", "curl", "openssl", "tar", "install"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skip(need + " is missing")
		}
	}
	blocks := walkBlocks(t)
	w := newWalk(t)
	looks := map[string]func(*walk){
		"claude mcp add ": (*walk).useAgent,
		// The token is refused from now on.
		`curl -sS -w '%{http_code}\n' -H "Authorization: Bearer $TOKEN" $URL/repositories`: (*walk).missAgent,
	}
	entered := 0
	for _, block := range blocks {
		var seen strings.Builder
		for _, command := range block.commands {
			seen.WriteString(w.enter(command))
			entered++
			for prefix, look := range looks {
				if strings.HasPrefix(command, prefix) {
					look(w)
					delete(looks, prefix)
				}
			}
		}
		if shown := w.places.Replace(block.shown); !looksLike(shown).MatchString(seen.String()) {
			t.Fatalf("after %q the page shows\n%s\nand there is\n%s", block.commands, shown, seen.String())
		}
	}
	if entered < walkCommands || len(looks) > 0 {
		t.Errorf("the section has %d commands, of at least %d, and not %v", entered, walkCommands, looks)
	}
	w.checkService()
}

// What the page shows is held against all that there is, and a … alone is the only one that
// may be several lines.
func TestWalkSeesWhatDiffers(t *testing.T) {
	for shown, cases := range map[string]struct{ same, other []string }{
		"":               {[]string{""}, []string{"a\n"}},
		"a\n":            {[]string{"a\n"}, []string{"", "a", "a\nb\n", "b\na\n"}},
		"a.…\n":          {[]string{"a.\n", "a.b\n"}, []string{"ab\n", "a.b\nc\n"}},
		"…\na\n…\n404\n": {[]string{"a\n404\n", "b\na\nc\nd\n404\n"}, []string{"404\n", "a\n404\nb\n", "a\n"}},
	} {
		for _, seen := range cases.same {
			if !looksLike(shown).MatchString(seen) {
				t.Errorf("%q does not look like %q", seen, shown)
			}
		}
		for _, seen := range cases.other {
			if looksLike(shown).MatchString(seen) {
				t.Errorf("%q looks like %q", seen, shown)
			}
		}
	}
}

// checkService looks at what the last commands left for systemd, and at the first.
func (w *walk) checkService() {
	t := w.t
	if got := strings.Join(w.noted("make"), " "); got != "-C repomcp-source build" {
		t.Errorf("make was called with %s", got)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil || !regexp.MustCompile(`(?m)^build:\n\t.* -o repomcp \./cmd/repomcp$`).Match(makefile) {
		t.Errorf("make build does not make the program: %v", err)
	}
	// The server of the terminal has ended before that of systemd begins.
	log, err := os.ReadFile(filepath.Join(w.home, "repomcp.log"))
	if err != nil || !strings.Contains(string(log), "msg=stopped clean=true") {
		t.Errorf("the server has not ended: %v, %s", err, log)
	}
	if got := strings.Join(w.noted("systemctl"), " "); got != "daemon-reload enable --now repomcp" {
		t.Errorf("systemctl was called with %s", got)
	}
	want, err := os.ReadFile("../../deploy/systemd/repomcp.service")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(w.home, "etc/systemd/system/repomcp.service"))
	if err != nil || string(got) != string(want) {
		t.Errorf("the unit of the walk is another: %v", err)
	}
	// The unit starts the program and the configuration of the walk.
	if !strings.Contains(string(want), "ExecStart=/usr/local/bin/repomcp serve --config /etc/repomcp/config.yaml\n") {
		t.Errorf("the unit starts something else: %s", want)
	}
}

var pageSection = regexp.MustCompile(`(?m)^## (.+)$`)

// The table at the top of the page links all of its sections, in their order.
func TestDocumentationOfOperatingHasAllSections(t *testing.T) {
	page, err := os.ReadFile(operatePage)
	if err != nil {
		t.Fatal(err)
	}
	contents, _, _ := strings.Cut(string(page), "\n## ")
	at := 0
	for _, section := range pageSection.FindAllStringSubmatch(string(page), -1) {
		anchor := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(section[1], ",", ""), " ", "-"))
		found := strings.Index(contents[at:], "["+section[1]+"](#"+anchor+")")
		if found < 0 {
			t.Fatalf("the table does not lead to %q, or in another order", section[1])
		}
		at += found
	}
}
