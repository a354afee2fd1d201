package archive_test

import (
	stdzip "archive/zip"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// taggedTrees has refs of trees, by their kind.
func taggedTrees(t *testing.T) (repo *gittest.Repo, commit string, revisions []string) {
	t.Helper()
	repo = gittest.New(t)
	commit = repo.Commit("main",
		gittest.Regular(".gitattributes", "left-out export-ignore\nversion export-subst\n*.bat text eol=crlf\n"),
		gittest.Regular("version", "$Format:%H %d$\n"), gittest.Regular("run.bat", "echo\n"),
		gittest.Regular("left-out", "x"),
		gittest.Executable("bin/tool", "#!/bin/sh\n"), gittest.Symlink("bin/link", strings.Repeat("far/", 40)),
		gittest.Regular("long/"+strings.Repeat("n", 120)+"/file", "deep\n"))
	tree := repo.Git("rev-parse", "main^{tree}")
	tag := func(name, object, kind string) string {
		id := repo.GitInput(
			[]byte(fmt.Sprintf("object %s\ntype %s\ntag %s\ntagger A <a@b.c> 1110000000 +0200\n\nof a folder\n", object,
				kind, name)), "mktag")
		repo.SetRef("refs/tags/"+name, id)
		return id
	}
	inner := tag("annotated", tree, "tree")
	nested := tag("nested", inner, "tag")
	repo.SetRef("refs/tags/light", tree)
	return repo, commit, []string{"annotated", "refs/tags/nested", "light", "main^{tree}", "nested^{}", inner, nested,
		tree}
}

// withoutTimes sets the times of a tar to a number: git takes the moment in which it
// makes an archive of a tree.
func withoutTimes(t *testing.T, archive []byte, seconds int64) []byte {
	t.Helper()
	out := bytes.Clone(archive)
	for at := 0; at < len(out) && out[at] != 0; {
		header := out[at : at+512]
		copy(header[136:], fmt.Sprintf("%011o\x00", seconds))
		copy(header[148:156], "        ")
		sum := 0
		for _, b := range header {
			sum += int(b)
		}
		copy(header[148:], fmt.Sprintf("%07o\x00", sum))
		size, err := strconv.ParseInt(string(header[124:135]), 8, 64)
		if err != nil {
			t.Fatal(err)
		}
		at += 512 + int(size+511)/512*512
	}
	return out
}

func TestTreeLikeGit(t *testing.T) {
	t.Parallel()
	repo, commit, revisions := taggedTrees(t)
	o := open(t, repo)
	cases := 0
	for _, revision := range revisions {
		for _, options := range []archive.Options{
			{}, {Prefix: "p/"}, {Paths: []string{"bin"}}, {Profile: archive.ProfileFull},
		} {
			name := fmt.Sprintf("%s %+v", revision, options)
			options.Format = archive.Tar
			p, err := o.plan(t, revision, options)
			if err != nil {
				t.Fatal(name, err)
			}
			args := []string{"--format=tar", "--prefix=" + options.Prefix}
			if options.Profile == archive.ProfileFull {
				args = append(args, "--worktree-attributes")
			}
			want := withoutTimes(t, repo.Archive(append(append(args, revision, "--"), options.Paths...)...),
				p.Head().When.Unix())
			got := write(t, p)
			if !bytes.Equal(got, want) {
				t.Errorf("%s: tar differs", name)
				gittest.DiffTar(t, gittest.ReadTar(t, bytes.NewReader(got)), gittest.ReadTar(t, bytes.NewReader(want)))
			}
			compareRanges(t, name, p, got)
			if m, err := p.Measure(t.Context()); err != nil || m.Bytes != int64(len(got)) {
				t.Errorf("%s: measured %+v, %v of %d bytes", name, m, err, len(got))
			}
			v, err := p.Validator(t.Context())
			if err != nil || v.Weak {
				t.Errorf("%s: %+v, %v: nothing in it depends on refs", name, v, err)
			}
			again, err := o.plan(t, p.Head().Revision, options)
			if err != nil || !bytes.Equal(write(t, again), got) {
				t.Errorf("%s: %s does not name it for ever: %v", name, p.Head().Revision, err)
			}
			cases++
		}
	}
	if cases < 32 {
		t.Errorf("only %d cases", cases)
	}
	for revision, when := range map[string]int64{"annotated": 1110000000, "nested": 1110000000, "light": 0,
		"main^{tree}": 0} {
		h, err := o.snapshot.ResolveTreeish(t.Context(), revision)
		if err != nil || h.When.Unix() != when || !h.Commit.IsZero() {
			t.Errorf("%s: %+v, %v", revision, h, err)
		}
	}
	if h, err := o.snapshot.ResolveTreeish(t.Context(), commit); err != nil || h.Commit.String() != commit {
		t.Error(h, err)
	}
}

// A zip of a tree has no comment, and otherwise what the tar has.
func TestZipOfTree(t *testing.T) {
	t.Parallel()
	repo, _, _ := taggedTrees(t)
	p, err := open(t, repo).plan(t, "annotated", archive.Options{Format: archive.Zip})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := members(t, write(t, p)), members(t, repo.Archive("--format=zip", "annotated"))
	if ours != theirs || !strings.Contains(ours, "$Format:%H %d$") {
		t.Errorf("%s\nwant\n%s", ours, theirs)
	}
}

// members are the names, modes and contents of a zip, and its comment.
func members(t *testing.T, content []byte) string {
	t.Helper()
	zr, err := stdzip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("comment %q\n", zr.Comment)
	for _, f := range zr.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%s %s %q\n", f.Name, f.Mode(), body)
	}
	return out
}

// What $Format:…$ stands for in one of two archives is sent, though the files are
// the same.
func TestDeltaOfCommitAndTree(t *testing.T) {
	t.Parallel()
	repo, commit, _ := taggedTrees(t)
	o := open(t, repo)
	for _, c := range []struct {
		base, head string
		sent       bool
	}{
		{commit, "annotated", true}, {"annotated", commit, true}, {"annotated", "light", false},
	} {
		options := archive.Options{Format: archive.TarGz, Base: c.base}
		p, err := o.plan(t, c.head, options)
		if err != nil {
			t.Fatal(c, err)
		}
		sent := false
		for _, e := range gittest.ReadTar(t, bytes.NewReader(gunzip(t, write(t, p)))) {
			sent = sent || e.Name == "version"
		}
		if sent != c.sent {
			t.Errorf("%+v: sent %v", c, sent)
		}
	}
}
