package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// isQuestion tells the requests that are answered by JSON.
func isQuestion(r *http.Request) bool {
	return r.Method == http.MethodPost && r.Header.Get("Mcp-Method") != "resources/stream"
}

// TestHiddenBreaksGoOn has a proxy make clean ends of breaks, and lose trailers besides.
func TestHiddenBreaksGoOn(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	cases := 0
	for _, delivery := range []string{"direct", "downloadUrl"} {
		for _, lose := range []bool{false, true} {
			s := newSite(t, delivery, 1)
			for _, format := range []string{"tar", "tar.gz", "tar.zst", "zip"} {
				size := len(s.whole("/archive/team/app/main." + format))
				for i, cut := range []int{1, 4096, size / 2, size - 1} {
					// What the server has made before has a length.
					query := fmt.Sprintf("?prefix=%t%d/", lose, i)
					broken := 0
					s.fail(func(_ int, r *http.Request) fault {
						if isQuestion(r) || r.Method == http.MethodHead {
							return fault{}
						}
						if broken++; broken > 1 {
							return fault{lose: lose}
						}
						return fault{cut: int64(cut), hide: true, lose: lose}
					})
					got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main."+format+query))
					heard, _ := s.what()
					s.fail(nil)
					want := s.whole("/archive/team/app/main." + format + query)
					if err != nil || !bytes.Equal(got, want) || broken < 2 {
						t.Errorf("%s %s cut after %d: %d bytes of %d, %v: %q", delivery, format, cut, len(got), len(want),
							err, heard)
					}
					cases++
				}
			}
		}
	}
	if cases < 64 {
		t.Errorf("only %d cases", cases)
	}
}

// TestLostTrailersAreAskedFor has a proxy lose trailers, and hide the plain routes besides.
func TestLostTrailersAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, delivery := range []string{"direct", "downloadUrl"} {
		for _, alone := range []bool{false, true} {
			for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
				s := newSite(t, delivery, 1)
				heads := 0
				s.fail(func(_ int, r *http.Request) fault {
					if alone && r.URL.Path != "/mcp" && !strings.HasPrefix(r.URL.Path, "/dl/") {
						return fault{status: http.StatusNotFound}
					}
					if r.Method == http.MethodHead {
						heads++
					}
					return fault{lose: true}
				})
				got, err := readAll(s.connect(protocol).Stream(t.Context(), "repo://team/app/archive/main.tar.gz"))
				heard, sent := s.what()
				s.fail(nil)
				want := s.whole("/archive/team/app/main.tar.gz")
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s, alone %t, %s: %d bytes of %d, %v: %q", delivery, alone, protocol, len(got), len(want), err,
						heard)
				}
				if !alone && (heads != 1 || sent > int64(len(want))+10_000) {
					t.Errorf("%s, %s: %d bytes were sent of %d, with %d HEADs: %q", delivery, protocol, sent, len(want),
						heads, heard)
				}
			}
		}
	}
}

// TestWeakDownloadsAreVerified: what depends on refs has no strong ETag, and cannot go on.
func TestWeakDownloadsAreVerified(t *testing.T) {
	t.Parallel()
	s := newSite(t, "direct", 1)
	s.repo.Commit("weak", gittest.Regular("noise", gittest.Noise(100_000)),
		gittest.Regular("a", "$Format:%d$\n"), gittest.Regular(".gitattributes", "a export-subst\n"))
	cases := 0
	for _, format := range []string{"tar", "tar.gz", "tar.zst", "tar.xz", "zip"} {
		want := s.whole("/archive/team/app/weak." + format)
		for _, cut := range []int{0, 1000, len(want) - 1} {
			s.fail(func(_ int, r *http.Request) fault {
				if isQuestion(r) || r.Method == http.MethodHead {
					return fault{}
				}
				return fault{cut: int64(cut), hide: true, lose: true}
			})
			got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/weak."+format))
			if cut == 0 && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("a whole %s: %d bytes of %d, %v", format, len(got), len(want), err)
			}
			if cut > 0 && !errors.Is(err, client.ErrNotVerified) {
				t.Errorf("a %s cut after %d of %d: %d bytes, %v", format, cut, len(want), len(got), err)
			}
			cases++
		}
	}
	if cases < 15 {
		t.Errorf("only %d cases", cases)
	}
}

// TestTheFormVerifies is about servers that tell nothing of what they send.
func TestTheFormVerifies(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("noise", gittest.Noise(50_000)))
	for _, format := range []string{"tar", "tar.gz", "zip"} {
		archive := repo.Archive("--format="+format, "main")
		for _, length := range []int{len(archive), len(archive) - 11_000} {
			server := newOrigin(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodHead {
					_ = http.NewResponseController(w).Flush()
					_, _ = w.Write(archive[:length])
				}
			})
			d, err := client.Open(t.Context(), server.URL, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(d)
			if whole := length == len(archive); len(got) != length || whole != (err == nil) ||
				!whole && !errors.Is(err, client.ErrNotVerified) {
				t.Errorf("%d of %d bytes of a %s: %v", len(got), len(archive), format, err)
			}
			_ = d.Close()
		}
	}
}

// What was known to be asked for is asked for again while the server is busy.
func TestABusyServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, "direct", 1)
	heads := 0
	s.fail(func(_ int, r *http.Request) fault {
		if r.Method != http.MethodHead {
			return fault{lose: true}
		}
		if heads++; heads < 3 {
			return fault{status: http.StatusServiceUnavailable}
		}
		return fault{}
	})
	got, err := readAll(s.connect("").Stream(t.Context(), "repo://team/app/archive/main.tar.gz"))
	heard, _ := s.what()
	s.fail(nil)
	if want := s.whole("/archive/team/app/main.tar.gz"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v: %q", len(got), len(want), err, heard)
	}
}
