package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// pointerTo is the pointer that git-lfs stores for a content.
func pointerTo(content string) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oidOf(content),
		len(content))
}

func oidOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func objectName(content string) string {
	oid := oidOf(content)
	return filepath.Join("lfs", "objects", oid[:2], oid[2:4], oid)
}

// store puts contents where git-lfs keeps them.
func store(repo *gittest.Repo, contents ...string) {
	for _, content := range contents {
		repo.WriteFile(objectName(content), []byte(content))
	}
}

// smudge makes git replace pointers as git-lfs does: a filter of a few lines
// that takes the object, or leaves the pointer where there is none.
func smudge(t *testing.T, repo *gittest.Repo) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "smudge")
	text := fmt.Sprintf(`#!/bin/sh
f=$(mktemp) && cat >"$f"
oid=$(sed -n 's/^oid sha256:\([0-9a-f]*\).*$/\1/p' "$f" | head -n 1)
object=%q/lfs/objects/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-4)/$oid
if [ -n "$oid" ] && [ -f "$object" ]; then cat "$object"; else cat "$f"; fi
rm "$f"
`, repo.Dir)
	gittest.WriteProgram(t, script, text)
	repo.Git("config", "filter.lfs.smudge", script)
	repo.Git("config", "filter.lfs.required", "true")
}

// pointed are trees with pointers, and the contents that the mirror has.
func pointed() map[string]struct {
	files []gittest.File
	held  []string
} {
	track := gittest.Regular(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	small, middle, large := "small\n", strings.Repeat("0123456789abcdef", 20_000), strings.Repeat("fedcba9876543210",
		300_000)
	held := []string{small, "", middle, large}
	type tree = struct {
		files []gittest.File
		held  []string
	}
	return map[string]tree{
		"sizes": {[]gittest.File{
			track, gittest.Regular("a.bin", pointerTo(small)), gittest.Regular("b.bin", pointerTo("")),
			gittest.Regular("c.bin", pointerTo(middle)),
			gittest.Executable("d/e.bin", pointerTo(large)), gittest.Regular("z", "after"),
		}, held},
		"missing": {[]gittest.File{track, gittest.Regular("a.bin", pointerTo("not here")),
			gittest.Regular("b.bin", pointerTo(small))}, held},
		"not tracked": {[]gittest.File{track, gittest.Regular("a.txt", pointerTo(small)),
			gittest.Regular("b.bin", pointerTo(small))}, held},
		"another filter": {[]gittest.File{gittest.Regular(".gitattributes", "a filter=other\nb filter\nc -filter\n"),
			gittest.Regular("a", pointerTo(small)), gittest.Regular("b", pointerTo(small)),
			gittest.Regular("c", pointerTo(small))}, held},
		"no pointers": {[]gittest.File{track, gittest.Regular("a.bin", "plain"),
			gittest.Regular("b.bin", strings.Repeat("long", 500_000)), gittest.Regular("c.bin", ""),
			gittest.Regular("d.bin", strings.Repeat("x", 1024))}, held},
		"links": {[]gittest.File{track, gittest.Symlink("a.bin", pointerTo(small)),
			gittest.Gitlink("g.bin", strings.Repeat("a", 40))}, held},
		"left out": {[]gittest.File{gittest.Regular(".gitattributes", "*.bin filter=lfs export-ignore\n"),
			gittest.Regular("a.bin", pointerTo(small)), gittest.Regular("b", "1")}, held},
		"lines and idents": {[]gittest.File{gittest.Regular(".gitattributes", "*.bin filter=lfs text eol=crlf ident\n"),
			gittest.Regular("a.bin", pointerTo("$Id$\none\ntwo\n")), gittest.Regular("b.bin", "one\ntwo\n"),
			gittest.Regular("c.bin", pointerTo("$Id$\nnot here"))}, []string{"$Id$\none\ntwo\n"}},
		"substituted": {[]gittest.File{gittest.Regular(".gitattributes", "*.bin filter=lfs export-subst eol=crlf\n"),
			gittest.Regular("a.bin", pointerTo("$Format:%H$\n")), gittest.Regular("b.bin", "$Format:%H$\n"),
			gittest.Regular("c.bin", pointerTo("none $Format:%H$"))}, []string{"$Format:%H$\n"}},
		"many": {manyPointers(track), manyHeld()},
	}
}

func manyPointers(track gittest.File) []gittest.File {
	files := []gittest.File{track}
	for i, content := range manyHeld() {
		files = append(files, gittest.Regular(fmt.Sprintf("d%d/f%03d.bin", i%7, i), pointerTo(content)),
			gittest.Regular(fmt.Sprintf("d%d/f%03d.txt", i%7, i), "beside"))
	}
	return files
}

func manyHeld() []string {
	var contents []string
	for i := range 60 {
		contents = append(contents, strings.Repeat(string(rune('a'+i%26)), i*4001))
	}
	return contents
}

func TestPointedTarIsGitArchiveWithAFilter(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	compared, trees := 0, 0
	for name, tree := range pointed() {
		trees++
		repo := gittest.New(t)
		smudge(t, repo)
		store(repo, tree.held...)
		commit := repo.Commit("main", tree.files...)
		for i, prefix := range []string{"", "p/q/"} {
			if (i+trees)%gittest.Volume(2, 1) != 0 { // by turns
				continue
			}
			comparePointed(t, name, repo, archive.Options{Prefix: prefix},
				repo.Archive("--format=tar", "--prefix="+prefix, commit))
			compared++
		}
		// The complete tree is that of git with no attribute but the filter.
		repo.WriteFile("info/attributes", []byte("* filter=lfs\n"))
		want := repo.Archive("--format=tar", "--worktree-attributes", commit)
		comparePointed(t, name, repo, archive.Options{Profile: archive.ProfileFull}, want)
		compared++
	}
	if want := gittest.Volume(2, 3) * len(pointed()); compared != want || compared < 20 {
		t.Errorf("compared %d archives, want %d", compared, want)
	}
}

func comparePointed(t *testing.T, name string, repo *gittest.Repo, options archive.Options, want []byte) {
	t.Helper()
	options.Format, options.LFS = archive.Tar, archive.LFSContent
	name = fmt.Sprintf("%s, prefix %q, profile %q", name, options.Prefix, options.Profile)
	p := plan(t, repo, "main", options)
	got := write(t, p)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: tar differs", name)
		gittest.DiffTar(t, gittest.ReadTar(t, bytes.NewReader(got)), gittest.ReadTar(t, bytes.NewReader(want)))
		return
	}
	if measure, err := p.Measure(t.Context()); err != nil || measure.Bytes != int64(len(got)) {
		t.Errorf("%s: measured %+v, %v; the archive has %d bytes", name, measure, err, len(got))
	}
	if v, err := p.Validator(t.Context()); err != nil || !v.Weak {
		t.Errorf("%s: validator %+v, %v", name, v, err)
	}
	compareRanges(t, name, p, got)
	options.Format = archive.TarGz
	if again := gunzip(t, write(t, plan(t, repo, "main", options))); !bytes.Equal(again, want) {
		t.Errorf("%s: the tar in tar.gz differs", name)
	}
}

func TestPointersStayWithoutTheOption(t *testing.T) {
	tree := pointed()["sizes"]
	repo := gittest.New(t)
	store(repo, tree.held...)
	commit := repo.Commit("main", tree.files...)
	for _, choice := range []archive.LFS{"", archive.LFSPointers} {
		if got := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar, LFS: choice})); !bytes.Equal(got,
			repo.Archive("--format=tar", commit)) {
			t.Errorf("lfs=%q: tar differs", choice)
		}
	}
}

func TestAPointerWithExtensionsStays(t *testing.T) {
	repo := gittest.New(t)
	store(repo, "content")
	text := strings.Replace(pointerTo("content"), "oid", "ext-0-foo sha256:"+strings.Repeat("a", 64)+"\noid", 1)
	commit := repo.Commit("main", gittest.Regular("a", text))
	got := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileFull,
		LFS: archive.LFSContent}))
	if !bytes.Equal(got, repo.Archive("--format=tar", commit)) {
		t.Error("tar differs")
	}
}

// TestDamagedObjectsEndTheArchive spoils what a pointer names in all ways.
func TestDamagedObjectsEndTheArchive(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	small, large := "a small object", strings.Repeat("a large object ", 400_000)
	outside := filepath.Join(t.TempDir(), "outside")
	for name, spoil := range map[string]func(file, content string) error{
		"other content": func(file, content string) error {
			return os.WriteFile(file, []byte(strings.ToUpper(content)), 0o600)
		},
		"last byte": func(file, content string) error {
			return os.WriteFile(file, []byte(content[:len(content)-1]+"!"), 0o600)
		},
		"shorter": func(file, content string) error { return os.WriteFile(file, []byte(content[1:]), 0o600) },
		"longer":  func(file, content string) error { return os.WriteFile(file, []byte(content+"!"), 0o600) },
		"empty":   func(file, _ string) error { return os.WriteFile(file, nil, 0o600) },
		"link out of the root": func(file, content string) error {
			return errors.Join(os.WriteFile(outside, []byte(content), 0o600), os.Remove(file),
				os.Symlink(outside, file))
		},
		"folder": func(file, _ string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"pipe":   func(file, _ string) error { return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)) },
		"loop": func(file, _ string) error {
			return errors.Join(os.Remove(file),
				os.Symlink(filepath.Base(file), file))
		},
	} {
		for _, content := range []string{small, large} {
			for _, attributes := range []string{"a filter=lfs\n", "a filter=lfs export-subst\n"} {
				repo := gittest.New(t)
				store(repo, content)
				repo.Commit("main", gittest.Regular(".gitattributes", attributes),
					gittest.Regular("a", pointerTo(content)), gittest.Regular("b", "after"))
				if err := spoil(filepath.Join(repo.Dir, objectName(content)), content); err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				err := plan(t, repo, "main", archive.Options{Format: archive.Tar, LFS: archive.LFSContent}).WriteTo(
					t.Context(), &out)
				if !errors.Is(err, git.ErrLFS) {
					t.Errorf("%s of %d bytes, %q: %v", name, len(content), attributes, err)
				}
				if bytes.Contains(out.Bytes(), []byte("after")) {
					t.Errorf("%s of %d bytes, %q: the archive goes on", name, len(content), attributes)
				}
			}
		}
	}
}

func TestAWrongSizeIsMeasuredAsDamage(t *testing.T) {
	repo := gittest.New(t)
	store(repo, "content")
	repo.Commit("main", gittest.Regular("a", strings.Replace(pointerTo("content"), "size 7", "size 8", 1)))
	_, err := plan(t, repo, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileFull,
		LFS: archive.LFSContent}).Measure(t.Context())
	if !errors.Is(err, git.ErrLFS) {
		t.Error(err)
	}
}

// TestTagTellsWhichObjectsAreThere: an archive that was made before an object
// came must not pass for the one after.
func TestTagTellsWhichObjectsAreThere(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular(".gitattributes", "* filter=lfs\n"), gittest.Regular("a", pointerTo("one")),
		gittest.Regular("b", pointerTo("two")), gittest.Regular("c", "plain"))
	tags := make(map[string]bool)
	options := archive.Options{Format: archive.Tar, LFS: archive.LFSContent}
	for _, content := range []string{"", "one", "two"} {
		store(repo, content)
		first, second := validator(t, repo, "main", options), validator(t, repo, "main", options)
		if first != second || !first.Weak {
			t.Errorf("validators %v and %v of the same archive", first, second)
		}
		tags[first.Tag] = true
	}
	tags[validator(t, repo, "main", archive.Options{Format: archive.Tar}).Tag] = true
	if len(tags) != 4 {
		t.Errorf("%d different tags, want 4", len(tags))
	}
	store(repo, "one")
	repo.WriteFile(objectName("two"), []byte("twofold"))
	if _, err := plan(t, repo, "main", options).Validator(t.Context()); !errors.Is(err, git.ErrLFS) {
		t.Errorf("of an object of a wrong size: %v", err)
	}
}

func TestObjectsCountForTheLimits(t *testing.T) {
	for _, content := range []string{strings.Repeat("x", 2000), strings.Repeat("x", 2_000_000)} {
		repo := gittest.New(t)
		store(repo, content)
		repo.Commit("main", gittest.Regular("a", pointerTo(content)))
		for _, limits := range []archive.Limits{{BlobBytes: int64(len(content)) - 1}, {Bytes: int64(len(content))}} {
			p := plan(t, repo, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileFull,
				LFS: archive.LFSContent, Limits: limits})
			if err := p.WriteTo(t.Context(), &bytes.Buffer{}); !errors.Is(err, archive.ErrLimit) {
				t.Errorf("%+v: %v", limits, err)
			}
			if _, err := p.Measure(t.Context()); !errors.Is(err, archive.ErrLimit) {
				t.Errorf("%+v: measured: %v", limits, err)
			}
		}
	}
}
