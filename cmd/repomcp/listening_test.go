package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/logtest"
)

// launchWith starts the program by a shell that sets variables, with files that it
// inherits.
func launchWith(t *testing.T, settings string, files []*os.File, flags ...string) (p *process, said *logtest.Log) {
	t.Helper()
	p, said = &process{tb: t, done: make(chan error, 1)}, &logtest.Log{}
	p.cmd = exec.Command("sh", append([]string{"-c", settings + ` exec "$0" "$@"`, program(t), "serve", "--root",
		"../../testrepos"}, flags...)...)
	p.cmd.Stderr, p.cmd.ExtraFiles = said, files
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
	return p, said
}

// stop ends the program, cleanly.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// through is a client whose connections are all to one place.
func through(network, address string, secure *tls.Config) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: secure,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
}

func TestAUnixSocketIsServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 2 { // the second finds what a process left that was killed
		p, said := launchWith(t, "", nil, "--listen", "unix:"+path)
		said.Await(t, "listening on unix:"+path)
		if code, said := healthcheck(t, nil, "--listen", "unix:"+path); code != cli.ExitOK {
			t.Errorf("the health over the socket: %d %s", code, said)
		}
		p.client = through("unix", path, nil)
		if status, text := p.get(t, "http://localhost/repositories"); status != http.StatusOK ||
			!strings.Contains(text, "repositories") {
			t.Errorf("%d %s", status, text)
		}
		second, told := launchWith(t, "", nil, "--listen", "unix:"+path)
		if err := <-second.done; err == nil || !strings.Contains(told.String(), "another process listens there") {
			t.Errorf("a second server: %v, %s", err, told)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-p.done; err == nil {
			t.Error("a server that was killed ended as if it was not")
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := launchWith(t, "", nil, "--listen", "unix:"+file)
	if err := <-p.done; err == nil {
		t.Error("a file was listened at")
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "mine" {
		t.Errorf("the file is %q, %v", content, err)
	}
}

func TestSystemdPassesSocketsAndIsTold(t *testing.T) {
	var files []*os.File
	var addresses []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := listener.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = errors.Join(file.Close(), listener.Close()) }() // the server has its own
		files, addresses = append(files, file), append(addresses, listener.Addr().String())
	}
	told := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: told, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	heard := func() string {
		t.Helper()
		if err := manager.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 1000)
		n, err := manager.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
	p, _ := launchWith(t, "export LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=clients:admin NOTIFY_SOCKET="+told+";",
		files, "--listen", "192.0.2.1:1")
	if state := heard(); state != "READY=1" {
		t.Errorf("at first: %q", state)
	}
	p.client = http.DefaultClient
	for url, want := range map[string]string{
		"http://" + addresses[0] + "/repositories": `"name"`, "http://" + addresses[1] +
			"/readyz?verbose": "never fetched",
	} {
		if status, text := p.get(t, url); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.200s", url, status, text)
		}
	}
	p.stop(t)
	if state := heard(); state != "STOPPING=1" {
		t.Errorf("at the end: %q", state)
	}
}

// issue writes a certificate for localhost, signed by itself, and returns it.
func issue(t *testing.T, certFile, keyFile string, number int64) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert},
		keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}

func TestHTTPSWithCertificatesThatChange(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, config := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "config")
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(config, "log-level: info\n")
	first := issue(t, certFile, keyFile, 1)
	p, said := launchWith(t, "", nil, "--listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile,
		"--config", config)
	address := said.Await(t, `listening on https://(\S+),`)[1]
	if code, told := healthcheck(t, nil, "--listen", address, "--tls-cert", certFile); code != cli.ExitOK {
		t.Errorf("the health over HTTPS: %d %s", code, told)
	}
	get := func(cert []byte) error {
		t.Helper()
		parsed, err := x509.ParseCertificate(cert)
		if err != nil {
			t.Fatal(err)
		}
		trusted := x509.NewCertPool()
		trusted.AddCert(parsed)
		response, err := through("tcp", address, &tls.Config{RootCAs: trusted, ServerName: "localhost"}).Get(
			"https://localhost/raw/hello/main/README.md")
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || len(body) == 0 || response.ProtoMajor != 1 {
			t.Errorf("%s %s: %q, %v", response.Proto, response.Status, body, err)
		}
		return response.Body.Close()
	}
	if err := get(first); err != nil {
		t.Error(err)
	}
	hangup := func(lines string) {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		said.Await(t, lines)
	}
	second := issue(t, certFile, keyFile, 2)
	write(config, "log-level: debug\n")
	hangup(`read again" what=certificate`)
	if get(second) != nil || get(first) == nil {
		t.Error("the certificate is not the second")
	}
	write(certFile, "no certificate")
	write(config, "log-level: loud\n")
	hangup(`(?s)level=ERROR .*what="log level".*level=ERROR .*what=certificate`)
	if err := get(second); err != nil {
		t.Errorf("after one that cannot be read: %v", err)
	}
	write(config, "log-level: error\n")
	said.Await(t, `(?s)(level=INFO msg=request [^\n]*/raw/hello.*){3}`) // they come after the replies
	before := len(said.String())
	hangup(`(?s)(what=certificate.*){3}`)
	_ = get(second)
	p.stop(t)
	if after := said.String()[before:]; strings.Contains(after, "level=INFO msg=request") ||
		!bytes.Contains([]byte(said.String()), []byte("level=INFO msg=request")) {
		t.Errorf("the level of the log is not error:\n%s", after)
	}
}
