package repos

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/objects"
)

// The suite runs three implementations over the same repositories, sound and
// damaged: the real git, go-git's own storage, and ours, through the adapter.

// answer is what an implementation says about an object: "blob 5 <content>",
// or a verdict in one word.
type answer string

const (
	missing answer = "missing" // there is no such object
	corrupt answer = "corrupt" // it says that something is damaged
	bareEOF answer = "EOF"     // an end of file that callers take for success
	refused answer = "refused" // the repository is not opened at all
	sound   answer = "sound"   // the right type, size and content
	wrong   answer = "wrong"   // another type, size or content, without an error
)

// implementation answers for one object of the repository in dir, below root.
type implementation struct {
	name string
	ask  func(t *testing.T, root, dir string, id string) answer
}

func implementations() []implementation {
	return []implementation{{"git", askGit}, {"go-git", askGoGit}, {"ours", askOurs}}
}

func askGit(t *testing.T, root, dir, id string) answer {
	t.Helper()
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir, cmd.Env = filepath.Join(root, dir), gittest.Env()
	cmd.Stdin = strings.NewReader(id + "\n")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	head, rest, _ := strings.Cut(string(out), "\n")
	words := strings.Fields(head)
	switch {
	case strings.Contains(complaint.String(), "not a git repository"), strings.Contains(complaint.String(), "unknown repository extension"):
		return refused
	case err != nil, strings.HasSuffix(head, "missing") && complaint.Len() > 0:
		return corrupt // a message on standard error, or an exit status
	case strings.HasSuffix(head, "missing"):
		return missing
	}
	return answer(words[1] + " " + words[2] + " " + strings.TrimSuffix(rest, "\n"))
}

func askGoGit(t *testing.T, root, dir, id string) answer {
	t.Helper()
	storage := filesystem.NewStorageWithOptions(
		osfs.New(filepath.Join(root, dir), osfs.WithBoundOS()), cache.NewObjectLRUDefault(),
		filesystem.Options{AlternatesFS: osfs.New(root, osfs.WithBoundOS())})
	defer func() { _ = storage.Close() }()
	return askStorer(storage, id)
}

func askOurs(t *testing.T, root, dir, id string) answer {
	t.Helper()
	store, err := objects.New(root, objects.Options{TempDir: t.TempDir(), SpillBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	return askStore(store, dir, id)
}

func askStore(store *objects.Store, dir, id string) answer {
	db, err := store.Open(dir)
	if err != nil {
		return refused
	}
	snapshot, err := db.Snapshot()
	if err != nil {
		return corrupt
	}
	defer func() { _ = snapshot.Close() }()
	return askStorer(newObjectStorer(snapshot), id)
}

// askStorer asks for the object, its size and its presence, and reads it.
func askStorer(s storer.EncodedObjectStorer, id string) answer {
	hash := plumbing.NewHash(id)
	object, err := s.EncodedObject(plumbing.AnyObject, hash)
	if err != nil {
		return verdict(err)
	}
	size, err := s.EncodedObjectSize(hash)
	if err != nil {
		return verdict(err)
	}
	if err := s.HasEncodedObject(hash); err != nil {
		return verdict(err)
	}
	r, err := object.Reader()
	if err != nil {
		return verdict(err)
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(r)
	if err != nil {
		return verdict(err)
	}
	if size != object.Size() || int64(len(content)) != size || object.Hash() != hash {
		return wrong
	}
	return answer(fmt.Sprintf("%v %d %s", object.Type(), size, content))
}

func verdict(err error) answer {
	switch {
	case errors.Is(err, io.EOF):
		return bareEOF
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return missing
	}
	return corrupt
}

// layouts are ways to store the same objects. Where go-git disagrees with git
// about all of them, its answer is given.
var layouts = []struct {
	name  string
	goGit answer
	lay   func(*gittest.Repo)
}{
	{"loose", "", func(*gittest.Repo) {}},
	{"ofs-deltas", "", func(r *gittest.Repo) { r.Git("repack", "-adfq", "--depth=50", "--window=50") }},
	{"ref-deltas", "", func(r *gittest.Repo) { r.Git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq") }},
	{"several packs", "", severalPacks},
	{"multi-pack-index", "", func(r *gittest.Repo) { severalPacks(r); r.Git("multi-pack-index", "write") }},
	{"multi-pack-index with bitmap", "", func(r *gittest.Repo) { severalPacks(r); r.Git("repack", "-adbq", "--write-midx") }},
	// go-git does not read this version, which git wrote until 2008.
	{"index version 1", corrupt, func(r *gittest.Repo) { r.Git("-c", "pack.indexVersion=1", "repack", "-adfq") }},
	{"reverse index", "", func(r *gittest.Repo) { r.Git("-c", "pack.writeReverseIndex=true", "repack", "-adfq") }},
	{"bitmap and commit-graph", "", func(r *gittest.Repo) { r.Git("repack", "-adbq"); r.Git("commit-graph", "write") }},
	// go-git finds borrowed objects, but neither their sizes nor that they exist.
	{"alternate inside the root", missing, func(r *gittest.Repo) { moveTo(r, filepath.Join(filepath.Dir(r.Dir), "pool.git", "objects")) }},
	{"shallow", "", func(r *gittest.Repo) { put(r, "shallow", r.Git("rev-parse", "main")+"\n") }},
	{"partial clone", "", func(r *gittest.Repo) {
		r.Git("config", "core.repositoryformatversion", "1")
		r.Git("config", "extensions.partialClone", "origin")
	}},
	{"empty", "", func(r *gittest.Repo) {
		remove(r, "objects/??/*")
		put(r, "packed-refs", "")
		remove(r, "refs/heads/*")
	}},
}

func severalPacks(r *gittest.Repo) {
	for i := range 4 {
		r.Git("repack", "-dq")
		r.Commit("branch-"+strconv.Itoa(i), gittest.Regular("f", "packed "+strconv.Itoa(i)))
	}
}

// moveTo moves the objects to another directory and borrows them from there.
func moveTo(r *gittest.Repo, pool string) {
	r.Git("repack", "-adq")
	if err := os.Mkdir(filepath.Dir(pool), 0o750); err != nil {
		panic(err)
	}
	if err := os.Rename(filepath.Join(r.Dir, "objects"), pool); err != nil {
		panic(err)
	}
	// The only spelling that go-git and git agree on.
	put(r, "objects/info/alternates", "../../pool.git/objects\n")
}

func put(r *gittest.Repo, name, content string) {
	name = filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		panic(err)
	}
	_ = os.Remove(name) // git makes its files read-only
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		panic(err)
	}
}

// files gives the files of a pattern inside the repository.
func files(r *gittest.Repo, pattern string) []string {
	names, err := filepath.Glob(filepath.Join(r.Dir, pattern))
	if err != nil || len(names) == 0 {
		panic(fmt.Sprint("no file ", pattern))
	}
	return names
}

func remove(r *gittest.Repo, pattern string) {
	for _, name := range files(r, pattern) {
		_ = os.Remove(name)
	}
}

// change rewrites files of the repository.
func change(r *gittest.Repo, pattern string, edit func([]byte) []byte) {
	for _, name := range files(r, pattern) {
		b, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		_ = os.Remove(name)
		if err := os.WriteFile(name, edit(slices.Clone(b)), 0o600); err != nil {
			panic(err)
		}
	}
}

// sample fills a repository and gives the content of one blob of it, which is
// stored as a delta once it is packed.
func sample(t *testing.T, repo *gittest.Repo) (content string) {
	t.Helper()
	var body strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&body, "line %d %x\n", i, i*i*7919)
	}
	for i := range 8 {
		content = body.String()[:body.Len()-1000*i]
		repo.Commit("main", gittest.Regular("f", content), gittest.Regular("g", strconv.Itoa(i)), gittest.Regular("e", ""))
	}
	repo.Git("tag", "-a", "-m", "tag", "v1")
	return content
}

func TestConformanceOnSoundRepositories(t *testing.T) {
	ran := 0
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			root := t.TempDir()
			repo := gittest.At(t, filepath.Join(root, "repo.git"))
			sample(t, repo)
			ids := strings.Fields(repo.Git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
			layout.lay(repo)
			ids = append(ids, strings.Repeat("12", 20))
			want := batch(t, repo, ids)
			for _, id := range ids {
				for _, impl := range implementations()[1:] {
					want := want[id]
					if impl.name == "go-git" && layout.goGit != "" {
						want = layout.goGit
					}
					if got := impl.ask(t, root, "repo.git", id); got != want {
						t.Errorf("%s: %.20s, %s says %.40q and git %.40q", layout.name, id, impl.name, got, want)
					}
				}
			}
			ran++
		})
	}
	if ran != len(layouts) {
		t.Errorf("%d of %d layouts were compared", ran, len(layouts))
	}
}

// batch asks git for many objects with one process, and checks that
// --batch-check says the same of their types and sizes.
func batch(t *testing.T, repo *gittest.Repo, ids []string) map[string]answer {
	t.Helper()
	input := []byte(strings.Join(ids, "\n") + "\n")
	heads := strings.Split(repo.GitInput(input, "cat-file", "--batch-check"), "\n")
	r := bufio.NewReader(strings.NewReader(repo.GitInput(input, "cat-file", "--batch") + "\n"))
	answers := make(map[string]answer)
	for i, id := range ids {
		head, err := r.ReadString('\n')
		if err != nil || heads[i] != strings.TrimSuffix(head, "\n") {
			t.Fatalf("git says %q and %q", heads[i], head)
		}
		words := strings.Fields(head)
		if words[1] == "missing" {
			answers[id] = missing
			continue
		}
		size, _ := strconv.Atoi(words[2])
		content := make([]byte, size+1)
		if _, err := io.ReadFull(r, content); err != nil {
			t.Fatal(err)
		}
		answers[id] = answer(words[1] + " " + words[2] + " " + string(content[:size]))
	}
	return answers
}

// damages are ways to spoil a repository whose sample blob is a delta in its
// only pack, or loose where it says so, and what the implementations then say
// about that blob. Where git or go-git say what is not true, or end without an
// error, the line shows it, and ours differs.
var damages = []struct {
	name             string
	loose            bool
	damage           func(r *gittest.Repo)
	git, goGit, ours answer
}{
	{"index cut in the fan-out", false, cut("objects/pack/*.idx", 500), corrupt, bareEOF, corrupt},
	{"index cut in the ids", false, cut("objects/pack/*.idx", 1500), corrupt, corrupt, corrupt},
	{"index empty", false, cut("objects/pack/*.idx", 0), corrupt, bareEOF, corrupt},
	{"index with an id changed", false, spoilID, missing, corrupt, corrupt},
	{"index with an offset changed", false, flip("objects/pack/*.idx", -40-3), sound, corrupt, corrupt},
	{"index of version 9", false, flip("objects/pack/*.idx", 7), corrupt, corrupt, corrupt},
	{"index missing", false, func(r *gittest.Repo) { remove(r, "objects/pack/*.idx") }, missing, corrupt, missing},
	{"index that is a directory", false, asDirectory("objects/pack/*.idx"), corrupt, corrupt, corrupt},
	{"pack missing", false, func(r *gittest.Repo) { remove(r, "objects/pack/*.pack") }, missing, missing, corrupt},
	{"pack cut at a quarter", false, quarter("objects/pack/*.pack"), corrupt, missing, corrupt},
	{"pack empty", false, cut("objects/pack/*.pack", 0), corrupt, missing, corrupt},
	{"pack of version 9", false, flip("objects/pack/*.pack", 7), corrupt, sound, corrupt},
	{"pack with another count", false, flip("objects/pack/*.pack", 11), corrupt, sound, corrupt},
	{"pack with another checksum", false, flip("objects/pack/*.pack", -1), corrupt, sound, corrupt},
	{"pack of zeros after its header", false, zero("objects/pack/*.pack"), corrupt, corrupt, corrupt},
	{"multi-pack-index of packs that are gone", false, staleMidx, sound, sound, sound},
	{"multi-pack-index of zeros", false, junk("objects/pack/multi-pack-index"), corrupt, sound, sound},
	{"reverse index of zeros", false, junkBeside(".rev"), sound, sound, sound},
	{"bitmap of zeros", false, junkBeside(".bitmap"), sound, sound, sound},
	{"commit-graph of zeros", false, junk("objects/info/commit-graph"), sound, sound, sound},
	{"pack directory with other files", false, junk("objects/pack/tmp_pack_x"), sound, sound, sound},
	{"loose object missing", true, func(r *gittest.Repo) { remove(r, "objects/??/*") }, missing, missing, missing},
	{"loose object empty", true, cut("objects/??/*", 0), corrupt, corrupt, corrupt},
	{"loose object cut in its header", true, cut("objects/??/*", 3), corrupt, corrupt, corrupt},
	{"loose object cut in its content", true, quarter("objects/??/*"), corrupt, corrupt, corrupt},
	{"loose object changed", true, flip("objects/??/*", -10), corrupt, corrupt, corrupt},
	{"loose object followed by more", true, func(r *gittest.Repo) {
		change(r, "objects/??/*", func(b []byte) []byte { return append(b, "more"...) })
	}, sound, sound, corrupt}, // git fsck calls it garbage; git cat-file passes over it
	{"loose object of another content", true, swapLoose, wrong, wrong, corrupt},
	{"loose object that is a directory", true, asDirectory("objects/??/*"), corrupt, corrupt, corrupt},
	{"HEAD broken", false, func(r *gittest.Repo) { put(r, "packed-refs", "junk\n"); put(r, "refs/heads/none", "") }, sound, sound, sound},
	{"SHA-256 configured", false, func(r *gittest.Repo) {
		put(r, "config", "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n")
	}, corrupt, sound, refused},
	{"reftable configured", false, func(r *gittest.Repo) {
		put(r, "config", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n")
	}, refused, sound, refused},
}

func cut(pattern string, size int) func(*gittest.Repo) {
	return func(r *gittest.Repo) { change(r, pattern, func(b []byte) []byte { return b[:size] }) }
}

func quarter(pattern string) func(*gittest.Repo) {
	return func(r *gittest.Repo) { change(r, pattern, func(b []byte) []byte { return b[:len(b)/4] }) }
}

// flip changes one byte, from the end when at is negative.
func flip(pattern string, at int) func(*gittest.Repo) {
	return func(r *gittest.Repo) {
		change(r, pattern, func(b []byte) []byte {
			b[(at+len(b))%len(b)] ^= 0x0b
			return b
		})
	}
}

func zero(pattern string) func(*gittest.Repo) {
	return func(r *gittest.Repo) {
		change(r, pattern, func(b []byte) []byte {
			clear(b[12 : len(b)-20])
			return b
		})
	}
}

func junk(name string) func(*gittest.Repo) {
	return func(r *gittest.Repo) { put(r, name, string(make([]byte, 5000))) }
}

func junkBeside(suffix string) func(*gittest.Repo) {
	return func(r *gittest.Repo) {
		pack := strings.TrimSuffix(filepath.Base(files(r, "objects/pack/*.pack")[0]), ".pack")
		put(r, "objects/pack/"+pack+suffix, string(make([]byte, 5000)))
	}
}

func asDirectory(pattern string) func(*gittest.Repo) {
	return func(r *gittest.Repo) {
		for _, name := range files(r, pattern) {
			_ = os.Remove(name)
			if err := os.Mkdir(name, 0o750); err != nil {
				panic(err)
			}
		}
	}
}

// spoilID changes every id of the index so that its order stays.
func spoilID(r *gittest.Repo) {
	change(r, "objects/pack/*.idx", func(b []byte) []byte {
		for at := 8 + 1024; at < 8+1024+20*int(b[8+1023]); at += 20 {
			b[at+19] ^= 1
		}
		return b
	})
}

// staleMidx leaves the multi-pack-index of packs that a repack then replaced.
func staleMidx(r *gittest.Repo) {
	severalPacks(r)
	r.Git("multi-pack-index", "write")
	stale, err := os.ReadFile(files(r, "objects/pack/multi-pack-index")[0])
	if err != nil {
		panic(err)
	}
	r.Git("repack", "-adq")
	put(r, "objects/pack/multi-pack-index", string(stale))
}

// swapLoose gives every loose object the content of the first.
func swapLoose(r *gittest.Repo) {
	other, err := os.ReadFile(files(r, "objects/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391")[0]) // the empty blob
	if err != nil {
		panic(err)
	}
	change(r, "objects/??/*", func([]byte) []byte { return other })
}

func TestConformanceOnDamagedRepositories(t *testing.T) {
	ran := 0
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			repo, other := gittest.At(t, filepath.Join(root, "repo.git")), gittest.At(t, filepath.Join(root, "other.git"))
			content := sample(t, repo)
			sample(t, other)
			id := repo.Git("rev-parse", "main:f")
			if !c.loose {
				repo.Git("repack", "-adfq")
			}
			truth := answer(fmt.Sprintf("blob %d %s", len(content), content))
			whole := filepath.Join(root, "whole")
			if err := os.CopyFS(whole, os.DirFS(repo.Dir)); err != nil {
				t.Fatal(err)
			}
			c.damage(repo)
			for i, impl := range implementations() {
				got := classify(impl.ask(t, root, "repo.git", id), truth)
				if want := []answer{c.git, c.goGit, c.ours}[i]; got != want {
					t.Errorf("%s says %q, the table %q", impl.name, got, want)
				}
			}
			checkNeighbourAndRepair(t, root, whole, id, truth)
			ran++
		})
	}
	if ran != len(damages) {
		t.Errorf("%d of %d damages were compared", ran, len(damages))
	}
}

// classify reduces an answer to a verdict.
func classify(got, truth answer) answer {
	switch got {
	case missing, corrupt, bareEOF, refused, wrong:
		return got
	case truth:
		return sound
	}
	return wrong
}

// checkNeighbourAndRepair sees that one store goes on serving other
// repositories beside a damaged one, and the damaged one itself once its files
// are put back.
func checkNeighbourAndRepair(t *testing.T, root, whole, id string, truth answer) {
	t.Helper()
	store, err := objects.New(root, objects.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	askStore(store, "repo.git", id)
	if got := askStore(store, "other.git", id); got != truth {
		t.Errorf("a neighbour says %.40q", got)
	}
	repo := filepath.Join(root, "repo.git")
	if err := os.RemoveAll(repo); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(repo, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	if got := askStore(store, "repo.git", id); got != truth {
		t.Errorf("after the repair it says %.40q", got)
	}
}

func TestStorerRefusesWrites(t *testing.T) {
	s := newObjectStorer(nil)
	if _, err := s.SetEncodedObject(s.NewEncodedObject()); err == nil {
		t.Error("SetEncodedObject succeeded")
	}
	if err := s.AddAlternate("x"); err == nil {
		t.Error("AddAlternate succeeded")
	}
	if _, err := new(encodedObject).Writer(); err == nil {
		t.Error("Writer succeeded")
	}
}
