package unpack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		unpackAsChild(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// place is a root with a canary beside it.
type place struct {
	root   *os.Root
	dir    string // of the root
	beside string // the folder with the canary
}

func newPlace(t testing.TB) place {
	t.Helper()
	p := place{beside: t.TempDir()}
	p.dir = filepath.Join(p.beside, "in", "root")
	write(t, filepath.Join(p.beside, "canary", "file"), "alive")
	write(t, filepath.Join(p.beside, "in", "x"), "alive")
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	p.root = root
	return p
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unpack runs with the zero options unless others are given.
func (p place) unpack(t testing.TB, archive []byte, options ...Options) (Report, error) {
	t.Helper()
	o := Options{}
	if len(options) > 0 {
		o = options[0]
	}
	return New(p.root, o).Tar(t.Context(), bytes.NewReader(archive))
}

// outside fails the test when anything beside the root is other than it was.
func (p place) outside(t testing.TB) {
	t.Helper()
	got := listing(t, p.beside, p.dir)
	want := []string{"canary", `canary/file "alive"`, "in", `in/x "alive"`}
	if !slices.Equal(got, want) {
		t.Errorf("outside of the root there is %q", got)
	}
}

// files are those of the root, with their content; executable ones have a star, and
// links their target.
func (p place) files(t testing.TB) []string { return listing(t, p.dir, "") }

func (p place) has(t testing.TB, want ...string) {
	t.Helper()
	if got := p.files(t); !slices.Equal(got, want) {
		t.Errorf("the root has\n%q, not\n%q", got, want)
	}
}

func listing(t testing.TB, dir, without string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if path == without {
			return filepath.SkipDir
		}
		line, err := describe(dir, path, entry)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func describe(dir, path string, entry fs.DirEntry) (string, error) {
	line := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(dir)+"/")
	info, err := entry.Info()
	switch {
	case err != nil || entry.IsDir():
		return line, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return line + " -> " + target, err
	}
	content, err := os.ReadFile(path)
	if info.Mode()&0o100 != 0 {
		line += "*"
	}
	return fmt.Sprintf("%s %.40q", line, content), err
}

// entry is a member of an archive that a test makes.
type entry struct {
	name    string
	kind    byte // 0: a file
	content string
	target  string
	mode    int64
	pax     map[string]string
}

func reg(name, content string) entry { return entry{name: name, content: content} }
func dir(name string) entry          { return entry{name: name, kind: tar.TypeDir} }
func sym(name, target string) entry  { return entry{name: name, kind: tar.TypeSymlink, target: target} }

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{
			Name: e.name, Typeflag: e.kind, Linkname: e.target, Mode: e.mode, Size: int64(len(e.content)),
			PAXRecords: e.pax, Format: tar.FormatPAX,
		}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.kind == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: e.kind, Name: e.name, PAXRecords: e.pax, Format: tar.FormatPAX}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%q: %v", e.name, err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rawHeader is a header of the old form, with any bytes in its fields.
func rawHeader(name string, kind byte, size string) []byte {
	block := make([]byte, 512)
	copy(block, name)
	copy(block[100:], "0000644\x00")
	copy(block[108:], "0000000\x000000000\x00")
	copy(block[124:], size)
	copy(block[136:], "00000000000\x00")
	block[156] = kind
	copy(block[257:], "ustar\x0000")
	copy(block[148:], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return block
}

// raw is an archive of headers and contents as they are.
func raw(blocks ...[]byte) []byte {
	out := []byte{}
	for _, b := range blocks {
		out = append(out, b...)
		out = append(out, make([]byte, -len(out)&511)...)
	}
	return append(out, make([]byte, 1024)...)
}
