package archive_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// TestBytesAreAPromise guards the promise that bytes only change together with
// EncoderVersion. When it fails for a reason, change both.
func TestBytesAreAPromise(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", trees()["many"]...)
	for format, want := range map[archive.Format]string{
		archive.Tar:    "3 cb2233063aee21f4b50304ae45413701f4c2d6c7e74490abcdb6c9c07b6b4295",
		archive.TarXz:  "3 ab2acac3a350bd4f472be359082f247200fea492e26c21798c46e08c0ab7f2bc",
		archive.TarZst: "3 9d2ae97335752275858f0e987664bb00d3a753c185e6ebfdbadd9dd342520294",
		archive.Zip:    "3 30ba104ed81869e6ff99a429997eafca79a8e99d1c9c7592d17970a0677916e6",
		archive.TarGz:  "3 97b7a2d32b20c526c886515dc88d351547ec2f0fccadf3bdff70f1de4ddb8af9",
	} {
		sum := sha256.Sum256(write(t, plan(t, repo, "main", archive.Options{Format: format})))
		if got := archive.EncoderVersion + " " + hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: encoder version and digest\n got %s\nwant %s", format, got, want)
		}
	}
}

func TestTagTellsBytesApart(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", gittest.Regular("a", "1"), gittest.Regular("d/b", "1"))
	first := validator(t, repo, "main", archive.Options{Format: archive.Tar})
	for _, same := range []archive.Options{{Format: archive.Tar, Profile: archive.ProfileArchive},
		{Format: archive.Tar}} {
		if again := validator(t, repo, "HEAD", same); again != first {
			t.Errorf("two names of one archive have the tags %v and %v", first, again)
		}
	}
	if validator(t, repo, "main", archive.Options{Format: archive.Tar, Paths: []string{"d", "a", "d"}}) != validator(t,
		repo, "main", archive.Options{Format: archive.Tar, Paths: []string{"a", "d"}}) {
		t.Error("the order of paths changes the tag")
	}
	tags := map[archive.Validator]bool{first: true}
	for _, options := range []archive.Options{
		{Format: archive.TarGz}, {Format: archive.Tar, Prefix: "a/"}, {Format: archive.Tar, Prefix: "a"},
		{Format: archive.Tar, Profile: archive.ProfileFull}, {Format: archive.Tar, Profile: archive.ProfileWorktree},
		{Format: archive.Tar, Paths: []string{"a"}}, {Format: archive.Tar, Exclude: []string{"a"}},
		{Format: archive.Tar, Strip: "d"},
	} {
		tags[validator(t, repo, "main", options)] = true
	}
	repo.WriteFile("info/attributes", []byte("a export-ignore"))
	tags[validator(t, repo, "main", archive.Options{Format: archive.Tar})] = true
	if err := os.Remove(filepath.Join(repo.Dir, "info", "attributes")); err != nil {
		t.Fatal(err)
	}
	repo.Commit("main", gittest.Regular("a", "2"))
	tags[validator(t, repo, "main", archive.Options{Format: archive.Tar})] = true
	if len(tags) != 11 {
		t.Errorf("%d different tags, want 11", len(tags))
	}
}

func validator(t *testing.T, repo *gittest.Repo, revision string, options archive.Options) archive.Validator {
	t.Helper()
	v, err := plan(t, repo, revision, options).Validator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A server that lags behind looks for an archive under the tag that others know
// it by.
func TestTagNeedsNoCommit(t *testing.T) {
	repo := gittest.New(t)
	repo.Commit("main", with(gittest.Regular("d/a", "1"), gittest.Gitlink("module", strings.Repeat("a", 40)))...)
	base := repo.Git("rev-parse", "main")
	repo.Commit("main", with(gittest.Regular("d/a", "2"))...)
	repo.WriteFile("info/attributes", []byte("same export-ignore\n"))
	cases := 0
	for _, format := range archive.Formats() {
		for _, options := range []archive.Options{
			{}, {Profile: archive.ProfileFull}, {Profile: archive.ProfileWorktree}, {Prefix: "p/", Strip: "d/"},
			{Paths: []string{"same", "d"}, Exclude: []string{"same/1"}},
			{Base: base}, {Base: base, Fallback: archive.FallbackFull},
			{LFS: archive.LFSPointers, Submodules: archive.SubmodulesOmit},
		} {
			options.Format = format
			o := open(t, repo)
			p, err := o.plan(t, "main", options)
			if err != nil {
				t.Fatal(err)
			}
			v, err := p.Validator(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if tag, ok := o.engine.Tag(p.Head().Commit, p.Options(), []byte("same export-ignore\n")); !ok ||
				tag != v.Tag {
				t.Errorf("%+v: %q and %v, want %q", options, tag, ok, v.Tag)
			}
			cases++
			for _, outside := range []archive.Options{{Format: format, LFS: archive.LFSContent},
				{Format: format, Submodules: archive.SubmodulesContent}, {Format: "rar"}} {
				if tag, ok := o.engine.Tag(p.Head().Commit, outside, nil); ok {
					t.Errorf("%+v: %q", outside, tag)
				}
			}
		}
	}
	if cases < 30 {
		t.Errorf("%d cases", cases)
	}
}

func TestValidatorIsWeakWhereRefsDecide(t *testing.T) {
	for content, weak := range map[string]bool{
		"$Format:%H %ci$": false, "$Format:%d$": true, "$Format:%D$": true, "$Format:%h$": true,
		"$Format:%(describe)$": true, "nothing": false, "$Format:%an %s$": false,
	} {
		repo := gittest.New(t)
		repo.Commit("main", gittest.Regular("d/.gitattributes", "v export-subst"), gittest.Regular("d/v", content),
			gittest.Regular("other", "$Format:%d$"))
		if v := validator(t, repo, "main", archive.Options{Format: archive.Tar}); v.Weak != weak {
			t.Errorf("%s: weak %v, want %v", content, v.Weak, weak)
		}
		if v := validator(t, repo, "main", archive.Options{Format: archive.Tar, Profile: archive.ProfileFull}); v.Weak {
			t.Errorf("%s: the complete tree is weak", content)
		}
	}
}
