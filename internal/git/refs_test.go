package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// manyRefs makes a repository with branches, light and annotated tags, each at a
// commit of its own, and returns how many refs it has.
func manyRefs(t *testing.T, dir string) (*gittest.Repo, int) {
	t.Helper()
	repo := gittest.At(t, dir)
	const commits = 12
	var script bytes.Buffer
	for i := range commits {
		letter := string(rune('a' + i))
		fmt.Fprintf(&script, "commit refs/heads/b/%s\nmark :%d\ncommitter A <a@b> %d +0000\ndata 2\n%s\n", letter, i+1,
			1_700_000_000+i, letter)
		script.WriteString(gittest.FastImport(gittest.Regular("a", letter)))
		fmt.Fprintf(&script, "reset refs/tags/light-%s\nfrom :%d\n\n", letter, i+1)
		fmt.Fprintf(&script, "tag annotated-%s\nfrom :%d\ntagger A <a@b> 1700000000 +0000\ndata 2\n%s\n", letter, i+1,
			letter)
	}
	repo.GitInput(script.Bytes(), "fast-import", "--quiet")
	repo.SetRef("HEAD", "ref: refs/heads/b/a")
	return repo, 3 * commits
}

func half(content []byte) []byte { return content[:len(content)/2] }

func gone([]byte) []byte { return nil }

const idxFanout = 8 // where the table of an index begins: gitformat-pack(5)

var refDamages = []struct {
	name    string
	packed  bool
	pattern string
	edit    func([]byte) []byte
}{
	{"index cut", true, "objects/pack/*.idx", half},
	{"index deleted", true, "objects/pack/*.idx", gone},
	{"index empty", true, "objects/pack/*.idx", func([]byte) []byte { return []byte{} }},
	{"fan-out flipped", true, "objects/pack/*.idx", func(c []byte) []byte { c[idxFanout+4*100] ^= 0x40; return c }},
	{"last fan-out flipped", true, "objects/pack/*.idx", func(c []byte) []byte { c[idxFanout+4*255+3] ^= 1; return c }},
	{"pack cut", true, "objects/pack/*.pack", half},
	{"pack cut to 60 bytes", true, "objects/pack/*.pack", func(c []byte) []byte { return c[:60] }},
	{"pack without header", true, "objects/pack/*.pack", func(c []byte) []byte { return c[12:] }},
	{"pack without trailer", true, "objects/pack/*.pack", func(c []byte) []byte { return c[:len(c)-20] }},
	{"pack deleted", true, "objects/pack/*.pack", gone},
	{"pack of zeros", true, "objects/pack/*.pack", func(c []byte) []byte { return make([]byte, len(c)) }},
	{"loose objects deleted", false, "objects/[0-9a-f][0-9a-f]/*", gone},
	{"loose objects empty", false, "objects/[0-9a-f][0-9a-f]/*", func([]byte) []byte { return []byte{} }},
	{"loose objects cut", false, "objects/[0-9a-f][0-9a-f]/*", func(c []byte) []byte { return c[:4] }},
	{"loose refs empty", false, "refs/heads/b/*", func([]byte) []byte { return []byte{} }},
	{"loose refs of zeros", false, "refs/tags/*", func(c []byte) []byte { return make([]byte, len(c)) }},
}

// Over damage a list of refs has them all, those that cannot be read marked.
func TestDamageMakesNoRefVanish(t *testing.T) {
	gittest.Long(t)
	compared := 0
	for _, c := range refDamages {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			repo, count := manyRefs(t, filepath.Join(root, "repo.git"))
			if c.packed {
				repo.Git("pack-refs", "--all")
				repo.Git("repack", "-adq")
			}
			repo.Change(c.pattern, c.edit)
			store := open(t, root, git.StoreOptions{})
			s := snapshot(t, store, "repo", reachable)
			tips, err := store.Repository("repo.git", reachable).Tips()
			if err != nil || len(tips.Names) != count {
				t.Errorf("tips: %v, %v", tips, err)
			}
			refs, err := s.Refs()
			if err != nil {
				t.Fatal(err)
			}
			marked := 0
			for _, ref := range refs {
				if ref.Commit.IsZero() != (ref.Damage != nil) {
					t.Errorf("%s: commit %s, damage %v", ref.Name, ref.Commit, ref.Damage)
				}
				if ref.Damage != nil {
					marked++
				}
			}
			if len(refs) != count {
				t.Errorf("%d of %d refs", len(refs), count)
			}
			if marked == 0 && c.name != "pack without trailer" && c.name != "last fan-out flipped" {
				t.Error("nothing is marked: the damage does not reach the refs")
			}
			compared += len(refs)
		})
	}
	if compared < 300 {
		t.Errorf("only %d refs were looked at", compared)
	}
}

// crowdOfRefs makes a repository of two commits in a pack, of which one has many packed
// branches.
func crowdOfRefs(t *testing.T, dir string) (repo *gittest.Repo, count int) {
	t.Helper()
	const branches = 2300
	repo = gittest.At(t, dir)
	repo.Commit("main", gittest.Regular("f", "1"))
	id := repo.Commit("main", gittest.Regular("f", "2"))
	repo.Git("repack", "-adq")
	var packed strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range branches {
		fmt.Fprintf(&packed, "%s refs/heads/b%04d\n", id, i)
	}
	repo.WriteFile("packed-refs", []byte(packed.String()))
	return repo, branches + 1
}

// A pack that cannot be used is found out once for a snapshot, however many objects are
// missed for it: no files are opened for each of them.
func TestAPackIsJudgedOnceForASnapshot(t *testing.T) {
	for _, c := range []struct {
		name, pattern, cause string
		edit                 func([]byte) []byte
	}{
		{"pack cut", "objects/pack/*.pack", "does not match its index", func(c []byte) []byte { return c[:len(c)-40] }},
		{"pack cut to some bytes", "objects/pack/*.pack", "unexpected EOF", func(c []byte) []byte { return c[:20] }},
		{"pack empty", "objects/pack/*.pack", "is empty", func([]byte) []byte { return []byte{} }},
		{"pack deleted", "objects/pack/*.pack", "pack file is missing", gone},
		{"index deleted", "objects/pack/*.idx", "has no index; git index-pack", gone},
		{"index cut", "objects/pack/*.idx", ".idx", half},
		{"index empty", "objects/pack/*.idx", ".idx", func([]byte) []byte { return []byte{} }},
		{"an entry damaged", "objects/pack/*.pack", ".pack", func(c []byte) []byte {
			return append(append(c[:12:12], make([]byte, len(c)-32)...), c[len(c)-20:]...)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			repo, count := crowdOfRefs(t, filepath.Join(root, "repo.git"))
			repo.Change(c.pattern, c.edit)
			store := open(t, root, git.StoreOptions{})
			s := snapshot(t, store, "repo", reachable)
			for range 2 {
				refs, err := s.Refs()
				if err != nil || len(refs) != count {
					t.Fatalf("%d of %d refs, %v", len(refs), count, err)
				}
				for _, ref := range refs {
					if !errors.Is(ref.Damage, git.ErrCorrupt) || !strings.Contains(ref.Damage.Error(), c.cause) {
						t.Fatalf("%s: %v, want damage because of %q", ref.Name, ref.Damage, c.cause)
					}
				}
			}
			// The pack and its index of the first look, and once more where the first use
			// of the pack found the damage.
			if open := store.Usage().Descriptors; open > 4 {
				t.Errorf("%d descriptors are open after %d refs", open, count)
			}
		})
	}
}

// What is mended is seen by a snapshot that has met the damage.
func TestAPackThatIsMendedIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo, count := crowdOfRefs(t, filepath.Join(root, "repo.git"))
	for pattern, edit := range map[string]func([]byte) []byte{
		"objects/pack/*.pack": func(c []byte) []byte { return c[:len(c)-40] }, "objects/pack/*.idx": half,
	} {
		files, err := filepath.Glob(filepath.Join(repo.Dir, pattern))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		whole, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		repo.Change(pattern, edit)
		s := snapshot(t, open(t, root, git.StoreOptions{}), "repo", reachable)
		for _, damaged := range []bool{true, false} {
			refs, err := s.Refs()
			if err != nil || len(refs) != count {
				t.Fatalf("%s, damaged %t: %d of %d refs, %v", pattern, damaged, len(refs), count, err)
			}
			if (refs[7].Damage != nil) != damaged {
				t.Errorf("%s: %v, want damage %t", pattern, refs[7].Damage, damaged)
			}
			if err := os.WriteFile(files[0], whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestABrokenListOfPackedRefsIsRefused(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, edit := range map[string]func([]byte) []byte{
		"cut":              func(c []byte) []byte { return c[:len(c)-30] },
		"cut in an id":     func(c []byte) []byte { return c[:len(c)/2/62*62+20] },
		"a line of junk":   func(c []byte) []byte { return append(c, "junk\n"...) },
		"carriage returns": func(c []byte) []byte { return bytes.ReplaceAll(c, []byte("\n"), []byte("\r\n")) },
		"one carriage return": func(c []byte) []byte {
			return append(bytes.TrimSuffix(c, []byte("\n")), "\r\n"...)
		},
		"a comment below": func(c []byte) []byte { return append(c, "# comment\n"...) },
		"an empty line":   func(c []byte) []byte { return append(c, "\n"...) },
		"an id of no ref": func(c []byte) []byte {
			return bytes.Replace(c, []byte("\n"), []byte("\n^"+strings.Repeat("ab", 20)+"\n"), 1)
		},
		"two ids of a tag": func(c []byte) []byte {
			return append(c, "^"+strings.Repeat("ab", 20)+"\n^"+strings.Repeat("cd", 20)+"\n"...)
		},
	} {
		root := t.TempDir()
		repo, _ := manyRefs(t, filepath.Join(root, "repo.git"))
		repo.Git("pack-refs", "--all")
		repo.Change("packed-refs", edit)
		list := exec.CommandContext(t.Context(), "git", "for-each-ref")
		list.Dir, list.Env = repo.Dir, gittest.Env()
		if out, err := list.CombinedOutput(); err == nil && !bytes.Contains(out, []byte("broken name")) {
			t.Errorf("%s: git lists all refs", name)
		}
		store := open(t, root, git.StoreOptions{})
		if refs, err := snapshot(t, store, "repo", reachable).Refs(); !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%s: %d refs, %v", name, len(refs), err)
		}
		repository := store.Repository("repo.git", reachable)
		if tips, err := repository.Tips(); !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, tips, err)
		}
	}
}

// The error for a commit that only an unreadable ref reaches is not "not found".
func TestWhatADamagedRefMayLeadToIsNotAbsent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := gittest.At(t, filepath.Join(root, "repo.git"))
	old := repo.Commit("other", gittest.Regular("a", "1"))
	tip := repo.Commit("other", gittest.Regular("a", "2"))
	repo.Commit("main", gittest.Regular("a", "3"))
	s := snapshot(t, open(t, root, git.StoreOptions{}), "repo", reachable)
	if _, err := s.Resolve(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	repo.Change("objects/"+tip[:2]+"/"+tip[2:], gone)
	s = snapshot(t, open(t, root, git.StoreOptions{}), "repo", reachable)
	if _, err := s.Resolve(t.Context(), old); !errors.Is(err, git.ErrCorrupt) {
		t.Errorf("%v, want damage", err)
	}
	if _, err := s.Resolve(t.Context(), "main"); err != nil {
		t.Errorf("another branch: %v", err)
	}
}

// Git takes an id in capitals, and what follows it after a blank for nothing.
func TestLooseRefsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	id := repo.Commit("main", gittest.Regular("a", "1"))
	for i, content := range []string{id, id + "\r\n", id + " words\n", id + "\tx", strings.ToUpper(id) + "\n",
		"ref: refs/heads/main\n", "ref:refs/heads/main"} {
		name := "refs/heads/odd-" + string(rune('a'+i))
		repo.WriteFile(name, []byte(content))
		want := repo.Git("rev-parse", name)
		if ref, err := snap().Ref(name); err != nil || ref.Commit.String() != want {
			t.Errorf("%q: %s, %v, want %s", content, ref.Commit, err, want)
		}
	}
}

// A name that no file can have is that of no ref, and no damage.
func TestLongNamesAreThoseOfNoRef(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	repo.Commit("main", gittest.Regular("a", "1"))
	for _, length := range []int{255, 256, 5000} {
		for _, name := range []string{strings.Repeat("a", length), "refs/heads/" + strings.Repeat("a", length)} {
			_, err := snap().Resolve(t.Context(), name)
			if !errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrCorrupt) {
				t.Errorf("%d: %v", length, err)
			}
		}
	}
}

// A list of refs for git is never short of HEAD.
func TestTransferRefusesADamagedHEAD(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	repo.Commit("main", gittest.Regular("a", "1"))
	for _, content := range []string{"ref: re", "ref: refs/heads/a..b", "garbage", ""} {
		repo.WriteFile("HEAD", []byte(content))
		if _, err := snap().Transfer(); !errors.Is(err, git.ErrCorrupt) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestHEADOfABranchThatIsMissingIsNoEmptyRepository(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	if _, err := snap().Resolve(t.Context(), "HEAD"); !errors.Is(err, git.ErrEmpty) ||
		errors.Is(err, git.ErrUnborn) {
		t.Errorf("no ref: %v", err)
	}
	repo.Commit("other", gittest.Regular("a", "1"))
	if _, err := snap().Resolve(t.Context(), "HEAD"); !errors.Is(err, git.ErrUnborn) {
		t.Errorf("another ref: %v", err)
	}
}

func TestMissingObjectsOfAPartialCloneAreCalledThat(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	commit := repo.Commit("main", gittest.Regular("a", "content"))
	blob := repo.Git("rev-parse", commit+":a")
	repo.Git("config", "core.repositoryformatversion", "1")
	repo.Git("config", "extensions.partialClone", "origin")
	repo.Change("objects/"+blob[:2]+"/"+blob[2:], gone)
	s := snap()
	head, err := s.Resolve(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := s.Lookup(head.Tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blob(t.Context(), entry.ID); !errors.Is(err, git.ErrPartial) || errors.Is(err, git.ErrCorrupt) {
		t.Errorf("a blob: %v", err)
	}
	if _, err := s.Resolve(t.Context(), strings.Repeat("12", 20)); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
}

// TestRequestSeesOneStateOfABranch moves a branch between the revisions of one request.
func TestRequestSeesOneStateOfABranch(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	first := repo.Commit("main", gittest.Regular("a", "1"))
	second := repo.Commit("main", gittest.Regular("a", "2"))
	wants := map[string]string{
		"HEAD": second, "main": second, "refs/heads/main": second, "heads/main~1": first, "@~1": first, "new": "",
	}
	for _, begin := range []string{"HEAD", "main"} {
		snapshot := snap()
		resolve := func(revision string) string {
			commit, err := snapshot.Resolve(t.Context(), revision)
			if errors.Is(err, git.ErrNotFound) {
				return ""
			}
			if err != nil {
				t.Fatalf("%s: %v", revision, err)
			}
			return commit.ID.String()
		}
		if got := resolve(begin); got != second {
			t.Fatalf("%s is %s", begin, got)
		}
		repo.SetRef("refs/heads/main", first)
		for revision, want := range wants {
			if got := resolve(revision); got != want {
				t.Errorf("after %s and a push, %s is %s, want %s", begin, revision, got, want)
			}
		}
		repo.SetRef("refs/heads/new", first)
		if got := resolve("new"); got != first {
			t.Errorf("a new branch is %q", got)
		}
		repo.SetRef("refs/heads/main", second)
		repo.Git("branch", "-D", "-q", "new")
	}
}

// TestLookUpsSeeEachChangeOfPackedRefs asks for the same names after each change, of a file that is old enough to be
// relied on.
func TestLookUpsSeeEachChangeOfPackedRefs(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	ids := []string{repo.Commit("main", gittest.Regular("a", "1")), repo.Commit("main", gittest.Regular("a", "2"))}
	names := []string{"x", "y", "deep/er/x"}
	held, compared := map[string]string{}, 0
	for round := range 24 {
		name := names[round%len(names)]
		if round/3%3 < 2 {
			held[name] = ids[round%len(ids)]
			repo.SetRef("refs/heads/"+name, held[name])
		} else {
			delete(held, name)
			repo.Git("branch", "-D", "-q", name)
		}
		repo.Git("pack-refs", "--all", "--prune")
		past := time.Now().Add(time.Duration(round)*time.Minute - time.Hour)
		if err := os.Chtimes(filepath.Join(repo.Dir, "packed-refs"), past, past); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second answers are remembered
			snapshot := snap()
			for _, name := range names {
				for _, revision := range []string{name, "heads/" + name, "refs/heads/" + name} {
					got, err := snapshot.ResolveObject(t.Context(), revision)
					want, known := held[name]
					if known && (err != nil || got.String() != want) || !known && !errors.Is(err, git.ErrNotFound) {
						t.Errorf("round %d: %s is %s, %v, want %q", round, revision, got, err, want)
					}
					compared++
				}
			}
		}
	}
	if compared != 24*2*len(names)*3 {
		t.Errorf("compared %d revisions", compared)
	}
}

// TestSymbolicRefsLeadToRefs lists refs that lead to others, elsewhere, and out of the repository.
func TestSymbolicRefsLeadToRefs(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	id := repo.Commit("main", gittest.Regular("a", "1"))
	repo.SetRef("refs/pull/1/head", id)
	repo.WriteFile("secret", []byte(id+"\n"))
	for name, target := range map[string]string{
		"near": "refs/heads/main", "far": "refs/pull/1/head", "chain": "refs/heads/far", "above": "../secret",
		"file": "secret", "deep": "refs/heads/../../secret", "absolute": filepath.Join(repo.Dir, "secret"),
		"none": "refs/heads/no", "loop": "refs/heads/loop",
	} {
		repo.WriteFile("refs/heads/"+name, []byte("ref: "+target+"\n"))
	}
	for round := range 2 { // with loose and with packed refs
		var names []string
		refs, err := snap().RefsBelow(git.BranchPrefix, git.TagPrefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			if ref.Commit.String() != id || ref.Damage != nil {
				t.Errorf("round %d: %+v", round, ref)
			}
			names = append(names, ref.Branch())
		}
		if got, want := strings.Join(names, " "), "chain far main near"; got != want {
			t.Errorf("round %d: the branches are %s, want %s", round, got, want)
		}
		repo.Git("pack-refs", "--all")
	}
}

// TestTransferFollowsTagsAsGitDoes compares loose tags with git's list. One is of an object that the mirror lacks.
func TestTransferFollowsTagsAsGitDoes(t *testing.T) {
	t.Parallel()
	repo, snap := one(t)
	repo.Commit("main", gittest.Regular("a", "1"))
	blob := repo.Store("blob", "lost")
	for _, args := range [][]string{{"kept", "main"}, {"nested", "kept"}, {"lost", blob}} {
		repo.Git(append([]string{"tag", "-a", "-m", "tag"}, args...)...)
	}
	if err := os.Remove(filepath.Join(repo.Dir, "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	transfer, err := snap().Transfer()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, ref := range transfer.Refs {
		list = append(list, ref.ID.String()+"\t"+ref.Name)
		if !ref.Peeled.IsZero() {
			list = append(list, ref.Peeled.String()+"\t"+ref.Name+"^{}")
		}
	}
	if got, want := strings.Join(list, "\n"), repo.Git("ls-remote", ".", "refs/*"); got != want || len(list) != 7 {
		t.Errorf("the list is\n%s\nwant\n%s", got, want)
	}
}
