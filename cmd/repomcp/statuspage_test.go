package main

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/repomcp/repomcp/internal/gittest"
)

// browser is Chromium, without a window, and with a profile in which pages may not run
// scripts.
type browser struct{ program, profile string }

const noScripts = `{"profile": {"default_content_setting_values": {"javascript": 2}}}`

func newBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing: the status page is not looked at by a browser")
	}
	b := &browser{program, t.TempDir()}
	if err := os.Mkdir(filepath.Join(b.profile, "Default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.profile, "Default", "Preferences"), []byte(noScripts), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// open opens an address, and returns what it prints, and all that its
// console and its log say of the page.
func (b *browser) open(t *testing.T, url string, flags ...string) (printed []byte, complaints []string) {
	t.Helper()
	command := exec.CommandContext(within(t), b.program, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--user-data-dir=" +
			b.profile,
		"--enable-logging=stderr", "--log-level=0",
	}, append(flags, url)...)...)
	// What it leaves behind has its output open.
	command.WaitDelay = 5 * time.Second
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, log.Bytes())
	}
	return out.Bytes(), consoleLine.FindAllString(log.String(), -1)
}

var consoleLine = regexp.MustCompile(`(?m)^.*(?:CONSOLE|Content Security Policy|net_error).*$`)

// A browser shows the whole page without a complaint.
func TestTheStatusPageInABrowser(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	b := newBrowser(t)
	root := t.TempDir()
	names := gittest.Crowd(t, root, 60)
	hostile := gittest.At(t, filepath.Join(root, "hostile.git"))
	hostile.Commit("main", gittest.Regular("f", "1\n"))
	const description = `<script>document.title='owned'</script><img src=/x onerror=alert(1)><style>*{color:red}</style>`
	if err := os.WriteFile(filepath.Join(hostile.Dir, "description"), []byte(description), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, root)
	printed, complaints := b.open(t, p.url+"/?page=2", "--dump-dom")
	if len(complaints) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(complaints, "\n"))
	}
	page, err := html.Parse(bytes.NewReader(printed))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{}
	var described, title string
	for n := range page.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		shown[n.Data]++
		if n.Data == "title" {
			title = n.FirstChild.Data
		}
		if n.Data == "bdi" && strings.HasPrefix(n.FirstChild.Data, "<script>") {
			described = n.FirstChild.Data
		}
	}
	if shown["tr"] != 1+len(names)+1-50 || shown["script"]+shown["img"] > 0 || shown["style"] != 1 ||
		title != "repomcp" ||
		described != description {
		t.Errorf("%v, title %q, description %q", shown, title, described)
	}
	for _, size := range []string{"1280,900", "390,844"} {
		for _, scheme := range []string{"light", "dark"} {
			picture := filepath.Join(t.TempDir(), "page.png")
			flags := []string{"--window-size=" + size, "--force-device-scale-factor=1", "--screenshot=" + picture}
			if scheme == "dark" {
				flags = append(flags, "--force-dark-mode")
			}
			if _, complaints := b.open(t, p.url, flags...); len(complaints) > 0 {
				t.Errorf("%s: %s", size, strings.Join(complaints, "\n"))
			}
			checkPicture(t, picture, size, scheme)
		}
	}
}

// checkPicture looks whether the style is used: the corner has the background of the
// scheme, and something is drawn on it that does not reach beyond the right edge.
func checkPicture(t *testing.T, name, size, scheme string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	bounds := picture.Bounds()
	back, drawn := picture.At(0, 0), 0
	for y := range bounds.Dy() {
		if picture.At(bounds.Dx()-1, y) != back {
			t.Fatalf("%s %s: something reaches the right edge at line %d", size, scheme, y)
		}
		for x := range bounds.Dx() {
			if picture.At(x, y) != back {
				drawn++
			}
		}
	}
	red, _, _, _ := back.RGBA()
	if got := fmt.Sprintf("%d,%d", bounds.Dx(), bounds.Dy()); got != size || (red > 0x8000) != (scheme == "light") ||
		drawn < 5000 {
		t.Errorf("%s %s: a picture of %s on %v with %d dots", size, scheme, got, back, drawn)
	}
}

// The complaints that the test above does not hear would be heard, and scripts do not
// run.
func TestTheBrowserComplains(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	b := newBrowser(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-AAAA'")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>x</title><style>b{}</style><img src=/x>")
	}))
	defer server.Close()
	if _, complaints := b.open(t, server.URL, "--dump-dom"); len(complaints) < 2 {
		t.Errorf("it complains of %q, want a style and an image that the policy forbids", complaints)
	}
	running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>x</title><script>document.title='ran'</script>")
	}))
	defer running.Close()
	if printed, _ := b.open(t, running.URL, "--dump-dom"); !bytes.Contains(printed, []byte("<title>x</title>")) {
		t.Errorf("it runs scripts: %s", printed)
	}
}

func TestTheStatusPageIsForBrowsersAlone(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	root := t.TempDir()
	gittest.Crowd(t, root, 3)
	p := start(t, root, "--public-url", "https://git.example.com/")
	ask := func(method, accept string) (http.Header, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, p.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			request.Header.Set("Accept", accept)
		}
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }() // it was only read
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s with %q: %s, %v", method, accept, response.Status, err)
		}
		return response.Header, string(body)
	}
	const firefox = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for accept, markup := range map[string]bool{
		"": false, "*/*": false, "text/*": false, "text/plain": false, "application/json": false,
		"text/html;q=0, */*": false,
		firefox:              true, "text/html": true,
	} {
		header, body := ask(http.MethodGet, accept)
		if got := strings.HasPrefix(body, "<!DOCTYPE html>"); got != markup || header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q: %v, %.40q", accept, header, body)
		}
		head, nothing := ask(http.MethodHead, accept)
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Security-Policy", "Cache-Control"} {
			if head.Get(name) != header.Get(name) {
				t.Errorf("Accept %q: HEAD has %s %q, GET %q", accept, name, head.Get(name), header.Get(name))
			}
		}
		if nothing != "" {
			t.Errorf("HEAD has a body of %d bytes", len(nothing))
		}
	}
	header, body := ask(http.MethodGet, firefox)
	for name, want := range map[string]string{
		"X-Content-Type-Options": "^nosniff$", "Referrer-Policy": "^no-referrer$", "Cache-Control": "^no-store$",
		"Content-Security-Policy": "^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; form-action 'self'; " +
			"base-uri 'none'; frame-ancestors 'none'$",
	} {
		if !regexp.MustCompile(want).MatchString(header.Get(name)) {
			t.Errorf("%s is %q", name, header.Get(name))
		}
	}
	for _, wanted := range []string{
		"<code class=\"endpoint\">https://git.example.com/mcp</code>",
		`href="https://git.example.com/archive/group-00/team-0/project-00000/HEAD.tar.gz"`,
	} {
		if !strings.Contains(body, wanted) {
			t.Errorf("the page does not have %s", wanted)
		}
	}
	// The addresses lead somewhere.
	followed := 0
	for _, match := range regexp.MustCompile(`href="https://git\.example\.com([^"]+)"`).FindAllStringSubmatch(body,
		-1) {
		if status, content := p.get(t, p.url+html.UnescapeString(match[1])); status != http.StatusOK || content == "" {
			t.Errorf("%s: %d", match[1], status)
		}
		followed++
	}
	if followed != 3*4+1 {
		t.Errorf("%d addresses were followed", followed)
	}
}
