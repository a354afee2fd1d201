package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client"
)

// TestPartsGoOn: what an earlier process has is not sent again.
func TestPartsGoOn(t *testing.T) {
	s := newSite(t, "direct", 2)
	for _, format := range []string{"tar", "tar.gz"} {
		uri := "repo://team/app/archive/main." + format
		c := s.connect("")
		d, err := c.Stream(t.Context(), uri)
		want, err := readAll(d, err)
		if err != nil {
			t.Fatal(err)
		}
		rest := map[string]func(client.Part) (*client.Download, error){
			"resources/stream": func(have client.Part) (*client.Download, error) {
				return c.StreamRest(t.Context(), uri,
					have)
			},
			"plain": func(have client.Part) (*client.Download, error) {
				return client.OpenRest(t.Context(), s.url+"/archive/team/app/main."+format, have, s.options)
			},
		}
		for name, rest := range rest {
			for _, there := range []int{0, 1, 1000, len(want) - 1, len(want)} {
				s.fail(nil)
				got, err := readAll(rest(client.Part{ETag: d.ETag, Content: bytes.NewReader(want[:there])}))
				if _, sent := s.what(); err != nil || !bytes.Equal(got, want[there:]) ||
					sent > int64(len(want)-there+1) && there > 0 {
					t.Errorf("%s of %s behind %d: %d bytes of %d, %v, %d sent", name, format, there, len(got),
						len(want)-there, err, sent)
				}
			}
			altered := append([]byte("x"), want[1:1000]...)
			if _, err := readAll(rest(client.Part{ETag: d.ETag, Content: bytes.NewReader(altered)})); !errors.Is(err,
				client.ErrDigest) {
				t.Errorf("%s behind other bytes: %v", name, err)
			}
			for _, tag := range []string{`"another"`, "", `W/` + d.ETag} {
				if _, err := rest(client.Part{ETag: tag, Content: bytes.NewReader(want[:9])}); !errors.Is(err,
					client.ErrNotResumed) {
					t.Errorf("%s behind a part of %s: %v", name, tag, err)
				}
			}
			longer := append(bytes.Clone(want), "more"...)
			if _, err := rest(client.Part{ETag: d.ETag, Content: bytes.NewReader(longer)}); !errors.Is(err,
				client.ErrNotResumed) {
				t.Errorf("%s behind more than all: %v", name, err)
			}
		}
		o := s.options
		o.MaxStreamSize = 10
		small, err := client.New(s.url+"/mcp", o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := small.StreamRest(t.Context(), uri,
			client.Part{ETag: d.ETag, Content: bytes.NewReader(want[:11])}); !errors.Is(err, client.ErrTooLarge) {
			t.Error(err)
		}
		if _, err := small.Stream(t.Context(), uri); !errors.Is(err, client.ErrTooLarge) && format == "tar" {
			t.Error(err)
		}
	}
}

// TestWhatIsNotPinnedBeginsAnewOrFails: the bytes of a weak ETag may be others the
// next time.
func TestWhatIsNotPinnedBeginsAnewOrFails(t *testing.T) {
	for cut, want := range map[int]error{0: nil, 10: client.ErrNotResumed} {
		for _, tag := range []string{"", `W/"1"`} {
			requests := 0
			server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				if tag != "" {
					w.Header().Set("ETag", tag)
				}
				w.Header().Set("Content-Type", "application/gzip")
				if requests == 1 {
					w.Header().Set("Content-Length", "1000")
					_, _ = io.WriteString(w, strings.Repeat("a", cut))
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
				_, _ = io.WriteString(w, "other content")
			})
			c := newClient(t, server)
			d, err := c.Stream(t.Context(), "repo://one/archive/main.tar.gz")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(d)
			if !errors.Is(err, want) || want == nil && (string(got) != "other content" || d.Size != 13) ||
				want != nil && (requests != 1 || !errors.Is(err, client.ErrNetwork)) {
				t.Errorf("cut after %d, ETag %s: %q, %v, %+v", cut, tag, got, err, d)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if _, err := d.Read(make([]byte, 1)); err == nil {
				t.Error("a closed download is read")
			}
		}
	}
}

// TestNoWrongByteIsAnEnd alters bytes, and tells wrong lengths.
func TestNoWrongByteIsAnEnd(t *testing.T) {
	for _, format := range []string{"tar", "tar.gz"} { // lengths known and not
		s := newSite(t, "direct", 1)
		want := s.whole("/archive/team/app/main." + format)
		for _, at := range []int64{1, 1000, int64(len(want))} {
			for _, cut := range []int64{0, int64(len(want)) / 2} {
				if cut > 0 && at > cut {
					continue // it is never sent
				}
				altered := false
				s.fail(func(_ int, r *http.Request) fault {
					if !isDownload(r) || altered && cut == 0 {
						return fault{}
					}
					altered = true
					return fault{corrupt: at, cut: cut}
				})
				got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main."+format))
				if !errors.Is(err, client.ErrDigest) || !errors.Is(err, client.ErrDamaged) {
					t.Errorf("%s, byte %d altered, cut after %d: %d bytes, %v", format, at, cut, len(got), err)
				}
			}
		}
	}
	// An end that comes early, or late, in the rest of a download.
	for name, rest := range map[string]struct{ header, body string }{
		"short": {"bytes 1-9/10", "12345678"}, "long": {"bytes 1-9/10", "1234567890"},
		"of another length": {"bytes 1-10/11", "1234567890"},
		"from elsewhere":    {"bytes 3-9/10", "3456789"}, "from somewhere": {"", "123456789"},
	} {
		requests := 0
		server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if requests++; requests == 1 {
				w.Header().Set("Content-Length", "10")
				_, _ = io.WriteString(w, "01")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			if got := r.Header.Get("Range") + " " + r.Header.Get("If-Range"); got != `bytes=1- "1"` {
				t.Errorf("the rest is asked for by %s", got)
			}
			w.Header().Set("Content-Range", rest.header)
			w.WriteHeader(http.StatusPartialContent)
			_ = http.NewResponseController(w).Flush() // no length
			_, _ = io.WriteString(w, rest.body)
		})
		got, err := readAll(client.Open(t.Context(), server.URL+"/archive/one/main.tar", client.Options{}))
		if !errors.Is(err, client.ErrDamaged) && !errors.Is(err, client.ErrNotResumed) || len(got) > 10 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestAPartIsNotTheWhole: an unrequested part is refused.
func TestAPartIsNotTheWhole(t *testing.T) {
	server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 5-9/10")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "56789")
	})
	if got, err := readAll(client.Open(t.Context(), server.URL+"/raw/one/main/file", client.Options{})); err == nil {
		t.Errorf("%q", got)
	}
}
