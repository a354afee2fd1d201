package unpack

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestContentThatIsNotAsAnnounced(t *testing.T) {
	for name, choice := range map[string]Choice{
		"short":         {Content: strings.NewReader("abc"), Size: 4},
		"long":          {Content: strings.NewReader("abc"), Size: 2},
		"of another id": {Content: strings.NewReader("abc"), Size: 3, ID: blobID("abd")},
		"the member's":  {ID: blobID("abd")},
	} {
		p := newPlace(t)
		write(t, filepath.Join(p.dir, "f"), "old")
		_, err := p.unpack(t, archive(t, reg("f", "new")), Options{
			Choose: func(Member, io.Reader) (Choice, error) { return choice, nil },
		})
		if !errors.Is(err, ErrContent) || !strings.Contains(err.Error(), `"f"`) {
			t.Errorf("%s: %v", name, err)
		}
		p.has(t, `f "old"`)
	}
	p := newPlace(t)
	write(t, filepath.Join(p.dir, "f"), "old")
	_, err := p.unpack(t, archive(t, reg("f", "new")), Options{Choose: func(_ Member, r io.Reader) (Choice, error) {
		_, err := r.Read(make([]byte, 1))
		return Choice{}, err
	}})
	if err == nil {
		t.Error("a member that was read was written")
	}
	p.has(t, `f "old"`)
}

// closing notes that it was closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error {
	*c.closed = true
	return nil
}

func TestContentIsClosed(t *testing.T) {
	for _, path := range []string{"f", "d/f"} { // what is below d cannot be written
		p := newPlace(t)
		write(t, filepath.Join(p.dir, "d"), "mine")
		closed := false
		_, _ = p.unpack(t, archive(t, reg(path, "x")), Options{Choose: func(Member, io.Reader) (Choice, error) {
			return Choice{Content: closing{strings.NewReader("y"), &closed}, Size: 1}, nil
		}})
		if !closed {
			t.Errorf("the content of %s stays open", path)
		}
	}
}

// TestReadyComesBeforeTheName looks at what is there when a file is announced.
func TestReadyComesBeforeTheName(t *testing.T) {
	p := newPlace(t)
	var ready []string
	large := strings.Repeat("x", smallFile+1)
	content := archive(t, reg("d/small", "new"), reg("large", large), sym("link", "large"))
	write(t, filepath.Join(p.dir, "d/small"), "old")
	u := New(p.root, Options{Ready: func(w Written) error {
		ready = append(ready, w.Path)
		if got, _ := os.ReadFile(filepath.Join(p.dir, w.Path)); string(got) != map[string]string{
			"d/small": "old"}[w.Path] {
			t.Errorf("%s is there already", w.Path)
		}
		return nil
	}})
	if _, err := u.Tar(t.Context(), bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ready)
	if !slices.Equal(ready, []string{"d/small", "large", "link"}) {
		t.Errorf("%q were announced", ready)
	}
	stop := errors.New("stop")
	u = New(p.root, Options{Ready: func(Written) error { return stop }})
	if _, err := u.Tar(t.Context(), bytes.NewReader(archive(t, reg("d/small", "newer")))); !errors.Is(err, stop) {
		t.Errorf("the run ended with %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(p.dir, "d/small")); string(got) != "new" {
		t.Errorf("the file has %q, %v", got, err)
	}
}

// TestContentInMemoryIsWrittenByWorkers gives small files another content.
func TestContentInMemoryIsWrittenByWorkers(t *testing.T) {
	p := newPlace(t)
	for _, size := range []int64{5, 4} {
		u := New(p.root, Options{Choose: func(Member, io.Reader) (Choice, error) {
			return Choice{Content: bytes.NewReader([]byte("other")), Size: size}, nil
		}})
		_, err := u.Tar(t.Context(), bytes.NewReader(archive(t, reg("a", "1"), reg("b", "22"))))
		if size == 5 && err != nil || size == 4 && !errors.Is(err, ErrContent) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got, err := os.ReadFile(filepath.Join(p.dir, "b")); string(got) != "other" {
			t.Errorf("the file has %q, %v", got, err)
		}
	}
}
