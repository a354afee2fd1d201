package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
)

// lostBytes of a branch are more than all that is between a server and a client that
// does not read can hold.
const lostBytes = 24 << 20

// slowBytes of a branch take so long to compress that a server is killed before their end.
const slowBytes = 6 << 20

// slowFormats have the branch that is cut, instead of the one with lostBytes.
var slowFormats = map[string]string{"tar.xz": "slow"}

// front is a proxy, with a server of its own behind it.
type front struct {
	t      *testing.T
	url    string
	server *server
	env    []string // of clients, which trust the certificate
	direct *process // the same repositories, without a proxy
}

// fronts are the proxies of Debian 12: as they are when they are only told where the
// server is, and as docs/operate.md and deploy/haproxy.cfg have them. The two that speak
// HTTP/2 hide a break.
var fronts = map[string]func(f *front, at, behind, dir string) *exec.Cmd{
	"haproxy, HTTP/2": func(f *front, at, behind, dir string) *exec.Cmd {
		return f.haproxy(at, behind, dir, "alpn h2,http/1.1")
	},
	"haproxy, as documented": func(f *front, at, behind, dir string) *exec.Cmd {
		return f.haproxy(at, behind, dir, "alpn http/1.1")
	},
	"caddy, HTTP/2": func(f *front, at, behind, dir string) *exec.Cmd {
		return f.caddy(at, dir, "", "reverse_proxy "+behind)
	},
	"caddy, HTTP/1.1": func(f *front, at, behind, dir string) *exec.Cmd {
		return f.caddy(at, dir, "servers {\nprotocols h1\n}", "reverse_proxy "+behind)
	},
	"nginx": func(f *front, at, behind, dir string) *exec.Cmd {
		return f.nginx(at, dir, "location / {\nproxy_pass http://"+behind+";\nproxy_set_header Host localhost;\n}", "")
	},
	"nginx, as documented": func(f *front, at, behind, dir string) *exec.Cmd {
		var location, mapping string
		for _, block := range codeBlocks(f.t, "../../docs/operate.md", "nginx") {
			location, mapping, _ = strings.Cut(block, "# and, outside of the server block:")
		}
		location = strings.ReplaceAll(location, "http://127.0.0.1:8080", "http://"+behind)
		return f.nginx(at, dir, regexp.MustCompile(`auth_request .*\n`).ReplaceAllString(location, ""), mapping)
	},
}

// haproxy runs with deploy/haproxy.cfg and an end of TLS as its comment has it.
func (f *front) haproxy(at, behind, dir, alpn string) *exec.Cmd {
	f.t.Helper()
	config, err := os.ReadFile("../../deploy/haproxy.cfg")
	if err != nil {
		f.t.Fatal(err)
	}
	const plain = `    bind "${LISTEN}"` + "\n"
	if !bytes.Contains(config, []byte(plain)) || !bytes.Contains(config, []byte(`bind "${LISTEN}" ssl crt FILE alpn http/1.1`)) {
		f.t.Fatal("deploy/haproxy.cfg does not say how TLS ends there")
	}
	var both []byte
	for _, name := range []string{"cert", "key"} {
		part, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			f.t.Fatal(err)
		}
		both = append(both, part...)
	}
	f.write(dir, "both", string(both))
	f.write(dir, "haproxy.cfg", strings.Replace(string(config), plain,
		`    bind "${LISTEN}" ssl crt `+filepath.Join(dir, "both")+" "+alpn+"\n", 1))
	cmd := exec.Command(programs(f.t, "haproxy")["haproxy"], "-db", "-f", filepath.Join(dir, "haproxy.cfg"))
	cmd.Env = append(os.Environ(), "LISTEN="+at, "REPLICA_1="+behind, "REPLICA_2="+behind, "REPLICA_3="+behind)
	return cmd
}

func (f *front) caddy(at, dir, global, site string) *exec.Cmd {
	f.t.Helper()
	_, port, _ := net.SplitHostPort(at)
	f.write(dir, "Caddyfile", fmt.Sprintf("{\nadmin off\nauto_https off\n%s\n}\nhttps://localhost:%s {\ntls %s %s\n%s\n}\n",
		global, port, filepath.Join(dir, "cert"), filepath.Join(dir, "key"), site))
	cmd := exec.Command(programs(f.t, "caddy")["caddy"], "run", "--config", filepath.Join(dir, "Caddyfile"))
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	return cmd
}

func (f *front) nginx(at, dir, location, mapping string) *exec.Cmd {
	f.t.Helper()
	f.write(dir, "nginx.conf", fmt.Sprintf(`daemon off;
master_process off;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    %s
    server {
        listen %s ssl http2;
        ssl_certificate cert;
        ssl_certificate_key key;
        %s
    }
}
`, mapping, at, location))
	return exec.Command(programs(f.t, "nginx")["nginx"], "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
}

func (f *front) write(dir, name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// newFront starts a server, and the proxy before it.
func newFront(t *testing.T, name, root string, direct *process) *front {
	t.Helper()
	dir := t.TempDir()
	f := &front{t: t, direct: direct}
	issue(t, filepath.Join(dir, "cert"), filepath.Join(dir, "key"), 1)
	f.env = append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(dir, "cert"), "HOME="+dir)
	at, behind := freeAddress(t), freeAddress(t)
	_, port, _ := net.SplitHostPort(at)
	f.url = "https://localhost:" + port
	proxy := fronts[name](f, at, behind, dir) // or it is skipped
	f.server = launch(t, behind, func() *exec.Cmd {
		return exec.Command(program(t), "serve", "--root", root, "--listen", behind, "--allowed-host", "localhost",
			"--log-format", "json")
	})
	launch(t, at, func() *exec.Cmd { return proxy })
	return f
}

// pull is a command that downloads something.
type pull struct {
	command string // get or cat
	what    string // a format, or raw
	branch  string
}

func (p pull) String() string { return p.command + " of " + p.what }

// route is where the plain download is.
func (p pull) route() string {
	if p.what == "raw" {
		return "/raw/app/" + p.branch + "/noise"
	}
	return "/archive/app/" + p.branch + "." + p.what + "?prefix=" + p.command + "/"
}

// arguments ask for the plain download, or over MCP.
func (p pull) arguments(url, output string) []string {
	switch {
	case p.command == "get":
		return []string{"get", url + p.route(), "-o", output}
	case p.what == "raw":
		return []string{"cat", url + "/mcp", "repo://app/refs/heads/" + p.branch + "/contents/noise"}
	default:
		return []string{"cat", url + "/mcp", "repo://app" + strings.Replace(p.route(), "/app", "", 1)}
	}
}

// start begins a download into a file.
func (f *front) start(p pull, output string, flags ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	f.t.Helper()
	said = &bytes.Buffer{}
	cmd = exec.Command(program(f.t), append(p.arguments(f.url, output), flags...)...)
	cmd.Env, cmd.Stderr = f.env, said
	if p.command == "cat" {
		out, err := os.Create(output)
		if err != nil {
			f.t.Fatal(err)
		}
		defer func() { _ = out.Close() }() // the process has its own
		cmd.Stdout = out
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return cmd, said
}

// isWhole reports whether a file has what the download is without a proxy.
func (f *front) isWhole(p pull, output string) bool {
	f.t.Helper()
	got, err := os.ReadFile(output)
	if err != nil {
		return false
	}
	status, want := f.direct.get(f.t, f.direct.url+p.route())
	if status != http.StatusOK {
		f.t.Fatalf("%s: %d %s", p.route(), status, want)
	}
	return string(got) == want
}

// outcome is how a command has ended.
type outcome struct {
	code   int
	output string // its file
	said   string
}

// cut begins a download, kills the server while it is under way, and has meanwhile do
// something before the client goes on.
func (f *front) cut(p pull, meanwhile func(), flags ...string) outcome {
	f.t.Helper()
	// A proxy may have taken everything before the server is killed. On a busy machine Caddy sometimes breaks the
	// download of a POST itself: a Go server closes the body of a request when the response begins, and Go's client
	// may not have seen the end of the body by then.
	for range 20 {
		dir := f.t.TempDir()
		o := outcome{output: filepath.Join(dir, "out")}
		whole := f.sentWhole()
		cmd, said := f.start(p, o.output, flags...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // the code says it
			close(ended)
		}()
		gittest.Await(f.t, "the first bytes of "+p.route(), func() bool { return hasBytes(dir) || isClosed(ended) })
		if isClosed(ended) && !hasBytes(dir) {
			f.t.Logf("%s ends with %d before it is cut: %s", p, cmd.ProcessState.ExitCode(), said)
			continue
		}
		err := cmd.Process.Signal(syscall.SIGSTOP)
		if errors.Is(err, os.ErrProcessDone) {
			f.t.Logf("%s has come before it is cut: %s", p, said)
			continue
		}
		if err != nil {
			f.t.Fatal(err)
		}
		f.server.kill(f.t)
		underWay := f.sentWhole() == whole
		meanwhile()
		// A client that was about to end when it was stopped has ended by now.
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			f.t.Fatal(err)
		}
		<-ended
		if f.server.ended {
			f.server.start(f.t)
		}
		if o.code, o.said = cmd.ProcessState.ExitCode(), said.String(); underWay {
			return o
		}
	}
	f.t.Fatalf("%s is never cut", p)
	return outcome{}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wholeLarge is logged of a download of at least 1 MB that the server has sent to its end.
var wholeLarge = regexp.MustCompile(`"outcome":"done","bytes":\d{7}`)

func (f *front) sentWhole() int {
	f.t.Helper()
	log, err := os.ReadFile(f.server.log)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(wholeLarge.FindAll(log, -1))
}

// hasBytes reports whether some file of a folder has any.
func hasBytes(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		info, err := entry.Info()
		return err == nil && info.Size() > 0
	})
}

// TestProxiesThatHideABreak has servers killed while downloads are under way, behind
// proxies of which some make a clean end of it.
func TestProxiesThatHideABreak(t *testing.T) {
	if testing.Short() {
		t.Skip("a server is started for each of 36 downloads that break")
	}
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "app.git"))
	repo.Commit("main", gittest.Regular("noise", gittest.Noise(300_000)),
		gittest.Regular("text", strings.Repeat("a line of text\n", 50_000)))
	repo.Commit("large", gittest.Regular("noise", gittest.Noise(lostBytes)))
	repo.Commit("slow", gittest.Regular("noise", gittest.Noise(slowBytes)))
	direct := start(t, root)
	turns := gittest.Volume(3, 1) // every format with one of both commands, and both in turns over proxies and formats
	for front, name := range slices.Sorted(maps.Keys(fronts)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, name, root, direct)
			pulls := 0
			for format, what := range []string{"tar", "tar.gz", "tar.zst", "tar.xz", "zip", "raw"} {
				for number, command := range []string{"get", "cat"} {
					if (front+format+number)%turns != 0 {
						continue
					}
					f.pullsWhole(pull{command, what, "main"})
					f.refusesCut(pull{command, what, cmp.Or(slowFormats[what], "large")})
					pulls++
				}
			}
			f.goesOn(pull{"get", "tar.gz", "large"})
			f.goesOn(pull{"cat", "zip", "large"})
			if want := 12 / turns; pulls != want {
				t.Errorf("%d downloads were tried, want %d", pulls, want)
			}
		})
	}
}

// TestDocumentationOfChecks runs what docs/archive-format.md says to curl users.
func TestDocumentationOfChecks(t *testing.T) {
	server := serveSamples(t).url
	for _, block := range codeBlocks(t, "../../docs/archive-format.md", "sh") {
		if !strings.Contains(block, "sha256sum -c") {
			continue
		}
		folder, said := runIn(t, strings.ReplaceAll(block, "http://127.0.0.1:8080", server))
		if !strings.Contains(said, "hello-v1.0.0.tar.gz: OK") || !strings.Contains(said, "Content-Length: ") {
			t.Errorf("it says %s", said)
		}
		if _, err := os.Stat(filepath.Join(folder, "v1.tar.zst")); err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("there is no such block")
}

func (f *front) pullsWhole(p pull) {
	f.t.Helper()
	output := filepath.Join(f.t.TempDir(), "out")
	cmd, said := f.start(p, output)
	if err := cmd.Wait(); err != nil || !f.isWhole(p, output) {
		f.t.Errorf("%s: %v, %s", p, err, said)
	}
}

func (f *front) refusesCut(p pull) {
	f.t.Helper()
	o := f.cut(p, func() {}, "--retries", "0")
	// A busy server may be killed after the last byte, and before the line in its log.
	for tries := 1; tries < 5 && o.code == cli.ExitOK && f.isWhole(p, o.output); tries++ {
		o = f.cut(p, func() {}, "--retries", "0")
	}
	info, err := os.Stat(o.output)
	if o.code != cli.ExitNetwork && o.code != cli.ExitDamaged {
		f.t.Errorf("%s that is cut ends with %d: %s", p, o.code, o.said)
	}
	if p.command == "get" && !errors.Is(err, os.ErrNotExist) {
		f.t.Errorf("%s that is cut leaves a file of %d bytes: %s", p, info.Size(), o.said)
	}
}

// goesOn has the server come back before the client goes on.
func (f *front) goesOn(p pull) {
	f.t.Helper()
	if o := f.cut(p, func() { f.server.start(f.t) }); o.code != cli.ExitOK || !f.isWhole(p, o.output) {
		f.t.Errorf("%s that is cut, when the server is there again, ends with %d: %s", p, o.code, o.said)
	}
}
