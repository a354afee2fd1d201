package checkout

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childFolder) != "" {
		syncAsChild()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.Cleanup(func(code int) {
			if built != "" {
				_ = os.RemoveAll(built) // a temporary folder
			}
			os.Exit(code)
		}))
}

// childFolder names the folder that the test binary, started again, syncs; the other
// variables say what from.
const (
	childFolder = "REPOMCP_CHECKOUT_CHILD"
	childServer = "REPOMCP_CHECKOUT_SERVER"
	childPlain  = "REPOMCP_CHECKOUT_PLAIN"
	childClone  = "REPOMCP_CHECKOUT_CLONE"
	childEnds   = "REPOMCP_CHECKOUT_ENDS" // a phase or an event, and how long after it the child is killed
)

func syncAsChild() {
	c, err := client.New(os.Getenv(childServer), client.Options{})
	if err == nil {
		_, err = Sync(context.Background(), c, Options{
			Repository: "app", Ref: "main", Dir: os.Getenv(childFolder), Plain: os.Getenv(childPlain) != "",
			IntoExisting: true, Profile: os.Getenv(childClone), Events: endAt(os.Getenv(childEnds)),
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// endAt has the process end by itself some time after an event.
func endAt(text string) func(Event) {
	at, after, ok := strings.Cut(text, " ")
	if !ok {
		return nil
	}
	delay, err := time.ParseDuration(after)
	if err != nil {
		panic(err)
	}
	var once sync.Once
	return func(e Event) {
		if e.Event != at && e.Phase != at {
			return
		}
		once.Do(func() {
			go func() {
				time.Sleep(delay)
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
			}()
		})
	}
}

// place is a folder beside a canary, and a server to sync it from.
type place struct {
	t      *testing.T
	repo   *gittest.Repo
	server *server
	client *client.Client
	dir    string
	// profile is that of runs in another process, "" for the usual one.
	profile string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t: t, repo: gittest.At(t, filepath.Join(root, "app.git")), dir: filepath.Join(t.TempDir(), "in")}
	p.server = serve(t, root)
	p.client = p.connect()
	return p
}

func (p *place) connect() *client.Client {
	p.t.Helper()
	c, err := client.New(p.server.proxy+"/mcp", client.Options{HTTP: p.http()})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// http has connections of its own, until the test ends.
func (p *place) http() *http.Client {
	transport := &http.Transport{}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// refs returns the server's reply to a request for the refs of a repository. It takes no connection of the proxy.
func (p *place) refs(repository string) (status int, body string) {
	p.t.Helper()
	reply, err := p.http().Get("http://" + p.server.to + "/refs/" + repository)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }() // only read from
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

func (p *place) options() Options { return Options{Repository: "app", Ref: "main", Dir: p.dir} }

// sync fails the test if it fails.
func (p *place) sync(change func(*Options)) Result {
	p.t.Helper()
	o := p.options()
	if change != nil {
		change(&o)
	}
	result, err := Sync(p.t.Context(), p.client, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

func (p *place) write(path, content string) {
	p.t.Helper()
	at := filepath.Join(p.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// changeTime is in a record, behind the time of modification.
var changeTime = regexp.MustCompile(` (\d+)/\d+ `)

// forgetChangeTimes makes the state that of a system that has no such times, as after
// damage of the disk, which changes none.
func (p *place) forgetChangeTimes() {
	p.t.Helper()
	at := filepath.Join(p.dir, stateFolder, stateName)
	state, err := os.ReadFile(at)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(at, changeTime.ReplaceAll(state, []byte(" $1 ")), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// tree is what a folder has, by path: "file content", "exec content", "link target",
// and "dir" of an empty folder.
type tree map[string]string

// onDisk reads the folder, without the state.
func (p *place) onDisk() tree {
	p.t.Helper()
	found := tree{}
	err := filepath.WalkDir(p.dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == p.dir {
			return err
		}
		path := filepath.ToSlash(strings.TrimPrefix(at, p.dir+string(filepath.Separator)))
		switch {
		case path == stateFolder:
			return fs.SkipDir
		case e.IsDir():
			inside, err := os.ReadDir(at)
			if len(inside) == 0 {
				found[path] = "dir"
			}
			return err
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(at)
			found[path] = "link " + target
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(at)
		found[path] = "file " + string(content)
		if info.Mode()&0o100 != 0 {
			found[path] = "exec " + string(content)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// archived is what git has on the branch, as it is stored.
func (p *place) archived(pathspecs ...string) tree {
	p.t.Helper()
	found := tree{}
	in := tar.NewReader(
		bytes.NewReader(p.repo.Archive(append([]string{"--format=tar", "--worktree-attributes", "main", "--"},
			pathspecs...)...)))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			p.t.Fatal(err)
		}
		switch path := strings.TrimSuffix(h.Name, "/"); h.Typeflag {
		case tar.TypeReg:
			found[path] = "file " + string(content)
			if h.Mode&0o100 != 0 {
				found[path] = "exec " + string(content)
			}
		case tar.TypeSymlink:
			found[path] = "link " + h.Linkname
		case tar.TypeDir:
			found[path] = "dir"
		}
	}
	for path := range found { // folders are seen by what is in them
		for at := filepath.Dir(path); at != "."; at = filepath.Dir(at) {
			if found[at] == "dir" {
				delete(found, at)
			}
		}
	}
	return found
}

// differences are the paths at which two trees differ, at most ten.
func differences(got, want tree) (paths []string) {
	for path := range want {
		if got[path] != want[path] {
			paths = append(paths, fmt.Sprintf("%s: %.30q, want %.30q", path, got[path], want[path]))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			paths = append(paths, fmt.Sprintf("%s: %.30q, want nothing", path, got[path]))
		}
	}
	return paths[:min(len(paths), 10)]
}
