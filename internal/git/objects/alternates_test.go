package objects

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/objects/packtest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// borrow writes the alternates file of a repository.
func borrow(t *testing.T, repo *gittest.Repo, lines ...string) {
	t.Helper()
	write(t, filepath.Join(repo.Dir, "objects", "info", "alternates"), strings.Join(lines, "\n")+"\n")
}

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gitHas asks git itself whether an object is there.
func gitHas(repo *gittest.Repo, id ID) bool {
	cmd := exec.Command("git", "cat-file", "-e", id.String())
	cmd.Dir, cmd.Env = repo.Dir, gittest.Env()
	return cmd.Run() == nil
}

func TestAlternatesAreFollowedInsideTheRootOnly(t *testing.T) {
	root := t.TempDir()
	pool := gittest.At(t, filepath.Join(root, "deep", "pool.git"))
	pool.Commit("main", gittest.Regular("shared", "shared content"))
	pool.Git("repack", "-adq")
	outside := gittest.New(t)
	outside.Commit("main", gittest.Regular("secret", "secret content"))
	shared, secret := packtest.SumOf(Blob, []byte("shared content")), packtest.SumOf(Blob, []byte("secret content"))
	link := filepath.Join(root, "link.git")
	if err := os.Symlink(outside.Dir, link); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		line   string
		object ID
		found  bool
	}{
		{"relative", "../../deep/pool.git/objects", shared, true},
		{"absolute", filepath.Join(pool.Dir, "objects"), shared, true},
		{"quoted", strconv.Quote(filepath.Join(pool.Dir, "objects")), shared, true},
		{"absolute with dots", pool.Dir + "/../pool.git/objects", shared, true},
		{"comment", "#" + filepath.Join(pool.Dir, "objects"), shared, false},
		{"missing", "../../nothing.git/objects", shared, false},
		{"absolute outside", filepath.Join(outside.Dir, "objects"), secret, false},
		{"relative outside", "../../../" + filepath.Base(filepath.Dir(outside.Dir)) + "/repo.git/objects", secret,
			false},
		{"symbolic link outside", filepath.Join(link, "objects"), secret, false},
		{"itself", "../../case-9.git/objects", shared, false},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			repo := gittest.At(t, filepath.Join(root, "case-"+strconv.Itoa(i)+".git"))
			borrow(t, repo, c.line)
			has, err := has(snapshot(t, newStore(t, nil, repo), repo), c.object)
			if has != c.found || err != nil {
				t.Errorf("Has gives %v %v, want %v", has, err, c.found)
			}
		})
	}
}

// TestAnAlternateThatCannotBeReadIsDamage has an alternate that is a symbolic link to itself. What the repository has
// itself is served; what may be in the alternate is neither missing nor outside of the root.
func TestAnAlternateThatCannotBeReadIsDamage(t *testing.T) {
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	repo.Commit("main", gittest.Regular("own", "own content"))
	pool := gittest.At(t, filepath.Join(root, "pool.git"))
	pool.Commit("main", gittest.Regular("shared", "shared content"))
	own, shared := packtest.SumOf(Blob, []byte("own content")), packtest.SumOf(Blob, []byte("shared content"))
	alternate := filepath.Join(root, "alternate")
	if err := os.Symlink("alternate", alternate); err != nil {
		t.Fatal(err)
	}
	borrow(t, repo, alternate)
	snap := snapshot(t, newStore(t, nil, repo), repo)
	if has, err := has(snap, own); !has || err != nil {
		t.Errorf("the repository's object: %v %v", has, err)
	}
	if _, err := has(snap, shared); !errors.Is(err, ErrCorrupt) || snap.MayLack() {
		t.Errorf("the alternate's object: %v, want damage", err)
	}
	if _, err := snap.db.Folders(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the folders: %v, want damage", err)
	}
	if err := os.Remove(alternate); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("pool.git", "objects"), alternate); err != nil {
		t.Fatal(err)
	}
	if has, err := has(snap, shared); !has || err != nil {
		t.Errorf("the alternate's object once it can be read: %v %v", has, err)
	}
}

func TestAlternatesNestAsDeepAsForGit(t *testing.T) {
	root := t.TempDir()
	const levels = 9
	var repos []*gittest.Repo
	var ids []ID
	for i := range levels {
		repo := gittest.At(t, filepath.Join(root, "r"+strconv.Itoa(i)))
		repo.Commit("main", gittest.Regular("f", "level "+strconv.Itoa(i)))
		ids = append(ids, packtest.SumOf(Blob, []byte("level "+strconv.Itoa(i))))
		repos = append(repos, repo)
	}
	for i, repo := range repos[:levels-1] {
		borrow(t, repo, filepath.Join(repos[i+1].Dir, "objects"))
	}
	snap := snapshot(t, newStore(t, nil, repos...), repos[0])
	for i, id := range ids {
		has, err := has(snap, id)
		if want := gitHas(repos[0], id); has != want || err != nil {
			t.Errorf("level %d: Has gives %v %v, git %v", i, has, err, want)
		}
	}
}

func TestAlternatesThatFormACycleEnd(t *testing.T) {
	root := t.TempDir()
	a, b := gittest.At(t, filepath.Join(root, "a")), gittest.At(t, filepath.Join(root, "b"))
	a.Commit("main", gittest.Regular("f", "of a"))
	b.Commit("main", gittest.Regular("f", "of b"))
	borrow(t, a, "../../b/objects")
	borrow(t, b, "../../a/objects")
	snap := snapshot(t, newStore(t, nil, a), a)
	for _, content := range []string{"of a", "of b"} {
		if has, err := has(snap, packtest.SumOf(Blob, []byte(content))); !has || err != nil {
			t.Errorf("%s: %v %v", content, has, err)
		}
	}
}

func TestDeltaOnAlternatesObjectIsResolved(t *testing.T) {
	root := t.TempDir()
	pool := gittest.At(t, filepath.Join(root, "pool"))
	history(pool, 5)
	pool.Git("repack", "-adfq")
	repo := gittest.At(t, filepath.Join(root, "fork"))
	borrow(t, repo, filepath.Join(pool.Dir, "objects"))
	repo.Git("fetch", "-q", pool.Dir, "main:main")
	repo.Commit("main", gittest.Regular("changing.txt", gittest.Lines(1, 401)))
	repo.Git("repack", "-dlq")
	compare(t, snapshot(t, newStore(t, nil, repo), repo), facts(t, repo))
}

func TestObjectsBehindSymbolicLinksOutOfTheRootAreNotRead(t *testing.T) {
	outside := gittest.New(t)
	history(outside, 2)
	outside.Git("repack", "-adq")
	pack := outside.Git("rev-parse", "--verify", "main")
	id, _ := ParseID(pack)
	for _, part := range []string{"objects", "objects/pack"} {
		repo := gittest.New(t)
		if err := os.RemoveAll(filepath.Join(repo.Dir, part)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside.Dir, part), filepath.Join(repo.Dir, part)); err != nil {
			t.Fatal(err)
		}
		s := newStore(t, nil, repo)
		snap, err := openSnapshot(s, "repo.git")
		if err != nil {
			if errors.Is(err, ErrNotFound) {
				t.Errorf("%s: the link is not reported: %v", part, err)
			}
			continue
		}
		if has, err := has(snap, id); has {
			t.Errorf("%s: found outside the root: %v", part, err)
		}
		_ = snap.Close()
	}
}
