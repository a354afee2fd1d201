package checkout

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/repomcp/repomcp/client"
)

const (
	// manifestPath is the first member of a delta.
	manifestPath = stateFolder + "/manifest.json"
	// maxManifest allows some hundred bytes for each of the two million entries of a server's
	// largest archive.
	maxManifest = 1 << 30
	// maxToken is more than a server's longest path takes when it is percent-encoded.
	maxToken = 128 << 10
	// maxDepth is more than any manifest needs, with room for later versions.
	maxDepth = 16
	// maxPath is the longest path that package unpack writes, and so that a state contains.
	maxPath = 4096
	// maxPaths bounds the bytes of paths that are removed at once.
	maxPaths = 1 << 20
)

// readManifest removes the paths that a delta lists as deleted, after it has validated the whole
// manifest. Its other paths come as members.
func (r *run) readManifest(size int64, content io.Reader) error {
	if size > maxManifest {
		return fmt.Errorf("%w: %s has %d bytes", client.ErrDamaged, manifestPath, size)
	}
	r.delta = true
	held, _, err := r.hold(size, content)
	if err != nil {
		return err
	}
	err = r.readHeading(held)
	if err == nil {
		_, err = held.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = r.removeListed(held)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", manifestPath, err)
	}
	return errors.Join(err, closed(held))
}

// readHeading reads the commits of the delta, and which folders something else replaces.
func (r *run) readHeading(content io.Reader) error {
	var base string
	m := newManifest(content)
	err := m.eachMember(func(key string) error {
		switch key {
		case "head":
			return m.decode(&r.head)
		case "base":
			return m.decode(&base)
		case "typeChanged":
			return m.eachPath(func(path string) error {
				there, err := r.disk.look(path)
				if err == nil && there.info != nil && there.info.IsDir() {
					r.replaced.add(path)
				}
				return err
			})
		default:
			return m.pass()
		}
	})
	switch {
	case err != nil:
		return err
	case base == "" || base != r.base:
		return fmt.Errorf("%w: it is the difference from %.80q", client.ErrDamaged, base)
	case !isCommit(r.head):
		return fmt.Errorf("%w: it leads to %.80q, which is no commit", client.ErrDamaged, r.head)
	}
	return nil
}

// removeListed removes the paths that are listed as deleted. The contents of a replaced folder wait
// for the replacement.
func (r *run) removeListed(content io.Reader) error {
	m := newManifest(content)
	listed, bytes := make(map[string]bool), 0
	flush := func() error {
		links := paths{} // and what was in their place
		for link := range r.links {
			if listed[link] {
				links.add(link)
			}
		}
		err := r.removeThose(func(w record) bool { return listed[w.path] || links.cover(w.path) }, anyFolder)
		clear(listed)
		bytes = 0
		return err
	}
	// A replaced folder that does not exist still has its record.
	suffixes := map[string]string{"deleted": "", "typeChanged": "/"}
	err := m.eachMember(func(key string) error {
		suffix, ok := suffixes[key]
		if !ok {
			return m.pass()
		}
		return m.eachPath(func(path string) error {
			if r.replaced.cover(path) {
				return nil
			}
			listed[path+suffix] = true
			if bytes += len(path); len(listed) < removedAtOnce && bytes < maxPaths {
				return nil
			}
			return flush()
		})
	})
	if err != nil || len(listed) == 0 {
		return err
	}
	return flush()
}

// manifest reads a JSON object while it holds only a part of it, whatever it contains. Its errors
// are client.ErrDamaged, or those of reading.
type manifest struct {
	json *json.Decoder
	in   io.Reader
	read int64
	err  error // of reading
}

func newManifest(in io.Reader) *manifest {
	m := &manifest{in: in}
	m.json = json.NewDecoder(m)
	return m
}

// Read gives the decoder as much as it needs for the next token. A longer token than maxToken is an
// error.
func (m *manifest) Read(p []byte) (int, error) {
	if m.read-m.json.InputOffset() > maxToken {
		return 0, fmt.Errorf("%w: a string in its manifest is longer than %d bytes", client.ErrDamaged, maxToken)
	}
	n, err := m.in.Read(p[:min(len(p), maxToken/32)])
	m.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

// damaged turns errors of the decoder into damage: a premature end, and any malformed JSON.
func (m *manifest) damaged(err error) error {
	if err == nil || m.err != nil || errors.Is(err, client.ErrDamaged) {
		return errors.Join(err, m.err)
	}
	return fmt.Errorf("%w: it is no manifest: %s", client.ErrDamaged, err.Error())
}

func (m *manifest) token() (json.Token, error) {
	t, err := m.json.Token()
	return t, m.damaged(err)
}

func (m *manifest) decode(text *string) error { return m.damaged(m.json.Decode(text)) }

// begin reads the beginning of an object or a list.
func (m *manifest) begin(delimiter json.Delim) error {
	t, err := m.token()
	if err == nil && t != delimiter {
		err = fmt.Errorf("%w: it is no manifest", client.ErrDamaged)
	}
	return err
}

func (m *manifest) eachMember(read func(key string) error) error {
	if err := m.begin('{'); err != nil {
		return err
	}
	for m.json.More() {
		key, err := m.token()
		if err != nil {
			return err
		}
		if err := read(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err := m.token()
	return err
}

// eachPath reads a list of paths, which are percent-encoded. It skips a path that is too long for
// any state.
func (m *manifest) eachPath(each func(path string) error) error {
	if err := m.begin('['); err != nil {
		return err
	}
	for m.json.More() {
		var escaped string
		if err := m.decode(&escaped); err != nil {
			return err
		}
		path, err := url.PathUnescape(escaped)
		if err != nil {
			return m.damaged(err)
		}
		if len(path) > maxPath {
			continue
		}
		if err := each(path); err != nil {
			return err
		}
	}
	_, err := m.token()
	return err
}

// pass skips a value.
func (m *manifest) pass() error {
	for depth := 0; ; {
		t, err := m.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		switch {
		case depth == 0:
			return nil
		case depth > maxDepth:
			return fmt.Errorf("%w: it is nested too deep", client.ErrDamaged)
		}
	}
}

// deltaManifest is the manifest of a difference that is made here. Its paths are escaped for a URL.
type deltaManifest struct {
	Head        string   `json:"head"`
	Base        string   `json:"base"`
	TypeChanged []string `json:"typeChanged,omitempty"`
	Deleted     []string `json:"deleted,omitempty"`
}

// archive begins an archive as a server would send it. The files have to follow.
func (m deltaManifest) archive() (io.Reader, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var front bytes.Buffer
	out := tar.NewWriter(&front)
	err = errors.Join(
		out.WriteHeader(&tar.Header{
			Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": m.Head},
		}),
		out.WriteHeader(&tar.Header{Name: manifestPath, Mode: 0o644, Size: int64(len(text))}),
	)
	if err == nil {
		_, err = out.Write(text)
	}
	return &front, errors.Join(err, out.Flush())
}
