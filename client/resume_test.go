package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// isDownload says whether a reply has bytes of a resource: others are messages.
func isDownload(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "resources/stream"
}

// TestBrokenDownloadsGoOn cuts replies at many places, in every delivery, with two
// replicas that answer in turn.
func TestBrokenDownloadsGoOn(t *testing.T) {
	gittest.Long(t)
	for _, delivery := range deliveries {
		for _, format := range []string{"tar", "tar.gz"} {
			t.Run(delivery+" "+format, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, delivery, 2)
				want := s.whole("/archive/team/app/main." + format)
				if delivery == "redirect" {
					s.options.HTTP = &http.Client{Transport: &breaking{inner: s.client.Transport,
						storage: s.storage.URL, proxy: s.proxy}}
				}
				size := int64(len(want))
				for _, cut := range []int64{1, 2, 100, 4096, size / 3, size - 1, size} {
					broken := 0
					s.fail(func(_ int, r *http.Request) fault {
						if !isDownload(r) || broken == 3 {
							return fault{}
						}
						broken++
						return fault{cut: cut}
					})
					var told atomic.Int64
					s.options.Retrying = func(error) { told.Add(1) }
					got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main."+format))
					if err != nil || !bytes.Equal(got, want) {
						t.Fatalf("cut after %d: %d bytes of %d, %v", cut, len(got), size, err)
					}
					heard, sent := s.what()
					// A part overlaps by a byte. Messages are not counted exactly.
					if sent > size+3+10_000 {
						t.Errorf("cut after %d: %d bytes were sent of %d: %q", cut, sent, size, heard)
					}
					if delivery == "direct" && cut < size/4 && told.Load() != 3 {
						t.Errorf("cut after %d: %d failures were told of: %q", cut, told.Load(), heard)
					}
				}
			})
		}
	}
}

// breaking does to replies of a storage what a proxy does to those of its servers.
type breaking struct {
	inner   http.RoundTripper
	storage string
	proxy   *proxy
}

func (b *breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := b.inner.RoundTrip(r)
	if err != nil || !strings.HasPrefix(r.URL.String(), b.storage) {
		return reply, err
	}
	b.proxy.mu.Lock()
	f := fault{}
	if b.proxy.plan != nil {
		f = b.proxy.plan(0, r)
	}
	count := b.proxy.bytes
	b.proxy.mu.Unlock()
	if f.status != 0 {
		reply.StatusCode = f.status
	}
	reply.Body = &faulty{ReadCloser: reply.Body, fault: f, proxy: b.proxy, count: count, ctx: r.Context()}
	return reply, nil
}

// TestAStorageForgetsAddresses: they are good for a minute. Then the server is
// asked for another.
func TestAStorageForgetsAddresses(t *testing.T) {
	s := newSite(t, "redirect", 1)
	want := s.whole("/archive/team/app/main.tar.gz")
	s.options.HTTP = &http.Client{Transport: &breaking{inner: s.client.Transport, storage: s.storage.URL,
		proxy: s.proxy}}
	asked := 0
	s.fail(func(_ int, r *http.Request) fault {
		if !strings.HasPrefix("http://"+r.URL.Host, s.storage.URL) {
			return fault{}
		}
		asked++
		return []fault{{}, {cut: 100_000}, {status: 403}, {cut: 100_000}, {status: 403}, {}}[min(asked, 5)]
	})
	got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main.tar.gz"))
	if heard, sent := s.what(); err != nil || !bytes.Equal(got, want) || asked != 5 || sent > int64(len(want))+10_000 {
		t.Errorf("%d bytes of %d, %v, %d sent after %d: %q", len(got), len(want), err, sent, asked, heard)
	}
}

// TestFaultsPass has replies fail in another way each, two in a row.
func TestFaultsPass(t *testing.T) {
	gittest.Long(t)
	const enough = 70_000 // so that there are more requests
	for name, f := range map[string]fault{
		"502": {status: 502}, "503": {status: 503}, "504": {status: 504}, "429": {status: 429},
		"refused": {refuse: true}, "slow": {delay: 50 * time.Millisecond, cut: enough}, "cut at once": {cut: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "direct", 2)
			want := s.whole("/archive/team/app/main.tar")
			for first := range 3 {
				failed := 0
				s.fail(func(n int, _ *http.Request) fault {
					if n < first || failed == 2 {
						return fault{cut: enough}
					}
					failed++
					return f
				})
				got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main.tar"))
				if err != nil || !bytes.Equal(got, want) || failed != 2 {
					heard, _ := s.what()
					t.Errorf("from request %d: %d bytes, %v after %d; %q", first, len(got), err, failed, heard)
				}
			}
		})
	}
}

// TestPlainRoutesMayBeMissing: then resources/stream is asked again, and what is
// there of its bytes is passed over.
func TestPlainRoutesMayBeMissing(t *testing.T) {
	for _, delivery := range deliveries[:2] {
		s := newSite(t, delivery, 2)
		want := s.whole("/archive/team/app/main.tar.gz")
		commit := s.repo.Git("rev-parse", "main")
		broken := 0
		s.fail(func(_ int, r *http.Request) fault {
			switch {
			case strings.HasPrefix(r.URL.Path, "/archive/"):
				return fault{status: 404}
			case !isDownload(r) || broken == 3:
				return fault{}
			}
			if broken++; broken == 2 { // what follows is by the commit
				s.repo.Commit("main", gittest.Regular("README.md", "# new\n"))
			}
			return fault{cut: int64(broken) * 50_000}
		})
		got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main.tar.gz"))
		if heard, _ := s.what(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %s: %d bytes of %d, %v; %q", delivery, commit, len(got), len(want), err, heard)
		}
	}
}

// TestABranchThatMovesMeanwhile does not change a download that has begun.
func TestABranchThatMovesMeanwhile(t *testing.T) {
	s := newSite(t, "direct", 1)
	want := s.whole("/archive/team/app/main.tar")
	open := map[string]func() (*client.Download, error){
		"resources/stream": func() (*client.Download, error) {
			return s.connect("").Stream(t.Context(), "repo://team/app/archive/main.tar")
		},
		"plain": func() (*client.Download, error) {
			return client.Open(t.Context(), s.url+"/archive/team/app/main.tar", s.options)
		},
	}
	for name, open := range open {
		s.repo.Git("update-ref", "refs/heads/first", "main")
		s.fail(func(_ int, r *http.Request) fault { return fault{cut: map[bool]int64{true: 100_000}[isDownload(r)]} })
		d, err := open()
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := io.CopyN(&got, d, 1000); err != nil {
			t.Fatal(err)
		}
		s.repo.Commit("main", gittest.Regular("README.md", "# "+name+"\n"))
		if _, err := io.Copy(&got, d); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %d bytes of %d, %v", name, got.Len(), len(want), err)
		}
		_ = d.Close()
		s.repo.Git("update-ref", "refs/heads/main", "refs/heads/first")
	}
}

// TestAddressesStandForServers: a plain download and a link are gone on with, too.
func TestAddressesStandForServers(t *testing.T) {
	s := newSite(t, "downloadUrl", 2)
	want := s.whole("/archive/team/app/main.tar.gz")
	file := []byte(gittest.Noise(300_000))
	link := func(uri string) string {
		s.fail(nil)
		return linkOf(t, s, uri)
	}
	for address, want := range map[string][]byte{
		s.url + "/archive/team/app/main.tar.gz": want, s.url + "/raw/team/app/main/src/noise": file,
		s.url + "/raw/team/app/main/src/empty":      {},
		link("repo://team/app/archive/main.tar.gz"): want, link("repo://team/app/contents/src/noise"): file,
	} {
		broken := 0
		s.fail(func(int, *http.Request) fault {
			if broken++; broken > 3 {
				return fault{}
			}
			return fault{cut: 70_000}
		})
		got, err := readAll(client.Open(t.Context(), address, s.options))
		heard, sent := s.what()
		if err != nil || !bytes.Equal(got, want) || sent > int64(len(want))+10 {
			t.Errorf("%s: %d bytes of %d, %v, %d sent: %q", address[len(s.url):][:5], len(got), len(want), err, sent,
				heard)
		}
	}
	s.fail(nil)
	var refused *client.Error
	for address, status := range map[string]int{"/archive/team/app/none.tar": 404, "/dl/none": 404,
		"/archive/team/app/main.rar": 404} {
		if _, err := client.Open(t.Context(), s.url+address, s.options); !errors.As(err, &refused) ||
			refused.Status != status || strings.Contains(err.Error(), "/dl/") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := client.Open(t.Context(), "archive.tar", client.Options{}); err == nil {
		t.Error("a file is downloaded")
	}
}

// linkOf is a link for one download.
func linkOf(t *testing.T, s *site, uri string) string {
	t.Helper()
	// The client's errors contain no links; those of a refused redirect contain its origin.
	seen := make(chan string, 1)
	o := s.options
	o.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			seen <- r.URL.String()
			return nil, errors.New("not followed")
		}
		return s.client.Transport.RoundTrip(r)
	})}
	o.Retries = -1
	c, err := client.New(s.url+"/mcp", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(t.Context(), uri); !errors.Is(err, client.ErrNetwork) {
		t.Fatal(err)
	}
	return <-seen
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestGivingUp counts the attempts, and says what kept them.
func TestGivingUp(t *testing.T) {
	s := newSite(t, "direct", 1)
	for name, f := range map[string]fault{"503": {status: 503}, "refused": {refuse: true}} {
		for retries, want := range map[int]int{-1: 1, 2: 3} {
			s.fail(func(int, *http.Request) fault { return f })
			o := s.options
			o.Retries = retries
			c, err := client.New(s.url+"/mcp", o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Stream(t.Context(), "repo://team/app/archive/main.tar")
			var refused *client.Error
			if errors.As(err, &refused) != (name == "503") || errors.Is(err, client.ErrNetwork) != (name == "refused") {
				t.Errorf("%s: %v", name, err)
			}
			if heard, _ := s.what(); len(heard) != want {
				t.Errorf("%s with %d retries: %q", name, retries, heard)
			}
		}
	}
	// What waits for another attempt ends with its context.
	ctx, cancel := context.WithCancel(t.Context())
	o := s.options
	o.Retrying = func(error) { cancel() }
	c, err := client.New(s.url+"/mcp", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stream(ctx, "repo://team/app/archive/main.tar"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStalledDownloadsGoOn: a connection that gives nothing counts as broken.
func TestStalledDownloadsGoOn(t *testing.T) {
	s := newSite(t, "direct", 1)
	want := s.whole("/archive/team/app/main.tar")
	stalled := false
	s.fail(func(_ int, r *http.Request) fault {
		if !isDownload(r) || stalled {
			return fault{}
		}
		stalled = true
		return fault{cut: 100_000, stall: true}
	})
	c := s.connect("")
	client.SetPatience(c, 200*time.Millisecond)
	got, err := readAll(c.Stream(t.Context(), "repo://team/app/archive/main.tar"))
	if heard, _ := s.what(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v; %q", len(got), len(want), err, heard)
	}
}

// TestSilentServersAreLeft: also one that takes a request and says nothing at all.
func TestSilentServersAreLeft(t *testing.T) {
	s := newSite(t, "direct", 1)
	s.options.Idle, s.options.Retries = 100*time.Millisecond, 1
	s.fail(func(int, *http.Request) fault { return fault{delay: time.Second} })
	c, err := client.New(s.url+"/mcp", s.options)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err = c.Stream(t.Context(), "repo://team/app/archive/main.tar")
	if !errors.Is(err, client.ErrNetwork) || !strings.Contains(err.Error(), "nothing came for too long") {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
	if _, err := client.New(s.url, client.Options{Idle: -1}); err == nil {
		t.Error("a negative time is taken")
	}
}

// TestDownloadsAreNotHeld bounds the memory of a long download.
func TestDownloadsAreNotHeld(t *testing.T) {
	const size = 64 << 20
	piece := bytes.Repeat([]byte("x"), 1<<16)
	server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		for range size / len(piece) {
			_, _ = w.Write(piece)
		}
	})
	d, err := newClient(t, server).Stream(t.Context(), "repo://one/archive/main.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	before := allocated()
	if n, err := io.Copy(io.Discard, d); n != size || !errors.Is(err, client.ErrNotVerified) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if grown := allocated() - before; grown > 4<<20 { // of server and client
		t.Error(fmt.Sprint(grown, " bytes were allocated"))
	}
}
