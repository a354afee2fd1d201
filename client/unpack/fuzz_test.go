package unpack

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// FuzzTar unpacks any bytes: nothing outside of the root changes, and no reported
// path is outside.
func FuzzTar(f *testing.F) {
	f.Add(sample(f))
	f.Add(gzipped(f, sample(f)))
	f.Add(zstandard(f, sample(f)))
	for _, h := range hostiles {
		if h.limit == "" { // those are large
			f.Add(h.archive(f))
		}
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		p := newPlace(t)
		inside := func(path string) {
			if checkPath("linux", path) != "" {
				t.Errorf("%q was let in", path)
			}
			if _, err := p.root.Lstat(path); err != nil {
				t.Error(err)
			}
		}
		o := Options{
			Limits: Limits{Entries: 200, Bytes: 1 << 20, FileBytes: 1 << 18},
			Choose: func(m Member, content io.Reader) (Choice, error) {
				if strings.HasSuffix(m.Path, manifestPath) {
					_, err := io.Copy(io.Discard, content)
					return Choice{Skip: true}, err
				}
				return replace(m, nil)
			},
			Done: func(w Written) error {
				inside(w.Path)
				return nil
			},
		}
		_, err := New(p.root, o).Tar(t.Context(), bytes.NewReader(archive))
		if err == nil && len(archive) == 0 {
			t.Error("nothing is a whole archive")
		}
		p.outside(t)
		for _, line := range p.files(t) {
			if strings.HasPrefix(line, reservedFolder) {
				t.Errorf("%q is left", line)
			}
		}
		if err := os.RemoveAll(p.dir); err != nil { // the disk would fill
			t.Error(err)
		}
	})
}
