package attachments_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
	"github.com/repomcp/repomcp/internal/resources"
)

const (
	smallURI   = "repo://r/contents/small"
	tarURI     = "repo://r/archive/main.tar"
	gzipURI    = "repo://r/archive/main.tar.gz" // its size is known after its bytes
	largeBytes = 100_000
)

// service has a repository with a small and a large file.
func service(t *testing.T) *resources.Service {
	t.Helper()
	root := t.TempDir()
	gittest.At(t, filepath.Join(root, "r.git")).Commit("main", gittest.Regular("small", "content\n"),
		gittest.Regular("large", gittest.Noise(largeBytes)))
	engine, err := archive.NewEngine(archive.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return resources.New(resources.Options{Catalogue: repostest.Open(t, root, repos.Options{}), Engine: engine})
}

// add finds a resource and adds it.
func add(t *testing.T, s *resources.Service, l *attachments.List, uri string) (*attachments.Attachment, error) {
	t.Helper()
	found, err := s.Find(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return l.Add(t.Context(), found)
}

func TestBytesAreThoseThatWereDeclared(t *testing.T) {
	t.Parallel()
	s := service(t)
	list := attachments.New(1<<20, false)
	streams := make(map[binary.StreamID]bool)
	for uri, sized := range map[string]bool{smallURI: true, "repo://r/contents/large": true, tarURI: true, gzipURI: false} {
		a, err := add(t, s, list, uri)
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		if (a.Size != resources.UnknownSize) != sized {
			t.Errorf("%s: the size before the bytes is %d, want known: %t", uri, a.Size, sized)
		}
		var content bytes.Buffer
		whole, err := a.WriteTo(t.Context(), &content)
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		sum := binary.Checksum(sha256.Sum256(content.Bytes()))
		if whole.Stream != a.Stream || whole.Size != int64(content.Len()) || sized && a.Size != whole.Size {
			t.Errorf("%s: %d bytes; before them %+v, after them %+v", uri, content.Len(), a.Ref, whole)
		}
		for when, checksum := range map[string]*binary.Checksum{"before": a.Checksum, "after": whole.Checksum} {
			if checksum != nil && *checksum != sum {
				t.Errorf("%s: the checksum %s the bytes is %v, theirs is %v", uri, when, checksum, sum)
			}
		}
		if streams[a.Stream] {
			t.Errorf("%s: the stream %v is taken", uri, a.Stream)
		}
		streams[a.Stream] = true
	}
	if n := len(list.All()); n != len(streams) {
		t.Errorf("the list has %d attachments, want %d", n, len(streams))
	}
	if err := list.Close(); err != nil || len(list.All()) != 0 {
		t.Errorf("after Close: %v, %d attachments", err, len(list.All()))
	}
}

// Bare attachments have no place for a size after the bytes.
func TestBareAttachmentsHaveASize(t *testing.T) {
	t.Parallel()
	s := service(t)
	list := attachments.New(1<<20, true)
	if !list.Bare() {
		t.Error("the list is not bare")
	}
	if a, err := add(t, s, list, tarURI); err != nil || a.Size == resources.UnknownSize {
		t.Errorf("a tar: %+v, %v, want a size", a, err)
	}
	if _, err := add(t, s, list, gzipURI); !errors.Is(err, attachments.ErrUnsized) {
		t.Errorf("a tar.gz: %v, want ErrUnsized", err)
	}
	if len(list.All()) != 1 {
		t.Errorf("%d attachments, want 1: what failed is none", len(list.All()))
	}
	if err := list.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoStreamHasMoreBytesThanTheListAllows(t *testing.T) {
	t.Parallel()
	s := service(t)
	const limit = 1000
	list := attachments.New(limit, false)
	refused := func(err error) *resources.Error {
		failure, _ := errors.AsType[*resources.Error](err)
		if failure == nil || failure.Reason != resources.ReasonTooLarge {
			t.Fatalf("%v, want %s", err, resources.ReasonTooLarge)
		}
		return failure
	}
	// A known size is refused before the bytes.
	_, err := add(t, s, list, "repo://r/contents/large")
	if failure := refused(err); failure.Data["limit"] != int64(limit) || failure.Data["size"] != int64(largeBytes) ||
		failure.Data["suggestion"] != "resources/stream" {
		t.Errorf("the data of the error are %v", failure.Data)
	}
	// An unknown one is cut, and writing it fails.
	a, err := add(t, s, list, gzipURI)
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	whole, err := a.WriteTo(t.Context(), &content)
	if failure := refused(err); !strings.Contains(failure.Message, "maxBinarySize") {
		t.Errorf("the error is %q, want one that names maxBinarySize", failure.Message)
	}
	if content.Len() > limit || whole != (binary.Ref{}) {
		t.Errorf("%d bytes were written, with a limit of %d; they are said to be %+v", content.Len(), limit, whole)
	}
	if _, err := add(t, s, list, smallURI); err != nil {
		t.Errorf("a small file: %v", err)
	}
	if err := list.Close(); err != nil {
		t.Error(err)
	}
}

func TestAContextHasTheListOfItsReply(t *testing.T) {
	t.Parallel()
	none := attachments.Of(t.Context())
	if none != nil || none.Bare() || none.All() != nil || none.Close() != nil {
		t.Errorf("a context without a list has %v", none)
	}
	list := attachments.New(1, false)
	if got := attachments.Of(attachments.With(t.Context(), list)); got != list {
		t.Errorf("the context has %v, want %v", got, list)
	}
}
