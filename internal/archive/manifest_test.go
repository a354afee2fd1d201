package archive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

type manifest struct {
	Version           int
	Commit, Tree      string
	Time              string
	Path              []string
	Exclude           []string
	Prefix, Strip     string
	Profile, Base     string
	LFS, Submodules   string
	RefName, Origin   string
	Deleted, Modified []string
	TypeChanged       []string
	ModeChanged       []string
	Added             []string
	Entries           []manifestEntry
	ExportIgnored     *int64
}

type manifestEntry struct {
	Path, PathBase64, Type, Mode, ID, URL string
	Size                                  *int64
	Converted                             bool
	UnknownEncoding                       string
	LFS                                   *struct {
		OID  string
		Size int64
	}
}

func readManifest(t *testing.T, content []byte) manifest {
	t.Helper()
	var m manifest
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		t.Fatalf("%v in %.3000s", err, content)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("after the document: %v", err)
	}
	if m.ExportIgnored == nil || m.Version != 1 {
		t.Fatalf("incomplete: %.3000s", content)
	}
	if lines := bytes.Count(content, []byte("\n{\"path\":")); lines != len(m.Entries) {
		t.Errorf("%d lines of entries, %d entries", lines, len(m.Entries))
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		plain, err := url.PathUnescape(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(e.Path,
			"-._~!$&'()*+,;=:@/%0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("%q has bytes that a URI cannot have", e.Path)
		}
		raw, err := base64.StdEncoding.DecodeString(e.PathBase64)
		if err != nil || utf8.ValidString(plain) != (e.PathBase64 == "") || e.PathBase64 != "" && string(raw) != plain {
			t.Errorf("%q has the bytes %q", e.Path, e.PathBase64)
		}
		e.Path = plain
	}
	return m
}

// TestManifestIsWhatGitLists compares the complete tree with git ls-tree, line by
// line.
func TestManifestIsWhatGitLists(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := trees()
	maps.Copy(all, attributed())
	compared := 0
	for name, files := range all {
		repo := gittest.New(t)
		commit := repo.Commit("main", files...)
		var want []string
		for line := range strings.SplitSeq(strings.TrimSuffix(repo.Git("ls-tree", "-r", "-t", "-l", "-z", "--full-tree",
			commit), "\x00"), "\x00") {
			if line != "" {
				want = append(want, line)
			}
		}
		m := readManifest(t,
			write(t, plan(t, repo, "main", archive.Options{Format: archive.Manifest, Profile: archive.ProfileFull})))
		if len(m.Entries) != len(want) {
			t.Errorf("%s: %d entries, git has %d", name, len(m.Entries), len(want))
			continue
		}
		types := map[string]string{"file": "blob", "symlink": "blob", "directory": "tree", "submodule": "commit"}
		for i, e := range m.Entries {
			size := "-"
			if e.Size != nil {
				size = fmt.Sprint(*e.Size)
			}
			if got := fmt.Sprintf("%s %s %s %7s\t%s", e.Mode, types[e.Type], e.ID, size,
				strings.TrimSuffix(e.Path, "/")); got != want[i] {
				t.Errorf("%s: %q, git has %q", name, got, want[i])
			}
			compared++
		}
		if m.Commit != commit || m.Tree != repo.Git("rev-parse", commit+"^{tree}") ||
			m.Time != "2023-11-14T22:13:20Z" || m.Profile != "full" || *m.ExportIgnored != 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if compared < 1000 {
		t.Errorf("compared %d entries, too few", compared)
	}
}

// TestManifestIsWhatTheArchiveHolds compares with the tar of the same options.
func TestManifestIsWhatTheArchiveHolds(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	all := trees()
	maps.Copy(all, attributed())
	converted := 0
	for name, files := range all {
		repo := gittest.New(t)
		repo.Commit("main", files...)
		for _, options := range []archive.Options{{}, {Prefix: "p/"}, {Prefix: "glued-", Paths: []string{"*a*"}},
			{Exclude: []string{"*.txt"}}, {Strip: "d"}, {Profile: archive.ProfileFull, Prefix: "a b/\xff/"}} {
			options.Format = archive.Manifest
			p, err := tryPlan(t, repo, "main", options)
			if errors.As(err, new(*archive.NoMatchError)) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			m := readManifest(t, write(t, p))
			options.Format = archive.Tar
			converted += compareManifest(t, fmt.Sprintf("%s %+v", name, options), m,
				write(t, plan(t, repo, "main", options)))
			if measure, err := p.Measure(t.Context()); err != nil || measure.Entries != int64(len(m.Entries)) ||
				measure.Ignored != *m.ExportIgnored {
				t.Errorf("%s: measured %+v, %v; there are %d entries, %d ignored", name, measure, err, len(m.Entries),
					*m.ExportIgnored)
			}
		}
	}
	if converted < 20 {
		t.Errorf("%d files with other content, too few", converted)
	}
}

// blobID is the id that git has for a file.
func blobID(content []byte) string {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "blob %d\x00%s", len(content), content) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

func compareManifest(t *testing.T, name string, m manifest, content []byte) (converted int) {
	t.Helper()
	types := map[byte]string{tar.TypeReg: "file", tar.TypeSymlink: "symlink", tar.TypeDir: "directory"}
	i := 0
	tr := tar.NewReader(bytes.NewReader(content))
	for h, err := tr.Next(); err == nil; h, err = tr.Next() {
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if i == len(m.Entries) {
			t.Errorf("%s: %q is missing", name, h.Name)
			return converted
		}
		e := m.Entries[i]
		i++
		if e.Path != h.Name || e.Type != types[h.Typeflag] && e.Type != "submodule" {
			t.Errorf("%s: %q %s, the tar has %q %c", name, e.Path, e.Type, h.Name, h.Typeflag)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "file" && blobID(data) != e.ID {
			converted++
			if !e.Converted {
				t.Errorf("%s: %q is not said to be converted", name, e.Path)
			}
		}
	}
	if i != len(m.Entries) {
		t.Errorf("%s: %q is too many", name, m.Entries[i].Path)
	}
	return converted
}

func TestManifestKnowsSubmodulesAndPointers(t *testing.T) {
	repo := gittest.New(t)
	oid := strings.Repeat("0f", 32)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 123456\n"
	commit := strings.Repeat("a", 40)
	repo.Commit("main",
		gittest.Regular(".gitmodules",
			"[submodule \"one\"]\n\tpath = d/one\n\turl = https://example.org/<a>&\"b\".git\n[submodule \"two\"]\n\tpath = other\n\turl = ../x\n[submodule \"file\"]\n\tpath = d/file\n\turl = ../y\n"),
		gittest.Gitlink("d/one", commit), gittest.Gitlink("d/unknown", commit), gittest.Regular("d/file",
			pointer), gittest.Executable("d/run", pointer), gittest.Symlink("d/link", pointer), gittest.Regular(
			"d/none", pointer+"\nmore\n"))
	for _, options := range []archive.Options{{Prefix: "p/"}, {Prefix: "p/", Strip: "d"}} {
		options.Format = archive.Manifest
		m := readManifest(t, write(t, plan(t, repo, "main", options)))
		prefix := map[string]string{"": "p/d/", "d": "p/"}[options.Strip]
		urls := map[string]string{prefix + "one/": "https://example.org/<a>&b.git"}
		pointers := map[string]bool{prefix + "file": true, prefix + "run": true}
		if m.LFS != "pointers" || m.Submodules != "omitted" || m.Strip != options.Strip || m.Prefix != "p/" {
			t.Errorf("%+v", m)
		}
		for _, e := range m.Entries {
			if e.URL != urls[e.Path] || (e.LFS != nil) != pointers[e.Path] {
				t.Errorf("%q: url %q, lfs %v", e.Path, e.URL, e.LFS)
			}
			if e.LFS != nil && (e.LFS.OID != oid || e.LFS.Size != 123456 || *e.Size != int64(len(pointer))) {
				t.Errorf("%q: %+v", e.Path, e.LFS)
			}
			delete(urls, e.Path)
			delete(pointers, e.Path)
		}
		if len(urls)+len(pointers) > 0 {
			t.Errorf("missing: %v %v", urls, pointers)
		}
	}
}

func TestManifestOfADelta(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", with(gittest.Regular("d/a", "1"), gittest.Regular("d/b", "1"),
		gittest.Regular("gone/x y", ""))...)
	repo.Commit("main", with(gittest.Regular("d/a", "2"), gittest.Regular("d/b", "1"))...)
	m := readManifest(t,
		write(t,
			plan(t, repo, "main", archive.Options{Format: archive.Manifest, Base: base, Profile: archive.ProfileFull,
				Exclude: []string{"same/1", "same/2?"}})))
	var paths []string
	for _, e := range m.Entries {
		paths = append(paths, e.Path)
	}
	if got, want := fmt.Sprint(paths, m.Deleted, m.Modified, m.Base, m.Exclude,
		m.Profile), fmt.Sprint([]string{"d/", "d/a"}, []string{"gone/x%20y",
		"gone/"}, []string{"d/a"}, base, []string{"same/1", "same/2%3F"}, "full"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestManifestThatIsCutShortIsNoJSON(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "first"), gittest.Regular("m/b", "missing"), gittest.Regular("z", "last"))
	for _, object := range []string{"main:m/b", "main:m", "main:z"} {
		id := repo.Git("rev-parse", object)
		file := filepath.Join(repo.Dir, "objects", id[:2], id[2:])
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, repo, "main", archive.Options{Format: archive.Manifest})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := p.WriteTo(t.Context(), &out); !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%s is missing: %v, want damage", object, err)
		}
		if json.Valid(out.Bytes()) || strings.Contains(out.String(), "exportIgnored") {
			t.Errorf("%s is missing: the document looks whole: %s", object, out.String())
		}
		if err := os.WriteFile(file, content, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManifestBytesAreAPromise guards them as TestBytesAreAPromise does those of
// archives, and those of deltas.
func TestManifestBytesAreAPromise(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", trees()["many"][1:]...)
	repo.Commit("main", append(trees()["many"][:490], gittest.Regular("\xff", "new"))...)
	for name, c := range map[string]struct {
		options archive.Options
		want    string
	}{
		"manifest": {archive.Options{Format: archive.Manifest},
			"3 c56579eacda509aa938fbecfa9e1dd74b23bd9238462eeea8ceda5b16df3657e"},
		"manifest of delta": {archive.Options{Format: archive.Manifest, Base: base},
			"3 d88916b64ccd36666fd76a1e5bbca6887140d7718b4799b42ea0355d0650cfa0"},
		"delta": {archive.Options{Format: archive.Tar, Base: base, Prefix: "p/"},
			"3 8c989d08c3450e1305c2843403a8f8c6d7644d7d18eddcca87f9cc2efadd7c4b"},
	} {
		for range 3 {
			sum := sha256.Sum256(write(t, plan(t, repo, "main", c.options)))
			if got := archive.EncoderVersion + " " + hex.EncodeToString(sum[:]); got != c.want {
				t.Errorf("%s: encoder version and digest\n got %s\nwant %s", name, got, c.want)
			}
		}
	}
}
