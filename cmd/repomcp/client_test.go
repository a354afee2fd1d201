package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestClientDownloadsInEveryMode compares what the client gets of the real
// program with git's archive.
func TestClientDownloadsInEveryMode(t *testing.T) {
	cmd := exec.Command("git", "-C", "../../testrepos/hello.git", "-c", "tar.umask=0002", "archive", "--format=tar",
		"main")
	cmd.Env = gittest.Env()
	want, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, delivery := range []string{"direct", "url"} {
		address := freeAddress(t)
		p := start(t, "../../testrepos", "--listen", address, "--public-url", "http://"+address, "--delivery", delivery)
		transport := &http.Transport{}
		c, err := client.New(p.url+"/mcp", client.Options{HTTP: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Stream(t.Context(), "repo://hello/archive/main.tar")
		if err != nil {
			t.Fatalf("%s: %v", delivery, err)
		}
		got, err := io.ReadAll(d)
		if err != nil || !bytes.Equal(got, want) || d.Size != -1 && d.Size != int64(len(want)) ||
			d.MIMEType != "application/x-tar" ||
			d.URI != "repo://hello/archive/3ff53e025c901ee7c1c5ff8497c213584a8b4958.tar" {
			t.Errorf("%s: %d bytes of %d, %v; %+v", delivery, len(got), len(want), err, d)
		}
		var refused *client.Error
		if _, err := c.Stream(t.Context(), "repo://nobody/archive/main.tar"); !errors.As(err, &refused) ||
			refused.Code != -32602 {
			t.Errorf("%s: an unknown repository gives %v", delivery, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	}
}
