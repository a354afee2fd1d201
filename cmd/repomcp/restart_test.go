package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/cli"
)

// breaking serves a download that is cut, or altered, the first times.
func breaking(t *testing.T, content string, times int, reply func(w http.ResponseWriter, n int)) (
	url string, asked *int,
) {
	t.Helper()
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			reply(w, *asked+1) // the bytes are those of the next download by now
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write([]byte(content))
			return
		}
		*asked++
		reply(w, *asked)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if *asked <= times {
			_, _ = w.Write([]byte(content[:len(content)/2]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/x.bin", asked
}

// Nothing of a file that has no name yet was handed out: it may begin anew.
func TestGetBeginsAnew(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("content\n", 10_000)
	for name, c := range map[string]struct {
		times int
		reply func(w http.ResponseWriter, n int)
		flags []string
		code  int
	}{
		"no ETag":       {1, func(http.ResponseWriter, int) {}, nil, cli.ExitOK},
		"twice":         {2, func(http.ResponseWriter, int) {}, nil, cli.ExitOK},
		"three times":   {3, func(http.ResponseWriter, int) {}, nil, cli.ExitNetwork},
		"not at all":    {1, func(http.ResponseWriter, int) {}, []string{"--retries", "0"}, cli.ExitNetwork},
		"with --resume": {1, func(http.ResponseWriter, int) {}, []string{"--resume"}, cli.ExitOK},
		"another ETag": {1, func(w http.ResponseWriter, n int) {
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
		}, nil, cli.ExitOK},
		"a weak ETag": {1, func(w http.ResponseWriter, _ int) { w.Header().Set("ETag", `W/"1"`) }, nil, cli.ExitOK},
		"another digest": {0, func(w http.ResponseWriter, n int) {
			if n == 1 {
				w.Header().Set("Repr-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:")
			}
		}, nil, cli.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked := breaking(t, content, c.times, c.reply)
			output := filepath.Join(t.TempDir(), "out")
			code, _, stderr := command(t, append([]string{"get", url, "-o", output}, c.flags...)...)
			got, err := os.ReadFile(output)
			if code != c.code || code == cli.ExitOK && string(got) != content ||
				code != cli.ExitOK && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after %d downloads %d: %d bytes, %s", *asked, code, len(got), stderr)
			}
			if code == cli.ExitOK && !strings.Contains(stderr, "the download begins anew") {
				t.Errorf("it says %s", stderr)
			}
		})
	}
	url, _ := breaking(t, content, 1, func(http.ResponseWriter, int) {})
	if code, stdout, _ := command(t, "cat", url); code != cli.ExitNetwork {
		t.Errorf("cat, which cannot take back what it printed, ends with %d after %d bytes", code, len(stdout))
	}
}

// A step that is refused says which rule refuses it, and what to pass.
func TestRefusedStepsSayWhy(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("http://archives.example:81/secret", http.StatusFound))
	t.Cleanup(server.Close)
	code, _, stderr := command(t, "get", server.URL+"/x.bin", "-o", filepath.Join(t.TempDir(), "out"))
	if want := "repomcp: " + server.URL + ": the server leads to another origin; pass --origin " +
		"http://archives.example:81 if its downloads may come from there\n"; code != cli.ExitRefused || stderr != want {
		t.Errorf("%d, %q, want %q", code, stderr, want)
	}
}

// What nothing proves to be whole is no file, and no success.
func TestWhatIsNotVerifiedFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // or net/http tells the length
		_, _ = w.Write([]byte("content\n"))
	}))
	t.Cleanup(server.Close)
	code, stdout, stderr := command(t, "cat", server.URL+"/x.txt")
	if code != cli.ExitDamaged || stdout != "content\n" || !strings.Contains(stderr, "nothing tells whether the download is") {
		t.Errorf("cat ends with %d: %q, %s", code, stdout, stderr)
	}
	output := filepath.Join(t.TempDir(), "out")
	code, _, stderr = command(t, "get", server.URL+"/x.txt", "-o", output)
	if _, err := os.Stat(output); code != cli.ExitDamaged || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get ends with %d: %v, %s", code, err, stderr)
	}
}
