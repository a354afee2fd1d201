package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func blobID(content string) ID {
	return sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
}

func sample(t testing.TB) []byte {
	return archive(t,
		entry{name: "pax_global_header", kind: tar.TypeXGlobalHeader, pax: map[string]string{"comment": "0123"}},
		dir("d/"), reg("d/a", "in a folder"), entry{name: "d/run", content: "#!", mode: 0o755},
		reg("d/e/f", "no member for its folder"), reg("empty", ""), reg("large", strings.Repeat("large", 100_000)),
		sym("link", "d/a"), reg("z", "last"),
	)
}

var sampleFiles = []string{
	"d", `d/a "in a folder"`, "d/e", `d/e/f "no member for its folder"`, `d/run* "#!"`, `empty ""`,
	`large "` + strings.Repeat("large", 8) + `"`, "link -> d/a", `z "last"`,
}

func TestTar(t *testing.T) {
	plain := func(_ testing.TB, b []byte) []byte { return b }
	for name, pack := range map[string]func(testing.TB, []byte) []byte{
		"plain": plain, "unseen": plain, "gzip": gzipped, "zstd": zstandard,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			done := map[string]Written{}
			report, err := p.unpack(t, pack(t, sample(t)),
				Options{Unseen: name == "unseen", Done: func(w Written) error {
					done[w.Path] = w
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			p.has(t, sampleFiles...)
			p.outside(t)
			want := Report{Files: 6, Folders: 2, Symlinks: 1, Bytes: 500_041, Comment: "0123"}
			if fmt.Sprint(report) != fmt.Sprint(want) {
				t.Errorf("the report is %+v, not %+v", report, want)
			}
			checkDone(t, p, done)
		})
	}
}

func checkDone(t *testing.T, p place, done map[string]Written) {
	t.Helper()
	if len(done) != len(sampleFiles) {
		t.Errorf("Done was told of %d", len(done))
	}
	for path, w := range done {
		info, err := p.root.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		content := ""
		switch w.Kind {
		case File:
			b, err := os.ReadFile(filepath.Join(p.dir, path))
			if err != nil {
				t.Fatal(err)
			}
			content = string(b)
		case Symlink:
			content, _ = p.root.Readlink(path)
		case Folder:
			if w.Info.Mode().IsDir() != info.IsDir() || w.Size != 0 {
				t.Errorf("%+v", w)
			}
			continue
		}
		if w.Size != int64(len(content)) || w.ID != blobID(content) || w.Info.Mode() != info.Mode() ||
			!w.Info.ModTime().Equal(info.ModTime()) {
			t.Errorf("%+v", w)
		}
	}
	if id := done["empty"].ID.String(); id != "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" {
		t.Errorf("the id of the empty file is %s", id)
	}
}

func TestSecondRunReplacesFilesByRename(t *testing.T) {
	p := newPlace(t)
	if _, err := p.unpack(t, sample(t)); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(filepath.Join(p.dir, "z"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	write(t, filepath.Join(p.dir, "mine"), "stays")
	if _, err := p.unpack(t, archive(t, reg("z", "new"), reg("link", "no link any more"))); err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(old); err != nil || string(content) != "last" {
		t.Errorf("the open file has %q, %v", content, err)
	}
	want := slices.Clone(sampleFiles)
	want[7], want[8] = `link "no link any more"`, `mine "stays"`
	p.has(t, append(want, `z "new"`)...)
}

// TestUnseenMakesNewFilesOnly: an unseen root is not one where something is.
func TestUnseenMakesNewFilesOnly(t *testing.T) {
	for name, there := range map[string]func(p place) error{
		"a file": func(p place) error { return p.root.WriteFile("a", []byte("mine"), 0o600) },
		"a link": func(p place) error { return p.root.Symlink("b", "a") },
	} {
		for kind, member := range map[string]entry{"file": reg("a", "x"), "link": sym("a", "c")} {
			t.Run(name+" under a "+kind, func(t *testing.T) {
				p := newPlace(t)
				if err := there(p); err != nil {
					t.Fatal(err)
				}
				before := p.files(t)
				if _, err := p.unpack(t, archive(t, member), Options{Unseen: true}); !errors.Is(err, fs.ErrExist) {
					t.Errorf("it gives %v", err)
				}
				p.has(t, before...)
			})
		}
	}
}

func TestChoose(t *testing.T) {
	p := newPlace(t)
	write(t, filepath.Join(p.dir, "edited"), "by hand")
	write(t, filepath.Join(p.dir, "was/folder"), "")
	if err := os.Remove(filepath.Join(p.dir, "was/folder")); err != nil {
		t.Fatal(err)
	}
	var asked []string
	var manifest []byte
	choose := func(m Member, content io.Reader) (c Choice, err error) {
		asked = append(asked, m.Path)
		switch m.Path {
		case "p/.repomcp/manifest.json":
			manifest, err = io.ReadAll(content)
			c.Skip = true
		case "edited", "skipped", "skipped/a":
			c.Skip = true
		case "patched":
			patch, err := io.ReadAll(content)
			whole := "whole, by " + string(patch)
			return Choice{Content: io.NopCloser(strings.NewReader(whole)), Size: int64(len(whole)),
				ID: blobID(whole)}, err
		case "was":
			return replace(m, content)
		}
		return c, err
	}
	report, err := p.unpack(t, archive(t,
		reg("p/.repomcp/manifest.json", "{}"), reg("edited", "upstream"), reg("patched", "patch"), dir("skipped/"),
		reg("skipped/a", "x"), reg("was", "now a file"), sym("l", "was"),
	), Options{Choose: choose})
	if err != nil {
		t.Fatal(err)
	}
	p.has(t, `edited "by hand"`, "l -> was", `patched "whole, by patch"`, `was "now a file"`)
	if string(manifest) != "{}" || report.Skipped != 4 || len(asked) != 7 {
		t.Errorf("manifest %q, %d skipped, asked for %q", manifest, report.Skipped, asked)
	}
}

func TestErrorsOfTheCallerEndTheRun(t *testing.T) {
	stop := errors.New("stop")
	for name, o := range map[string]Options{
		"Choose": {Choose: func(m Member, _ io.Reader) (Choice, error) {
			if m.Path == "empty" {
				return Choice{}, stop
			}
			return Choice{}, nil
		}},
		"Done": {Done: func(w Written) error {
			if w.Path == "d/run" {
				return stop
			}
			return nil
		}},
		"Done of a folder": {Done: func(w Written) error {
			if w.Kind == Folder {
				return stop
			}
			return nil
		}},
	} {
		p := newPlace(t)
		if _, err := p.unpack(t, sample(t), o); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
		for _, line := range p.files(t) {
			if !slices.Contains(sampleFiles, line) || strings.HasPrefix(line, "link") {
				t.Errorf("%s: the root has %s", name, line)
			}
		}
	}
}

// TestErrorsNameTheMember and no temporary file, which says nothing to a user.
func TestErrorsNameTheMember(t *testing.T) {
	long := strings.Repeat("n", 300) // which no file system can give to a file
	for name, member := range map[string]entry{
		"file": reg("d/"+long, "x"), "large file": reg("d/"+long, strings.Repeat("x", smallFile+1)),
		"link": sym("d/"+long, "x"), "folder": reg("d/"+long+"/a", "x"),
	} {
		for _, guarded := range []bool{false, true} {
			p, o := newPlace(t), Options{}
			if guarded {
				o.Choose = replace
			}
			_, err := p.unpack(t, archive(t, member), o)
			if err == nil || !strings.Contains(err.Error(), "d/"+long) || strings.Contains(err.Error(), temporaryPrefix) {
				t.Errorf("%s, guarded %v: %v", name, guarded, err)
			}
			p.has(t, "d")
		}
	}
}

// endless gives a member without end, slowly.
type endless struct {
	front   *bytes.Reader
	onBlock func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.front.Len() > 0 {
		return e.front.Read(p)
	}
	e.onBlock()
	return len(p), nil
}

func TestEndOfTheContext(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	blocks := 0
	header := rawHeader("endless", '0', "00777777777\x00") // 128 MiB, which disks have
	_, err := New(p.root, Options{}).Tar(ctx, &endless{bytes.NewReader(header), func() {
		if blocks++; blocks == 20 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.has(t)
}

func TestTimes(t *testing.T) {
	p := newPlace(t)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	then := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, ModTime: then}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, times := range []bool{true, false} {
		if _, err := p.unpack(t, out.Bytes(), Options{Times: times}); err != nil {
			t.Fatal(err)
		}
		info, err := p.root.Stat("a")
		if err != nil {
			t.Fatal(err)
		}
		if old := info.ModTime().Equal(then); old != times {
			t.Errorf("with Times %t the time is %v", times, info.ModTime())
		}
	}
}

func TestExternalLinksOnRequest(t *testing.T) {
	p := newPlace(t)
	target := filepath.Join(p.beside, "canary")
	_, err := p.unpack(t, archive(t, sym("a", target), sym("b", "../../canary"), reg("c", "good")),
		Options{AllowExternalSymlinks: true})
	if err != nil {
		t.Fatal(err)
	}
	p.has(t, "a -> "+target, "b -> ../../canary", `c "good"`)
	p.outside(t)
}

func TestWarnings(t *testing.T) {
	p := newPlace(t)
	report, err := p.unpack(t, archive(t, reg(".envrc", ""), reg(".vscode/tasks.json", ""), reg("x.envrc", "")))
	slices.Sort(report.Warnings)
	if err != nil || !slices.Equal(report.Warnings, []string{".envrc", ".vscode/tasks.json"}) {
		t.Errorf("%q, %v", report.Warnings, err)
	}
}

func TestNamesOfWindowsAreRefusedThere(t *testing.T) {
	for name, reason := range map[string]Reason{
		`C:\x`: Separator, "aux.c": DeviceName, "a.": InvalidName, "a:b": Separator,
	} {
		p := newPlace(t)
		u := New(p.root, Options{})
		u.goos = "windows"
		_, err := u.Tar(t.Context(), bytes.NewReader(archive(t, reg(name, "evil"))))
		if refused := (*RefusedError)(nil); !errors.As(err, &refused) || refused.Reason != reason {
			t.Errorf("%q: %v", name, err)
		}
		p.has(t)
		_, err = u.Tar(t.Context(), bytes.NewReader(archive(t, sym("l", name))))
		if refused := (*RefusedError)(nil); strings.ContainsAny(name, `\:`) && !errors.As(err, &refused) {
			t.Errorf("link to %q: %v", name, err)
		}
	}
}

func TestNoRoomForWhatIsExpected(t *testing.T) {
	p := newPlace(t)
	_, err := p.unpack(t, sample(t), Options{Size: 1 << 60})
	if !errors.Is(err, ErrNoSpace) {
		t.Error(err)
	}
	p.has(t)
}

func TestNamesHeldAreBounded(t *testing.T) {
	gittest.Long(t)
	r, w := io.Pipe()
	go func() {
		out := tar.NewWriter(w)
		for i := range 1 << 20 {
			if out.WriteHeader(&tar.Header{Name: fmt.Sprint("l", i), Typeflag: tar.TypeSymlink, Linkname: "x"}) != nil {
				return
			}
		}
		_ = w.Close()
	}()
	p := newPlace(t)
	_, err := New(p.root, Options{}).Tar(t.Context(), r)
	_ = r.Close()
	if limit := (*LimitError)(nil); !errors.As(err, &limit) || limit.Limit != "names" {
		t.Error(err)
	}
	p.has(t)
}

func TestManyFilesAtOnce(t *testing.T) {
	gittest.Long(t)
	p := newPlace(t)
	var entries []entry
	for i := range 2000 {
		entries = append(entries, reg(fmt.Sprintf("d%02d/f%04d", i/100, i), strings.Repeat(fmt.Sprint(i), i%500)))
	}
	var running, most atomic.Int64
	report, err := p.unpack(t, archive(t, entries...), Options{Done: func(Written) error {
		most.Store(max(most.Load(), running.Add(1)))
		running.Add(-1)
		return nil
	}})
	if err != nil || report.Files != 2000 || report.Folders != 20 || most.Load() != 1 {
		t.Errorf("%+v, %v, %d calls of Done at once", report, err, most.Load())
	}
	for _, e := range entries {
		if content, err := p.root.ReadFile(e.name); err != nil || string(content) != e.content {
			t.Fatalf("%s: %v", e.name, err)
		}
	}
}

func TestClean(t *testing.T) {
	p := newPlace(t)
	u := New(p.root, Options{})
	left := filepath.Join(p.dir, "d/e", temporaryPrefix+"x-1")
	write(t, left, "half")
	write(t, filepath.Join(p.dir, ".git", temporaryPrefix+"y"), "not of this program")
	linkAt(t, "../../canary", filepath.Join(p.dir, "l"))
	if err := u.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Error("Clean looked at all folders without a mark")
	}
	write(t, filepath.Join(p.dir, ".repomcp", markerName), "")
	write(t, filepath.Join(p.dir, ".repomcp", "state"), "kept")
	if err := u.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Error("Clean removed what may be a file of the user, in a folder that is kept in step")
	}
	u = New(p.root, Options{Ready: func(Written) error { return nil }})
	if _, err := u.Tar(t.Context(), bytes.NewReader(archive(t, reg("a", "")))); err != nil {
		t.Fatal(err)
	}
	p.has(t, ".git", `.git/.repomcp-tmp-y "not of this program"`, ".repomcp", `.repomcp/state "kept"`, `a ""`, "d",
		"d/e",
		"l -> ../../canary")
	p.outside(t)
}

// TestDamagedStreamsAreToldApart from those that could not be read, and from members
// that are refused.
func TestDamagedStreamsAreToldApart(t *testing.T) {
	broken := errors.New("broken")
	noise := strings.Repeat("some text of a file\n", 20_000)
	whole := archive(t, reg("a", "good"), reg("large", noise), reg("z", "good"))
	packed := zstandard(t, whole)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 4
		return b
	}
	for name, from := range map[string]io.Reader{
		"header":      bytes.NewReader(flip(whole, 1024)),
		"zstd":        bytes.NewReader(flip(packed, len(packed)/2)),
		"checksum":    bytes.NewReader(flip(packed, len(packed)-1)),
		"gzip header": bytes.NewReader([]byte{0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9}),
		"cut":         bytes.NewReader(whole[:len(whole)-1024]),
	} {
		p := newPlace(t)
		if _, err := New(p.root, Options{}).Tar(t.Context(), from); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, from := range map[string]io.Reader{
		"tar":  io.MultiReader(bytes.NewReader(whole[:5000]), iotest.ErrReader(broken)),
		"zstd": io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(broken)),
	} {
		p := newPlace(t)
		if _, err := New(p.root, Options{}).Tar(t.Context(), from); !errors.Is(err, broken) ||
			errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := newPlace(t)
	if _, err := p.unpack(t, archive(t, reg("../a", "x"))); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a member that is refused: %v", err)
	}
}
