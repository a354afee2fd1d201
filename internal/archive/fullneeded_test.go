package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// with adds files that stay the same, so that a delta is the smaller archive.
func with(files ...gittest.File) []gittest.File {
	for i := range 30 {
		files = append(files, gittest.Regular(fmt.Sprintf("same/%d", i), "x"))
	}
	return files
}

func TestFullArchiveIsNeeded(t *testing.T) {
	attributes := gittest.Regular(".gitattributes", "a export-ignore\n")
	many := make([]gittest.File, 200)
	for i := range many {
		many[i] = gittest.Regular(fmt.Sprintf("%d/%s", i, strings.Repeat("long", 50)), "")
	}
	for name, c := range map[string]struct {
		base, head []gittest.File
		options    archive.Options
		revision   string // besides the base
		reason     string
	}{
		"no such id":     {with(), with(), archive.Options{}, strings.Repeat("a", 40), archive.BaseUnknown},
		"no such branch": {with(), with(), archive.Options{}, "refs/heads/nothing", archive.BaseUnknown},
		"a file":         {with(), with(), archive.Options{}, "main:same/1", archive.BaseUnknown},
		"strip is not in base": {with(), with(gittest.Regular("d/a", "1")), archive.Options{Strip: "d"}, "",
			archive.BaseUnknown},
		"path is not in base": {with(), with(gittest.Regular("d/a", "1")),
			archive.Options{Paths: []string{"d", "same"}}, "", archive.BaseUnknown},
		"attributes are new":  {with(), with(attributes), archive.Options{}, "", archive.AttributesChanged},
		"attributes are gone": {with(attributes), with(), archive.Options{}, "", archive.AttributesChanged},
		"attributes are others": {with(attributes), with(gittest.Regular(".gitattributes", "b export-ignore\n")),
			archive.Options{}, "", archive.AttributesChanged},
		"attributes became a link": {with(attributes), with(gittest.Symlink(".gitattributes", "a")), archive.Options{},
			"", archive.AttributesChanged},
		"attributes at depth": {with(gittest.Regular("a/b/x", "")),
			with(gittest.Regular("a/b/x", ""), gittest.Regular("a/b/.gitattributes", "")), archive.Options{}, "",
			archive.AttributesChanged},
		"attributes of a new one": {with(), with(gittest.Regular("a/b/.gitattributes", "")), archive.Options{}, "",
			archive.AttributesChanged},
		"attributes elsewhere": {with(), with(attributes), archive.Options{Paths: []string{"same"}}, "",
			archive.AttributesChanged},
		"attributes above strip": {with(), with(attributes), archive.Options{Strip: "same"}, "",
			archive.AttributesChanged},
		"attributes beside strip": {with(), with(gittest.Regular("e/.gitattributes", "")),
			archive.Options{Strip: "same"}, "", archive.AttributesChanged},
		"everything is gone": {many, nil, archive.Options{}, "", archive.DeltaLarger},
		"nearly everything is gone": {many, many[:3], archive.Options{Profile: archive.ProfileFull}, "",
			archive.DeltaLarger},
		"reserved in base": {with(gittest.Regular(".repomcp/a", "")), with(), archive.Options{}, "",
			archive.ReservedName},
		"reserved in head": {with(), with(gittest.Regular(".repomcp", "")), archive.Options{Prefix: "p/"}, "",
			archive.ReservedName},
		"reserved in both": {with(gittest.Symlink(".RepoMCP", "x")), with(gittest.Symlink(".RepoMCP", "x")),
			archive.Options{Profile: archive.ProfileFull}, "", archive.ReservedName},
		"reserved below strip": {with(gittest.Regular("d/x", "")), with(gittest.Regular("d/.repomcp/x", "")),
			archive.Options{Strip: "d"}, "", archive.ReservedName},
	} {
		repo := gittest.New(t)
		c.options.Base = repo.Commit("main", c.base...)
		repo.Commit("main", c.head...)
		if c.revision != "" {
			c.options.Base = c.revision
		}
		o := open(t, repo)
		for _, format := range archive.Formats() {
			c.options.Format, c.options.Fallback = format, ""
			_, err := o.plan(t, "main", c.options)
			wantFullNeeded(t, name, err, c.reason)
			full := c.options
			full.Base = ""
			c.options.Fallback = archive.FallbackFull
			p, err := o.plan(t, "main", c.options)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, err := o.plan(t, "main", full)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(write(t, p), write(t, want)) || !reflect.DeepEqual(p.Options(), want.Options()) {
				t.Errorf("%s, %s: the full archive is another one", name, format)
			}
			if a, b := validatorOf(t, p), validatorOf(t, want); a != b {
				t.Errorf("%s, %s: the full archive has the validators %v and %v", name, format, a, b)
			}
		}
	}
}

func validatorOf(t *testing.T, p *archive.Plan) archive.Validator {
	t.Helper()
	v, err := p.Validator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rawTree stores a tree that git itself may not write: lists of mode, id and
// name.
func rawTree(t *testing.T, repo *gittest.Repo, entries ...[3]string) string {
	t.Helper()
	var content []byte
	for _, e := range entries {
		id, err := hex.DecodeString(e[1])
		if err != nil {
			t.Fatal(err)
		}
		content = append(append(content, e[0]+" "+e[2]+"\x00"...), id...)
	}
	return repo.GitInput(content, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
}

// An extractor would follow the link "a" with what is in the folder "a".
func TestANameTwiceIsNoArchive(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", with()...)
	blob := repo.GitInput([]byte("x"), "hash-object", "-w", "--stdin")
	inner := rawTree(t, repo, [3]string{"100644", blob, "x"})
	tree := rawTree(t, repo, [3]string{"120000", blob, "a"}, [3]string{"100644", blob, "a.b"},
		[3]string{"40000", inner, "a"})
	repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", "-p", base, "-m", "twice", tree))
	for _, options := range []archive.Options{{Format: archive.Tar}, {Format: archive.Zip}, {Format: archive.Manifest},
		{Format: archive.Tar, Base: base}} {
		if _, err := tryPlan(t, repo, "main", options); !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%s with base %q: %v, want damage", options.Format, options.Base, err)
		}
	}
}

// TestDeltaOfTreesThatGitDoesNotWrite compares trees with folders that are
// empty, with modes of old versions, and out of order.
func TestDeltaOfTreesThatGitDoesNotWrite(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	repo := gittest.New(t)
	blob := repo.GitInput([]byte("x"), "hash-object", "-w", "--stdin")
	tree := func(entries ...[3]string) string { return rawTree(t, repo, entries...) }
	file := [3]string{"100644", blob, "f"}
	folder := func(id, name string) [3]string { return [3]string{"40000", id, name} }
	empty := tree()
	nested := tree(folder(empty, "b"))
	mixed := tree(folder(empty, "b"), [3]string{"100644", blob, "c"})
	trees := []string{
		empty, tree(folder(empty, "a")), tree(folder(nested, "a")), tree(folder(mixed, "a")),
		tree([3]string{"100644", blob, "a"}), tree(folder(nested, "a"), file), tree(folder(empty, "a"), file),
		tree(folder(tree(folder(nested, "x"), folder(mixed, "y")), "a")),
		tree(folder(tree(folder(nested, "x"), folder(empty, "y")), "a")),
		tree(folder(tree(folder(nested, "x"), folder(mixed, "z")), "a")),
		tree([3]string{"100664", blob, "f"}), tree([3]string{"100755", blob, "f"}),
		tree([3]string{"100775", blob, "f"}), tree([3]string{"100600", blob, "f"}), tree(file),
		tree([3]string{"100644", blob, "z"}, [3]string{"100644", blob, "a"}),
		tree([3]string{"100644", blob, "a"}, [3]string{"100644", blob, "m"}, [3]string{"100644", blob, "z"}),
	}
	ids := make([]string, len(trees))
	for i, tree := range trees {
		ids[i] = repo.Git("commit-tree", "-m", "raw", tree)
		repo.Git("update-ref", fmt.Sprintf("refs/heads/b%d", i), ids[i])
	}
	o := open(t, repo)
	counts := make(map[string]int)
	for i, base := range ids {
		for j, head := range ids {
			for n, profile := range profiles {
				if (i+j+n)%gittest.Volume(2, 1) != 0 { // there are no attributes that they could treat differently
					continue
				}
				comparePair(t, o, base, head, archive.Options{Format: archive.Tar, Profile: profile}, true, counts)
			}
		}
	}
	if n := len(ids) * len(ids) / 2; counts["archive"] < n || counts["full"] < n {
		t.Errorf("compared %v of %d", counts, n)
	}
}

func TestDeltaListsEveryKindOfChange(t *testing.T) {
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	repo := gittest.New(t)
	attributes := gittest.Regular(".gitattributes", "*.no export-ignore\nv export-subst\n")
	base := repo.Commit("main", with(attributes, gittest.Regular("content", "1"), gittest.Regular("mode", "1"),
		gittest.Executable("both", "1"), gittest.Regular("gone/a/b", "1"), gittest.Regular("gone/c", "1"),
		gittest.Regular("to-folder", "1"), gittest.Regular("to-file/x", "1"), gittest.Symlink("to-gitlink", "x"),
		gittest.Gitlink("from-gitlink", a), gittest.Gitlink("moved", a), gittest.Gitlink("unlinked", a),
		gittest.Regular("v", "$Format:%H$"), gittest.Regular("hidden.no", "1"), gittest.Regular("emptied/x",
			"1"), gittest.Regular("emptied/x.no", "1"), gittest.Symlink("link", "x"), gittest.Regular(
			"kept/x.no", "1"), gittest.Regular("kept/y", "1"))...)
	repo.Commit("main", with(attributes, gittest.Regular("content", "2"), gittest.Executable("mode", "1"),
		gittest.Regular("both", "2"), gittest.Regular("new/a/b", "1"), gittest.Regular("new/e.no", "1"),
		gittest.Regular("only/e.no", "1"),
		gittest.Regular("to-folder/x/y", "1"), gittest.Regular("to-file", "1"), gittest.Gitlink("to-gitlink", a),
		gittest.Regular("from-gitlink/x", "1"), gittest.Gitlink("moved", b), gittest.Gitlink("linked", a),
		gittest.Regular("v", "$Format:%H$"), gittest.Regular("hidden.no", "2"), gittest.Regular("emptied/x.no",
			"1"), gittest.Symlink("link", "y"), gittest.Regular("kept/x.no", "1"), gittest.Regular(
			"same/0.no", "1"))...)
	content := write(t, plan(t, repo, "main", archive.Options{Format: archive.Tar, Base: base}))
	tr := tar.NewReader(bytes.NewReader(content))
	var names []string
	var manifest []byte
	for h, err := tr.Next(); err == nil; h, err = tr.Next() {
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if names = append(names, h.Name); len(names) == 1 {
			manifest, _ = io.ReadAll(tr)
		}
	}
	head := repo.Git("rev-parse", "main")
	want := `{"version":1,"base":"` + base + `","head":"` + head +
		`","profile":"archive","lfs":"pointers","submodules":"omitted","deleted":[
"gone/a/b",
"gone/a/",
"gone/c",
"gone/",
"emptied/x",
"kept/y",
"to-file/x",
"unlinked/"],"typeChanged":[
"from-gitlink/",
"to-file",
"to-folder/",
"to-gitlink/"],"modeChanged":[
"mode"],"added":[
"from-gitlink/x",
"linked/",
"new/",
"new/a/",
"new/a/b",
"only/",
"to-folder/x/",
"to-folder/x/y"],"modified":[
"both",
"content",
"link",
"moved/",
"v"]}
`
	// Deletions come where the walk over the head comes by, or after.
	if sortedLines(string(manifest)) != sortedLines(want) {
		t.Errorf("manifest:\n%s\nwant:\n%s", manifest, want)
	}
	wantNames := []string{".repomcp/manifest.json", "both", "content", "from-gitlink/", "from-gitlink/x", "link",
		"linked/", "mode", "moved/", "new/", "new/a/", "new/a/b", "only/", "to-file", "to-folder/", "to-folder/x/", "to-folder/x/y", "to-gitlink/", "v"}
	if !slices.Equal(names, wantNames) {
		t.Errorf("members %q, want %q", names, wantNames)
	}
}

func sortedLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, `",`, `"`), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], `"]`, `"`)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// counted counts the folders that are read.
type counted struct {
	*git.Snapshot
	trees map[git.ID]int
	blobs int
}

func (c *counted) Tree(id git.ID) ([]git.TreeEntry, error) {
	c.trees[id]++
	return c.Snapshot.Tree(id)
}

func (c *counted) ReadBlob(id git.ID, limit int64, buf []byte) ([]byte, error) {
	c.blobs++
	return c.Snapshot.ReadBlob(id, limit, buf)
}

func TestFoldersThatAreTheSameAreNotCompared(t *testing.T) {
	repo := gittest.New(t)
	files := func(content string) []gittest.File {
		var files []gittest.File
		for i := range 1000 {
			files = append(files, gittest.Regular(fmt.Sprintf("z/%d/%d/f", i%30, i), "x"))
		}
		return append(files, gittest.Regular("changed/f", content))
	}
	base := repo.Commit("main", files("1")...)
	repo.Commit("main", files("2")...)
	o := open(t, repo)
	commit, err := o.snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	source := &counted{Snapshot: o.snapshot, trees: make(map[git.ID]int)}
	p, err := o.engine.Plan(t.Context(), source, commit,
		archive.Options{Format: archive.Tar, Profile: archive.ProfileFull, Base: base})
	if err != nil {
		t.Fatal(err)
	}
	planned := sum(source.trees)
	if err := p.WriteTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	// The quick survey looks at 256; two roots, two folders, and those where
	// something is found that is left out.
	if len(source.trees) > 256+10 || sum(source.trees) != planned || source.blobs != 1 {
		t.Errorf("%d different folders and %d files were read, %d folders while writing", len(source.trees),
			source.blobs, sum(source.trees)-planned)
	}
}

// unresolved fails the lookup of every revision.
type unresolved struct{ *git.Snapshot }

func (unresolved) ResolveTreeish(context.Context, string) (git.Treeish, error) {
	return git.Treeish{}, errors.New("a revision was looked up")
}

func TestABaseThatIsTheHeadIsNotLookedUp(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", with(gittest.Regular("f", "1"))...)
	repo.Commit("main", with(gittest.Regular("f", "2"))...)
	o := open(t, repo)
	head, err := o.snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	options := archive.Options{Format: archive.Tar, Profile: archive.ProfileFull, Base: head.Revision}
	p, err := o.engine.Plan(t.Context(), unresolved{o.snapshot}, head, options)
	if err != nil {
		t.Fatal(err)
	}
	options.Base = "main" // which has to be looked up
	if got, want := write(t, p), write(t, plan(t, repo, "main", options)); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d others", len(got), len(want))
	}
	options.Base = base
	if _, err := o.engine.Plan(t.Context(), unresolved{o.snapshot}, head, options); err == nil {
		t.Error("another base was not looked up")
	}
}

func sum(m map[git.ID]int) (total int) {
	for _, n := range m {
		total += n
	}
	return total
}

func TestDeltaOptionsHaveOneForm(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", with(gittest.Regular("a", "1"))...)
	repo.Git("tag", "v1", base)
	repo.Commit("main", with(gittest.Regular("a", "2"))...)
	full := validator(t, repo, "main", archive.Options{Format: archive.Tar})
	first := plan(t, repo, "main", archive.Options{Format: archive.Tar, Base: base})
	for _, same := range []archive.Options{{Base: "v1"}, {Base: base[:12]},
		{Base: "refs/tags/v1", Fallback: archive.FallbackFull}} {
		same.Format = archive.Tar
		p := plan(t, repo, "main", same)
		if !reflect.DeepEqual(p.Options(), first.Options()) || validatorOf(t, p) != validatorOf(t, first) ||
			p.Options().Base != base {
			t.Errorf("%+v became %+v", same, p.Options())
		}
	}
	if v := validatorOf(t, first); v == full ||
		v == validator(t, repo, "main", archive.Options{Format: archive.Tar, Base: "main"}) {
		t.Error("archives with several bases have one tag")
	}
	if o := (archive.Options{Format: archive.Tar, Fallback: archive.FallbackFull}).Canonical(); o.Fallback != "" {
		t.Error("a fallback without a base is an option")
	}
	if err := (archive.Options{Format: archive.Tar, Base: base, Fallback: "other"}).Check(); !errors.Is(err,
		archive.ErrOption) {
		t.Errorf("another fallback: %v", err)
	}
}

func TestDeltaIsWeakWhereRefsDecide(t *testing.T) {
	for strip, weak := range map[string]bool{"": true, "d": true, "same": false} {
		repo := gittest.New(t)
		files := with(gittest.Regular(".gitattributes", "v export-subst"), gittest.Regular("d/v", "$Format:%d$"))
		base := repo.Commit("main", files...)
		repo.Commit("main", append(files, gittest.Regular("a", "1"))...)
		for _, options := range []archive.Options{{Base: base}, {}} {
			options.Format, options.Strip = archive.Tar, strip
			if options.Base != "" && strip == "d" {
				options.Fallback = archive.FallbackFull
			}
			if v := validator(t, repo, "main", options); v.Weak != weak {
				t.Errorf("strip %q, base %.6q: weak %v, want %v", strip, options.Base, v.Weak, weak)
			}
			options.Format = archive.Manifest
			if v := validator(t, repo, "main", options); v.Weak {
				t.Errorf("strip %q, base %.6q: a manifest is weak", strip, options.Base)
			}
		}
	}
}

func TestDeltaKeepsLimits(t *testing.T) {
	repo := gittest.New(t)
	base := repo.Commit("main", with()...)
	var files []gittest.File
	for i := range 50 {
		files = append(files, gittest.Regular(fmt.Sprintf("%d/x", i), "x"))
	}
	repo.Commit("main", with(files...)...)
	options := archive.Options{Format: archive.Tar, Base: base, Exclude: []string{"same/1*"}}
	options.Limits.Entries = 60
	if _, err := tryPlan(t, repo, "main", options); !errors.Is(err, archive.ErrLimit) {
		t.Errorf("%v, want the limit", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := open(t, repo)
	commit, err := o.snapshot.ResolveTreeish(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.engine.Plan(ctx, o.snapshot, commit, archive.Options{Format: archive.Tar, Base: base}); !errors.Is(
		err, context.Canceled) {
		t.Errorf("%v, want it cancelled", err)
	}
}
