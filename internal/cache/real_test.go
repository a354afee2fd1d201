package cache

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// installed gives the path of a program, or nothing: under -short none is used.
func installed(name string) string {
	path, err := exec.LookPath(name)
	if err != nil || testing.Short() {
		return ""
	}
	return path
}

// process is a server that a test started; it alone is ended.
type process struct {
	cmd     *exec.Cmd
	address string
	stopped atomic.Bool
}

// start runs a server and waits until it accepts connections.
func start(t *testing.T, address, name string, arguments ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, arguments...), address: address}
	p.cmd.Dir = t.TempDir()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.stopped.Swap(true) {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	if err := gittest.WaitForListener(address); err != nil {
		t.Fatalf("%s does not listen: %v", name, err)
	}
	return p
}

// stop freezes the process: it accepts and does not answer.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
}

// gateway is a real S3 server over a folder.
type gateway struct {
	*process
	dir string
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	path := installed("versitygw")
	if path == "" {
		t.Skip("ABSENT: versitygw, no real S3 server was tested")
	}
	dir, address := t.TempDir(), refusing(t)
	p := start(t, address, path, "--access", "key", "--secret", "secret", "--port", address, "--quiet", "posix", dir)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	if err := os.Mkdir(filepath.Join(dir, "archives"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &gateway{p, dir}
}

func (g *gateway) bucket(t *testing.T) Bucket {
	t.Helper()
	return gatewayBucket(t, "http://"+g.address)
}

func gatewayBucket(t *testing.T, endpoint string) Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	b, err := OpenBucket(t.Context(), "s3://archives?region=us-east-1&use_path_style=true&endpoint="+
		url.QueryEscape(endpoint))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestARealRedirect(t *testing.T) {
	g := newGateway(t)
	b := g.bucket(t)
	defer func() { _ = b.Close() }()
	s := &source{bytes: content(1, partBytes+chunkBytes)}
	o := NewObjects(b, b)
	c := testCache(t, Options{Objects: o, Disk: testDisk(t, t.TempDir(), 1<<30)})
	mustRead(t, c, KeyOf("x"), s)
	idle(c)
	e, err := testCache(t, Options{Objects: o}).Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	address, err := e.Redirect(t.Context(), "x-main.tar")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host != g.address || u.Query().Get("X-Amz-Expires") != "60" {
		t.Errorf("%s and %v", address, err)
	}
	status, header, got := load(t, address)
	if status != http.StatusOK || got != string(s.bytes) || header.Get("Content-Type") != media ||
		header.Get("Content-Disposition") != "attachment; filename=x-main.tar" {
		t.Errorf("status %d, %v, %d bytes", status, header, len(got))
	}
	other := strings.Replace(address, KeyOf("x").String(), KeyOf("y").String(), 1)
	forged := strings.Replace(address, "X-Amz-Expires=60", "X-Amz-Expires=61", 1)
	for _, bad := range []string{other, forged, strings.SplitN(address, "?", 2)[0], address[:len(address)-1] + "x"} {
		if status, _, _ := load(t, bad); status != http.StatusForbidden && status != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, status)
		}
	}
	curl := installed("curl")
	if curl == "" {
		t.Log("ABSENT: curl")
		return
	}
	out, err := exec.CommandContext(t.Context(), curl, "-fsS", address).Output()
	if err != nil || string(out) != string(s.bytes) {
		t.Errorf("curl gives %d bytes and %v", len(out), err)
	}
}

func load(t *testing.T, address string) (int, http.Header, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header, string(body)
}

// What an aborted multipart upload leaves is no object, and no parts either as
// long as the service answers.
func TestAnAbortedMultipartUpload(t *testing.T) {
	g := newGateway(t)
	b := g.bucket(t)
	defer func() { _ = b.Close() }()
	const size = 4 * partBytes
	gate := newGate(size - pieceBytes)
	c := testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30), Objects: NewObjects(b, nil)})
	e, err := c.Get(t.Context(), KeyOf("x"), media, (&source{bytes: content(1, size), before: gate.wait}).build,
		unreserved)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.WriteRange(t.Context(), io.Discard, 0, size-2*pieceBytes); err != nil {
		t.Fatal(err)
	}
	uploads := func() int {
		list, err := b.(*s3Bucket).client.ListMultipartUploads(t.Context(), "archives", "", "", "", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Uploads)
	}
	gittest.Await(t, "an upload begins", func() bool { return uploads() > 0 })
	e.Close()
	idle(c)
	if list := names(t, b); len(list) != 0 {
		t.Errorf("there are %v", list)
	}
	if n := uploads(); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}
