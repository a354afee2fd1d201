package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// nginxConfig is a minimal configuration of a proxy in front of a server.
const nginxConfig = `daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path %[1]s/body;
    proxy_temp_path %[1]s/proxy;
    fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi;
    scgi_temp_path %[1]s/scgi;
    server {
        listen %[2]s;
        location / { %[4]s proxy_pass http://%[3]s; }
    }
}
`

// nginx with a plain proxy_pass names the server's own address as Host and adds no header. A client behind it
// gets no link to its own machine, and the operator is told once what to set.
func TestNoLinksBehindAPlainNginx(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nginx")
	}
	t.Parallel()
	path := programs(t, "nginx")
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "one.git")).Commit("main", gittest.Regular("a", "1"))
	for name, settings := range map[string]string{
		"HTTP/1.0": "", "HTTP/1.1": "proxy_http_version 1.1;",
	} {
		t.Run(name, func(t *testing.T) {
			address, front, dir := freeAddress(t), freeAddress(t), t.TempDir()
			behind := launch(t, address, func() *exec.Cmd {
				return exec.Command(program(t), "serve", "--root", root, "--listen", address)
			})
			config := filepath.Join(dir, "nginx.conf")
			content := fmt.Sprintf(nginxConfig, dir, front, address, settings)
			if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			launch(t, front, func() *exec.Cmd { return exec.Command(path["nginx"], "-c", config, "-e", "stderr") })
			asks := func(base, method, uri string, meta map[string]any) string {
				response, err := http.DefaultClient.Do(mcpRequest(t, base, method, uri, meta))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = response.Body.Close() }()
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(body)
			}
			wish := map[string]any{"io.github.repomcp/delivery": "downloadUrl"}
			if direct := asks("http://"+address, "resources/stream", "repo://one/archive/main.tar",
				wish); !strings.Contains(direct, `"downloadUrl":"http://`+address+"/dl/") {
				t.Errorf("without a proxy: %s", direct)
			}
			for range 2 {
				refused := asks("http://"+front, "resources/stream", "repo://one/archive/main.tar", wish)
				list := asks("http://"+front, "resources/list", "", nil)
				if !strings.Contains(refused, "-32003") || !strings.Contains(list, "repo://one/archive/") ||
					strings.Contains(refused+list, "/dl/") {
					t.Errorf("behind nginx: %s\n%s", refused, list)
				}
			}
			log, err := os.ReadFile(behind.log)
			if err != nil || strings.Count(string(log), "set --public-url") != 1 {
				t.Errorf("%v, the log:\n%s", err, log)
			}
		})
	}
}
