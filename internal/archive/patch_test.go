package archive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// patchedMember is one of a delta, with what a client makes of it.
type patchedMember struct {
	header  string // name, type, mode, time and link
	content string
}

// unpatch reads a delta as a client does that has the base, and counts the patches.
func unpatch(t *testing.T, base unpacked, delta []byte) (members []patchedMember, patches int) {
	t.Helper()
	tr := tar.NewReader(bytes.NewReader(delta))
	var listed map[string][2]string
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return members, patches
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		switch record := strings.Fields(h.PAXRecords["REPOMCP.patch"]); {
		case strings.HasSuffix(h.Name, ".repomcp/manifest.json"):
			listed = listedPatches(t, content)
			continue
		case len(record) == 3:
			old := base[h.Name].content
			if blobID([]byte(old)) != record[0] || listed[h.Name] != [2]string{record[0], record[1]} {
				t.Fatalf("%s: the patch is for %v, the manifest has %v, the base %s", h.Name, record, listed[h.Name],
					blobID([]byte(old)))
			}
			content = applied(t, old, content)
			if blobID(content) != record[1] || fmt.Sprint(len(content)) != record[2] {
				t.Fatalf("%s: the patch makes %d bytes, %s; it says %v", h.Name, len(content), blobID(content), record)
			}
			patches++
		case len(record) > 0:
			t.Fatalf("%s: %q", h.Name, record)
		}
		header := fmt.Sprint(h.Name, h.Typeflag, h.Mode, h.ModTime, h.Linkname)
		members = append(members, patchedMember{header, string(content)})
	}
}

func listedPatches(t *testing.T, manifest []byte) map[string][2]string {
	t.Helper()
	var m struct {
		Patches []struct{ Path, Base, ID string }
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	listed := map[string][2]string{}
	for _, p := range m.Patches {
		listed[p.Path] = [2]string{p.Base, p.ID}
	}
	return listed
}

func applied(t *testing.T, base string, patch []byte) []byte {
	t.Helper()
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, []byte(base)), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	content, err := decoder.DecodeAll(patch, nil)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// textHistory makes a repository whose files have lines that change.
func textHistory(t *testing.T, seed uint64, commits int) (repo *gittest.Repo, ids []string) {
	t.Helper()
	repo, r := gittest.New(t), rand.New(rand.NewPCG(seed, 5))
	texts := map[string]string{}
	for i := range 30 {
		texts[fmt.Sprintf("d%d/%s%d.txt", i%4, strings.Repeat("long/", i%3*8), i)] = gittest.Text(r, 5+r.IntN(500))
	}
	texts["noise"] = gittest.Noise(300_000)
	for range commits {
		var files []gittest.File
		for _, path := range slices.Sorted(maps.Keys(texts)) {
			text := texts[path]
			switch r.IntN(6) {
			case 0, 1:
				text = gittest.Edit(r, text, 1+r.IntN(4))
			case 2:
				text = gittest.Text(r, 5+r.IntN(300))
			}
			if r.IntN(40) == 0 {
				text = ""
			}
			texts[path] = text
			if r.IntN(5) == 0 {
				files = append(files, gittest.Executable(path, text))
			} else {
				files = append(files, gittest.Regular(path, text))
			}
		}
		ids = append(ids, repo.Commit("main", files...))
	}
	return repo, ids
}

func comparePatched(t *testing.T, o opened, base, head string, options archive.Options) (patches int) {
	t.Helper()
	options.Format, options.Base = archive.Tar, ""
	before, err := o.plan(t, base, options)
	if err != nil {
		t.Fatal(err)
	}
	tree := make(unpacked)
	tree.unpack(t, write(t, before))
	options.Base = base
	files, err := o.plan(t, head, options)
	if errors.As(err, new(*archive.FullNeededError)) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	options.Delta = archive.DeltaPatch
	p, err := o.plan(t, head, options)
	if errors.As(err, new(*archive.FullNeededError)) {
		return 0 // since the manifest is larger
	}
	if err != nil {
		t.Fatal(err)
	}
	whole := write(t, files)
	want, none := unpatch(t, tree, whole)
	delta := write(t, p)
	got, patches := unpatch(t, tree, delta)
	if none != 0 || len(got) != len(want) {
		t.Fatalf("%.8s..%.8s: %d members, want %d; %d patches without a request, want none", base, head, len(got), len(want),
			none)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%.8s..%.8s: %s has %d bytes, want %s with %d", base, head, got[i].header, len(got[i].content),
				want[i].header, len(want[i].content))
		}
	}
	if m, err := p.Measure(t.Context()); err != nil || m.Bytes != int64(len(delta)) {
		t.Errorf("%.8s..%.8s: measured %+v, %v; the delta has %d bytes", base, head, m, err, len(delta))
	}
	if patches > 0 {
		compareRanges(t, base+".."+head, p, delta)
	}
	return patches
}

func TestPatchesMakeTheFilesOfTheHead(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	patches, pairs := 0, 0
	for seed := range uint64(gittest.Volume(1, 30)) {
		repo, ids := textHistory(t, seed, 4)
		o := open(t, repo)
		for _, base := range ids {
			for _, head := range ids {
				options := archive.Options{Prefix: []string{"", "p/"}[pairs%2],
					Profile: profiles[pairs/2%3]}
				patches += comparePatched(t, o, base, head, options)
				pairs++
			}
		}
	}
	t.Logf("%d patches in %d pairs", patches, pairs)
	if patches < 2*pairs {
		t.Errorf("%d patches in %d pairs are few", patches, pairs)
	}
}

// TestPatchesOfAMirror goes through the last steps of a real repository.
func TestPatchesOfAMirror(t *testing.T) {
	dir := os.Getenv("REPOMCP_BENCH_REPO")
	if dir == "" {
		t.Skip("set REPOMCP_BENCH_REPO to the path of a bare repository")
	}
	repo := gittest.Existing(t, dir)
	steps := strings.Fields(repo.Git("rev-list", "--first-parent", "-n", fmt.Sprint(gittest.Volume(21, 201)), "HEAD"))
	o, patches := open(t, repo), 0
	for i := range steps[1:] {
		patches += comparePatched(t, o, steps[i+1], steps[i], archive.Options{Profile: archive.ProfileFull})
	}
	t.Logf("%d patches in %d steps", patches, len(steps)-1)
	if len(steps) > 1 && patches == 0 {
		t.Error("there are no patches")
	}
}

func TestPatchedFormatsHoldTheTar(t *testing.T) {
	repo, ids := textHistory(t, 77, 2)
	options := archive.Options{Base: ids[0], Delta: archive.DeltaPatch, Profile: archive.ProfileFull}
	sums := map[archive.Format]string{}
	var want []byte
	for _, format := range []archive.Format{archive.Tar, archive.TarGz, archive.TarZst, archive.TarXz} {
		options.Format = format
		content := write(t, plan(t, repo, "main", options))
		sum := sha256.Sum256(content)
		sums[format] = hex.EncodeToString(sum[:])
		var err error
		switch format {
		case archive.TarGz:
			content = gunzip(t, content)
		case archive.TarZst:
			content = applied(t, "", content)
		case archive.TarXz:
			var in io.Reader
			if in, err = xz.NewReader(bytes.NewReader(content)); err == nil {
				content, err = io.ReadAll(in)
			}
		default:
			want = content
		}
		if err != nil || !bytes.Equal(content, want) {
			t.Errorf("%s: %d bytes, want %d: %v", format, len(content), len(want), err)
		}
	}
	// As in TestBytesAreAPromise: the bytes change with a version only.
	const golden = "0af508a138f2446d262f966c6251f2eef8b29af41c40a69361726f9405be36e7"
	if sums[archive.Tar] != golden {
		t.Errorf("the digest is %s, not %s", sums[archive.Tar], golden)
	}
}

func TestPatchesAreTheSameForAnyNumberOfWorkers(t *testing.T) {
	repo, ids := textHistory(t, 5, 3)
	o := open(t, repo)
	var first []byte
	for _, workers := range []int{1, 2, 7} {
		engine, err := archive.NewEngine(archive.EngineOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		p, err := opened{engine, o.snapshot}.plan(t, ids[2], archive.Options{Format: archive.TarZst, Base: ids[0],
			Delta: archive.DeltaPatch})
		if err != nil {
			t.Fatal(err)
		}
		content := write(t, p)
		if first == nil {
			first = content
		}
		if !bytes.Equal(content, first) {
			t.Errorf("%d workers make other bytes", workers)
		}
		engine.Close()
	}
}

// patchesOf makes a delta and says which members are patches.
func patchesOf(t *testing.T, repo *gittest.Repo, options archive.Options) (paths []string, length int) {
	t.Helper()
	options.Format, options.Delta = archive.Tar, archive.DeltaPatch
	content := write(t, plan(t, repo, "main", options))
	tr := tar.NewReader(bytes.NewReader(content))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return paths, len(content)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.PAXRecords["REPOMCP.patch"] != "" {
			paths = append(paths, h.Name)
		}
	}
}

func TestWhatIsPatched(t *testing.T) {
	gittest.Long(t)
	lines := strings.Repeat("a line that is the same\n", 1000)
	noise := gittest.Noise(6 << 20)
	base := with(
		gittest.Regular(".gitattributes", "crlf eol=crlf\nsubst export-subst\n"),
		gittest.Regular("changed", lines), gittest.Regular("to-executable", lines), gittest.Regular("mode", lines),
		gittest.Regular("crlf", lines), gittest.Regular("subst", lines), gittest.Symlink("link", "changed"),
		gittest.Regular("to-link", lines),
		gittest.Symlink("from-link", "changed"), gittest.Regular("small", "one\n"),
		gittest.Regular("other", noise[:50_000]),
		gittest.Regular("largest", noise[:1<<20]), gittest.Regular("larger", noise[:1<<20]),
		gittest.Regular("shrinks", noise[:3<<20]),
		gittest.Regular("half", noise[:1<<20]), gittest.Regular("removed", lines))
	head := with(
		gittest.Regular(".gitattributes", "crlf eol=crlf\nsubst export-subst\n"),
		gittest.Regular("changed", lines+"more\n"), gittest.Executable("to-executable", "more\n"+lines),
		gittest.Executable("mode", lines),
		gittest.Regular("crlf", lines+"more\n"), gittest.Regular("subst", lines+"more\n"),
		gittest.Symlink("link", "half"), gittest.Symlink("to-link", "changed"),
		gittest.Regular("from-link", lines), gittest.Regular("small", "two\n"),
		gittest.Regular("other", noise[50_000:100_000]),
		gittest.Regular("largest", noise[1:1<<20]+"x"), gittest.Regular("larger", noise[:1<<20]+"x"),
		gittest.Regular("shrinks", noise[:1<<19]),
		gittest.Regular("half", noise[:1<<19]+noise[2<<20:5<<19]), gittest.Regular("renamed", lines))
	repo := gittest.New(t)
	from := repo.Commit("main", base...)
	repo.Commit("main", head...)
	for profile, want := range map[archive.Profile]string{
		archive.ProfileArchive:  "changed half largest to-executable",
		archive.ProfileFull:     "changed crlf half largest subst to-executable",
		archive.ProfileWorktree: "changed half largest subst to-executable",
	} {
		paths, length := patchesOf(t, repo, archive.Options{Base: from, Profile: profile})
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%s: %s are patches, want %s", profile, got, want)
		}
		if length > 5<<19 {
			t.Errorf("%s: %d bytes", profile, length)
		}
	}
	if paths, _ := patchesOf(t, repo, archive.Options{Base: from, Paths: []string{"half"},
		Fallback: archive.FallbackFull}); len(paths) != 1 {
		t.Errorf("with a path: %q", paths)
	}
}

func TestPatchOption(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", with(gittest.Regular("a", strings.Repeat("line\n", 999)))...)
	repo.Commit("main", with(gittest.Regular("a", strings.Repeat("line\n", 1000)))...)
	tag := func(o archive.Options) string {
		o.Format = archive.TarGz
		return validator(t, repo, "main", o).Tag
	}
	whole, files, patch := tag(archive.Options{}), tag(archive.Options{Base: base}), tag(archive.Options{Base: base,
		Delta: archive.DeltaPatch})
	if whole == files || files == patch || whole == patch {
		t.Error("archives of other bytes have the same tag")
	}
	if tag(archive.Options{Delta: archive.DeltaPatch}) != whole ||
		tag(archive.Options{Base: base, Delta: archive.DeltaFiles}) != files {
		t.Error("archives of the same bytes have other tags")
	}
	unknown := archive.Options{Base: strings.Repeat("1", 40), Fallback: archive.FallbackFull, Delta: archive.DeltaPatch}
	if tag(unknown) != whole {
		t.Error("what falls back to the full archive has another tag")
	}
	for _, refused := range []archive.Options{{Format: archive.Zip, Base: base, Delta: archive.DeltaPatch},
		{Format: archive.Tar, Base: base, Delta: "diff"}} {
		if _, err := tryPlan(t, repo, "main", refused); !errors.Is(err, archive.ErrOption) {
			t.Errorf("%+v: %v", refused, err)
		}
	}
	manifest := write(t,
		plan(t, repo, "main", archive.Options{Format: archive.Manifest, Base: base, Delta: archive.DeltaPatch}))
	if listed := listedPatches(t, manifest); len(listed) != 1 ||
		!strings.Contains(string(manifest), `"delta":"patch"`) {
		t.Errorf("the manifest has %v", listed)
	}
}

func TestOldContentThatIsDamagedEndsTheArchive(t *testing.T) {
	repo := gittest.New(t)
	old := strings.Repeat("line\n", 999)
	base := repo.Commit("main", with(gittest.Regular("a", old))...)
	repo.Commit("main", with(gittest.Regular("a", old+"more"))...)
	p := plan(t, repo, "main", archive.Options{Format: archive.Tar, Base: base, Delta: archive.DeltaPatch})
	id := repo.Git("rev-parse", base+":a")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteTo(t.Context(), io.Discard); err == nil {
		t.Error("it is whole")
	}
}
