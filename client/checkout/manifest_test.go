package checkout

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client"
)

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// fake is a server that gives one archive, whatever it is asked for.
type fake struct {
	t       *testing.T
	client  *client.Client
	options Options
	archive []byte
	says    string // the commit of the archive
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, says: commitA}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "resources/stream" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-tar")
		if f.says != "" {
			w.Header().Set("Content-Location", "repo://app/archive/"+f.says+".tar?profile=worktree")
		}
		_, _ = w.Write(f.archive) // a client that has given up
	}))
	t.Cleanup(server.Close)
	var err error
	if f.client, err = client.New(server.URL+"/mcp", client.Options{HTTP: server.Client(), Retries: -1}); err != nil {
		t.Fatal(err)
	}
	f.options = Options{Repository: "app", Ref: "main", Dir: filepath.Join(t.TempDir(), "in"), Plain: true}
	return f
}

// give makes the archive of files, by turns name and content, behind a comment.
func (f *fake) give(comment string, files ...string) {
	f.t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var err error
	if comment != "" {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header",
			PAXRecords: map[string]string{"comment": comment}, Format: tar.FormatPAX})
	}
	for i := 0; i < len(files); i += 2 {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}))
		_, other := io.WriteString(w, files[i+1])
		err = errors.Join(err, other)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		f.t.Fatal(err)
	}
	f.archive = out.Bytes()
}

func (f *fake) sync() (Result, error) { return Sync(f.t.Context(), f.client, f.options) }

// TestManifestsThatAreNone end a run as other damage does, before anything is removed.
func TestManifestsThatAreNone(t *testing.T) {
	good := fmt.Sprintf(`{"version":1,"base":"%s","head":"%s","deleted":["a"],"typeChanged":[]}`, commitA, commitB)
	for name, manifest := range map[string]string{
		"cut":               good[:len(good)-5],
		"cut in a list":     good[:strings.Index(good, `"a"`)+3],
		"empty":             "",
		"a list":            "[]",
		"no JSON":           "not a manifest",
		"another base":      strings.ReplaceAll(good, commitA, commitB),
		"no base":           fmt.Sprintf(`{"head":"%s","deleted":["a"]}`, commitB),
		"no head":           fmt.Sprintf(`{"base":"%s","deleted":["a"]}`, commitA),
		"a head to escape":  strings.ReplaceAll(good, commitB, "../../x"),
		"a number":          strings.ReplaceAll(good, `["a"]`, "1"),
		"a list of numbers": strings.ReplaceAll(good, `["a"]`, `["a",1]`),
		"a bad escape":      strings.ReplaceAll(good, `["a"]`, `["a","%zz"]`),
		"cut behind":        strings.ReplaceAll(good, `"typeChanged":[]}`, `"typeChanged":[`),
		"nested":            strings.ReplaceAll(good, `"version":1`, `"version":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)),
		"a long text":       strings.ReplaceAll(good, `"version":1`, `"version":"`+strings.Repeat("x", 2*maxToken)+`"`),
		"a long path":       strings.ReplaceAll(good, `["a"]`, `["a","`+strings.Repeat("x", 2*maxToken)+`"]`),
		"blanks":            strings.ReplaceAll(good, `"version"`, strings.Repeat(" ", 3<<20)+`"version"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.give(commitA, "a", "1", "b", "1")
			if _, err := f.sync(); err != nil {
				t.Fatal(err)
			}
			f.says = commitB
			f.give(commitB, manifestPath, manifest, "b", "2")
			_, err := f.sync()
			if CodeOf(err) != CodeDamaged || !strings.Contains(err.Error(), manifestPath) {
				t.Errorf("%s: %v", CodeOf(err), err)
			}
			if !has(filepath.Join(f.options.Dir, "a"), "1") || !has(filepath.Join(f.options.Dir, "b"), "1") {
				t.Error("something was removed or written")
			}
		})
	}
}

// repeated is a beginning, and a text again and again.
type repeated struct {
	begin, again string
	read         int
}

// Read fills p: the decoder scans its token again after each read.
func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		taken := copy(p[n:], r.begin)
		if r.begin = r.begin[taken:]; r.begin == "" {
			r.begin = r.again
		}
		n += taken
	}
	r.read += n
	return n, nil
}

// TestManifestsWithoutEnd are given up when a text of them is longer than any may be.
func TestManifestsWithoutEnd(t *testing.T) {
	for name, in := range map[string]*repeated{
		"string":         {begin: `{"deleted":["`, again: "aaaa"},
		"head":           {begin: `{"head":"`, again: "aaaa"},
		"unknown string": {begin: `{"x":"`, again: "aaaa"},
		"key":            {begin: `{"`, again: "aaaa"},
		"number":         {begin: `{"x":1`, again: "1111"},
		"nested lists":   {begin: `{"x":`, again: "[[[["},
		"nested objects": {begin: `{"x":`, again: `{"a":`},
		"nested paths":   {begin: `{"deleted":[`, again: "[[[["},
		"blanks":         {begin: `{`, again: "    "},
		"blanks in list": {begin: `{"deleted":["a"`, again: "    "},
	} {
		m := newManifest(in)
		err := m.eachMember(func(key string) error {
			switch key {
			case "deleted":
				return m.eachPath(func(string) error { return nil })
			case "head":
				return m.decode(new(string))
			default:
				return m.pass()
			}
		})
		if !errors.Is(err, client.ErrDamaged) || in.read > 2*maxToken {
			t.Errorf("%s: %v after %d bytes", name, err, in.read)
		}
	}
}

// TestLongManifestsTakeLittleMemory reads many paths, the longest that there may be.
func TestLongManifestsTakeLittleMemory(t *testing.T) {
	const paths = 3000
	in := io.MultiReader(strings.NewReader(`{"deleted":["x"`), io.LimitReader(&repeated{
		again: `,"` + strings.Repeat("%61", maxPath) + `"`}, paths*(3*maxPath+3)), strings.NewReader(`]}`))
	m, found := newManifest(in), 0
	peak := peakHeap(func() {
		if err := m.eachMember(func(string) error {
			return m.eachPath(func(path string) error {
				if found++; len(path) != maxPath && path != "x" {
					t.Fatalf("a path of %d bytes", len(path))
				}
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
	})
	if found != paths+1 || peak > mostHeap {
		t.Errorf("%d paths, %d MiB of the heap were in use", found, peak>>20)
	}
}

// TestTheCommitIsThatOfTheServer: what the archive says has to be an id, and the one that
// the server has announced.
func TestTheCommitIsThatOfTheServer(t *testing.T) {
	for _, c := range []struct {
		says, comment string
		good          bool
	}{
		{commitA, commitA, true}, {commitA, "", true}, {"", commitA, true}, {commitA, commitB, false},
		{"", "../../../x", false}, {"", commitA + "\n", false}, {"", strings.Repeat("a", 900_000), false},
		{"", strings.ToUpper(commitA), false}, {"", strings.Repeat("a", 64), true},
	} {
		f := newFake(t)
		f.says = c.says
		f.give(c.comment, "a", "1")
		result, err := f.sync()
		if c.good != (err == nil) || !c.good && CodeOf(err) != CodeDamaged {
			t.Errorf("%q, %.50q: %.200v", c.says, c.comment, err)
		}
		if !c.good && (has(filepath.Join(f.options.Dir, "a"), "1") || len(err.Error()) > 500) {
			t.Errorf("%.50q: the file was written, or the error has %d bytes", c.comment, len(err.Error()))
		}
		if c.good && result.Commit != c.comment && result.Commit != c.says {
			t.Errorf("%+v", result)
		}
	}
}
