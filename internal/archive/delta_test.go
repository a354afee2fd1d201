package archive_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

// opened makes many plans of one repository.
type opened struct {
	engine   *archive.Engine
	snapshot *git.Snapshot
}

func open(t *testing.T, repo *gittest.Repo) opened {
	t.Helper()
	catalogue := repostest.Open(t, filepath.Dir(repo.Dir), repos.Options{})
	snapshot := repostest.Snapshot(t, catalogue, strings.TrimSuffix(filepath.Base(repo.Dir), ".git"))
	engine, err := sharedEngine()
	if err != nil {
		t.Fatal(err)
	}
	return opened{engine, snapshot}
}

// sharedEngine is that of all tests which ask for no other: its buffers and workers
// take longer to make than most archives.
var sharedEngine = sync.OnceValues(func() (*archive.Engine, error) {
	return archive.NewEngine(archive.EngineOptions{})
})

func (o opened) plan(t *testing.T, revision string, options archive.Options) (*archive.Plan, error) {
	t.Helper()
	commit, err := o.snapshot.ResolveTreeish(t.Context(), revision)
	if err != nil {
		t.Fatal(err)
	}
	return o.engine.Plan(t.Context(), o.snapshot, commit, options)
}

// unpacked is what unpacking makes, by paths without a final slash.
type unpacked map[string]tarMember

type tarMember struct {
	kind    byte
	mode    int64
	link    string
	content string
}

// unpack puts a tar over what is there. Unlike a real tar it takes no member
// whose folder is missing or is none, and none in the place of another type.
func (u unpacked) unpack(t *testing.T, content []byte) (names []string) {
	t.Helper()
	tr := tar.NewReader(bytes.NewReader(content))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSuffix(h.Name, "/")
		u.place(t, path, tarMember{h.Typeflag, h.Mode, h.Linkname, string(data)})
		names = append(names, h.Name)
	}
}

func (u unpacked) place(t *testing.T, path string, m tarMember) {
	t.Helper()
	if there, ok := u[path]; ok && there.kind != m.kind {
		t.Errorf("%q has another type already", path)
	}
	if at := strings.LastIndexByte(path, '/'); at >= 0 && u[path[:at]].kind != tar.TypeDir &&
		!strings.Contains(path, ".repomcp") {
		t.Errorf("%q comes before its folder", path)
	}
	u[path] = m
}

// remove takes one path away, which has to be there, and to be empty.
func (u unpacked) remove(t *testing.T, path string) {
	t.Helper()
	path = strings.TrimSuffix(path, "/")
	if _, ok := u[path]; !ok {
		t.Errorf("%q is to be removed, but not there", path)
	}
	for other := range u {
		if strings.HasPrefix(other, path+"/") {
			t.Errorf("%q is to be removed before %q", path, other)
		}
	}
	delete(u, path)
}

// deltaDocument is the first member of a delta.
type deltaDocument struct {
	Version                                            int
	Base, Head, Profile                                string
	Deleted, TypeChanged, ModeChanged, Added, Modified []string
}

func readDelta(t *testing.T, content string) deltaDocument {
	t.Helper()
	var d deltaDocument
	if err := json.Unmarshal([]byte(content), &d); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	for _, list := range []*[]string{&d.Deleted, &d.TypeChanged, &d.ModeChanged, &d.Added, &d.Modified} {
		for i, path := range *list {
			plain, err := url.PathUnescape(path)
			if err != nil {
				t.Fatal(err)
			}
			(*list)[i] = plain
		}
	}
	return d
}

// apply brings what is there from the base to the head as a client does, and
// holds the lists of the delta against its members.
func (u unpacked) apply(t *testing.T, prefix string, delta []byte) {
	t.Helper()
	before := maps.Clone(u)
	tr := tar.NewReader(bytes.NewReader(delta))
	place := prefix + ".repomcp/manifest.json"
	h, err := tr.Next()
	for err == nil && h.Name != place {
		if h.Typeflag != tar.TypeXGlobalHeader && h.Name != prefix {
			t.Errorf("%q comes before the manifest", h.Name)
		}
		h, err = tr.Next()
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(tr)
	if err != nil {
		t.Fatal(err)
	}
	d := readDelta(t, string(content))
	for _, path := range slices.Concat(d.Deleted, d.TypeChanged) {
		u.remove(t, path)
	}
	names := u.unpack(t, delta)
	delete(u, place)
	listed := map[string]bool{place: true, prefix: true}
	for status, list := range map[string][]string{"type": d.TypeChanged, "mode": d.ModeChanged, "added": d.Added,
		"modified": d.Modified} {
		for _, path := range list {
			listed[path] = true
			was, had := before[strings.TrimSuffix(path, "/")]
			is, has := u[strings.TrimSuffix(path, "/")]
			right := map[string]bool{
				"type": had, "added": !had, "modified": had && was.kind == is.kind,
				"mode": had && was.kind == is.kind && was.mode != is.mode && was.content == is.content,
			}
			if !has || !slices.Contains(names, path) || !right[status] {
				t.Errorf("%q is listed as %s; it was %v %.40v, is %v %.40v", path, status, had, was, has, is)
			}
		}
	}
	for _, name := range names {
		if was, had := before[strings.TrimSuffix(name, "/")]; !listed[name] && (!had || was.kind != tar.TypeDir) {
			t.Errorf("%q was sent and is not listed", name)
		}
	}
}

// TestDeltaBringsTheBaseToTheHead is the property that deltas are for.
func TestDeltaBringsTheBaseToTheHead(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	selections := []archive.Options{
		{}, {}, {Prefix: "p/"}, {Prefix: "glued-"}, {Paths: []string{"a", "d"}}, {Exclude: []string{"a"}},
		{Paths: []string{"*1"}}, {Strip: "a"}, {Strip: "d", Prefix: "s/"},
		{Paths: []string{":(icase)A", "ballast/1*"}, Exclude: []string{"*/d"}},
	}
	counts := make(map[string]int)
	seeds := gittest.Volume(12, 28) // histories of eight kinds
	for seed := range uint64(seeds) {
		repo, ids, trees := evolve(t, seed, 5)
		o := open(t, repo)
		for i, base := range ids {
			for j, head := range ids {
				for n, profile := range profiles {
					options := selections[(i+3*j+n+int(seed))%len(selections)]
					options.Format, options.Profile = archive.Tar, profile
					comparePair(t, o, base, head, options, maps.Equal(attributesIn(trees[i]), attributesIn(trees[j])),
						counts)
				}
			}
		}
	}
	if counts["archive"] < 10*seeds || counts["full"] < 10*seeds || counts["worktree"] < 10*seeds ||
		counts["worktree with other attributes"] < seeds || counts[archive.AttributesChanged] < seeds/2 {
		t.Errorf("compared %v, too few", counts)
	}
	t.Log(counts)
}

func comparePair(t *testing.T, o opened, base, head string, options archive.Options, sameAttributes bool,
	counts map[string]int) {
	t.Helper()
	whole, err := o.plan(t, head, options)
	if errors.As(err, new(*archive.NoMatchError)) {
		counts["nothing"]++
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want, got := make(unpacked), make(unpacked)
	wantTar := write(t, whole)
	want.unpack(t, wantTar)
	before, baseErr := o.plan(t, base, options)
	options.Base = base
	name := fmt.Sprintf("%.6s..%.6s %+v", base, head, options)
	p, err := o.plan(t, head, options)
	if errors.As(baseErr, new(*archive.NoMatchError)) {
		wantFullNeeded(t, name, err, archive.BaseUnknown)
		counts[archive.BaseUnknown]++
		return
	}
	if baseErr != nil {
		t.Fatal(baseErr)
	}
	got.unpack(t, write(t, before))
	if options.Profile == archive.ProfileArchive && !sameAttributes {
		wantFullNeeded(t, name, err, archive.AttributesChanged)
		counts[archive.AttributesChanged]++
		return
	}
	if needed := (*archive.FullNeededError)(nil); errors.As(err, &needed) && needed.Reason == archive.DeltaLarger &&
		len(want) < 12 {
		counts[archive.DeltaLarger]++ // of a small selection
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !sameAttributes {
		counts[string(options.Profile)+" with other attributes"]++
	}
	delta := write(t, p)
	if len(delta) > len(wantTar) {
		t.Errorf("%s: the delta has %d bytes, the full archive %d", name, len(delta), len(wantTar))
	}
	got.apply(t, options.Prefix, delta)
	if !maps.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", name, got, want)
	}
	if m, err := p.Measure(t.Context()); err != nil || m.Bytes != int64(len(delta)) {
		t.Errorf("%s: measured %+v, %v; the delta has %d bytes", name, m, err, len(delta))
	}
	if counts[string(options.Profile)]++; counts[string(options.Profile)]%10 == 0 {
		compareRanges(t, name, p, delta)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func wantFullNeeded(t *testing.T, name string, err error, reason string) {
	t.Helper()
	var needed *archive.FullNeededError
	if !errors.As(err, &needed) || needed.Reason != reason {
		t.Errorf("%s: %v, want %q", name, err, reason)
	}
}

// TestDeltaOnDisk applies deltas with the tar of the system.
func TestDeltaOnDisk(t *testing.T) {
	files := func(extra ...gittest.File) []gittest.File {
		for i := range 30 {
			extra = append(extra, gittest.Regular(fmt.Sprintf("same/%d", i), "x"))
		}
		return extra
	}
	repo := gittest.New(t)
	base := repo.Commit("main", files(gittest.Regular("file-to-folder", "1"),
		gittest.Regular("folder-to-file/a/b", "1"), gittest.Symlink("link-to-file", "same"),
		gittest.Regular("file-to-link", "x"), gittest.Regular("mode", "x"), gittest.Regular("gone/deep/er",
			"x"), gittest.Gitlink("link-to-folder", strings.Repeat("a", 40)), gittest.Regular("with blank\n", "1"))...)
	repo.Commit("main", files(gittest.Regular("file-to-folder/x/y", "1"), gittest.Regular("folder-to-file", "1"),
		gittest.Regular("link-to-file", "2"),
		gittest.Symlink("file-to-link", "same"), gittest.Executable("mode", "x"), gittest.Regular("new/deep/er",
			"x"), gittest.Regular("link-to-folder/a", "1"), gittest.Gitlink("gl", strings.Repeat("b", 40)))...)
	got, want := t.TempDir(), t.TempDir()
	extract := func(dir string, content []byte) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "tar", "xf", "-", "-C", dir)
		cmd.Stdin = bytes.NewReader(content)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	extract(want, write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar})))
	extract(got, write(t, plan(t, repo, base, archive.Options{Format: archive.Tar})))
	delta := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar, Base: base}))
	var content bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "tar", "xOf", "-", ".repomcp/manifest.json")
	cmd.Stdin, cmd.Stdout = bytes.NewReader(delta), &content
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	d := readDelta(t, content.String())
	for _, path := range slices.Concat(d.Deleted, d.TypeChanged) {
		if err := os.Remove(filepath.Join(got, path)); err != nil {
			t.Error(err)
		}
	}
	extract(got, delta)
	if err := os.RemoveAll(filepath.Join(got, ".repomcp")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "diff", "-r", "--no-dereference", got,
		want).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	modes, err := exec.CommandContext(t.Context(), "sh", "-c",
		`cd "$1" && find . ! -type l -printf '%P %m\n' | sort >"$1.modes"; cd "$2" && find . ! -type l -printf '%P %m\n' | sort | diff "$1.modes" -`, "sh", got, want).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, modes)
	}
}
