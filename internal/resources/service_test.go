package resources

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

// sharedEngine writes the archives of all tests: its buffers and workers take longer to make than
// most archives.
var sharedEngine = sync.OnceValues(func() (*archive.Engine, error) {
	return archive.NewEngine(archive.EngineOptions{})
})

// newService makes a service over the mirrors below a root folder, until the test ends. Several
// services over one root are replicas.
func newService(t *testing.T, root string, options Options) *Service {
	t.Helper()
	engine, err := sharedEngine()
	if err != nil {
		t.Fatal(err)
	}
	options.Catalogue, options.Engine = repostest.Open(t, root, repos.Options{Logger: options.Logger}), engine
	if options.Cache != nil {
		t.Cleanup(options.Cache.Close) // before the mirrors are closed
	}
	return New(options)
}

// mustFind finds a resource that has to exist, and closes it when the test ends.
func mustFind(t *testing.T, s *Service, uri string) *Found {
	t.Helper()
	found, err := s.Find(t.Context(), uri)
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	closeAfter(t, found)
	return found
}

func closeAfter(t *testing.T, found *Found) {
	t.Cleanup(func() {
		if err := found.Close(); err != nil {
			t.Error(err)
		}
	})
}

// download finds the resource of a plain URL, and closes it when the test ends.
func download(t *testing.T, s *Service, url string) (*Found, *Error) {
	t.Helper()
	kind, rest, _ := strings.Cut(strings.TrimPrefix(url, "/"), "/")
	if bare, query, ok := strings.Cut(kind, "?"); ok { // of /repositories?after=
		kind, rest = bare, "?"+query
	}
	path, query, hasQuery := strings.Cut(rest, "?")
	found, failure := s.FindDownload(t.Context(), Plain(kind), path, query, hasQuery)
	if failure == nil {
		closeAfter(t, found)
	}
	return found, failure
}

// mustDownload is download for a URL that has to name something.
func mustDownload(t *testing.T, s *Service, url string) *Found {
	t.Helper()
	found, failure := download(t, s, url)
	if failure != nil {
		t.Fatalf("%s: %v", url, failure)
	}
	return found
}

// contentOf returns all bytes of what was found.
func contentOf(t *testing.T, found *Found) []byte {
	t.Helper()
	content, err := bytesOf(t, found, Want{})
	if err != nil {
		t.Fatalf("%s: %v", found.URI, err)
	}
	return content
}

// bytesOf returns the wanted bytes of what was found, or those before the failure.
func bytesOf(t *testing.T, found *Found, want Want) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	_, err := write(t, found, want, &out)
	return out.Bytes(), err
}

// refusal returns why a resource is refused before its first byte, as its client is told; nil if
// it is not.
func refusal(t *testing.T, s *Service, uri string, want Want) *Error {
	t.Helper()
	found, err := s.Find(t.Context(), uri)
	if err == nil {
		closeAfter(t, found)
		return refusalToOpen(t, s, found, want)
	}
	return s.failure(t, err, uri)
}

func refusalToOpen(t *testing.T, s *Service, found *Found, want Want) *Error {
	t.Helper()
	body, err := found.Open(t.Context(), want)
	if err != nil {
		return s.failure(t, err, found.URI)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	return nil
}

// failure describes an error to a client, who may see no path of the mirrors.
func (s *Service) failure(t *testing.T, err error, uri string) *Error {
	t.Helper()
	failure := s.Failure(t.Context(), err, uri)
	gittest.CheckLeaks(t, t.TempDir(), failure.Message) // the mirrors are in a folder beside
	return failure
}
