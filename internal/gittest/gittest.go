// Package gittest builds real repositories for tests and asks the real git
// about them. It is imported by tests only.
//
// What is in repositories is made with git itself, isolated from the configuration
// of the machine, so that the same calls give the same object ids everywhere.
// git is the oracle: a test that compares with it needs git on the PATH and
// fails without one.
package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// firstCommitTime is the committer time of the first commit of a repository,
// in seconds since 1970; each further commit is one minute later.
const firstCommitTime = 1_700_000_000

// Repo is a bare repository under construction.
type Repo struct {
	// Dir is the repository's directory: the one that holds HEAD and objects.
	Dir string

	t       testing.TB
	made    bool // here, and not found
	commits int
	heads   map[string]string // of branches, as [Repo.Commit] left them
	deflate *zlib.Writer      // of [Repo.Store]: a new one takes longer than a small object
}

// New makes an empty bare repository in a temporary directory of the test.
func New(t testing.TB) *Repo {
	t.Helper()
	return At(t, filepath.Join(t.TempDir(), "repo.git"))
}

// At makes an empty bare repository in dir, whose default branch is main. A
// repository that is there already stays as it is.
func At(t testing.TB, dir string) *Repo {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, "HEAD"))
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		if err := initialize(dir); err != nil {
			t.Fatal(err)
		}
	}
	return &Repo{Dir: dir, t: t, made: missing, heads: make(map[string]string)}
}

// initialize makes what `git init --bare --template=` does, without a process of
// which the tests would need thousands. HEAD comes last, which makes a repository
// of the folder for programs that watch it.
func initialize(dir string) error {
	for _, folder := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	config := []byte("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n")
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "config"), config, 0o644),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644),
	)
}

// Existing is a repository that is there already, to ask git about.
func Existing(t testing.TB, dir string) *Repo {
	return &Repo{Dir: dir, t: t, heads: make(map[string]string)}
}

// Git runs git in the repository and returns its standard output without the
// final newline. The test ends when git fails.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return strings.TrimSuffix(string(run(r.t, r.Dir, nil, args...)), "\n")
}

// GitInput is [Repo.Git] with a standard input.
func (r *Repo) GitInput(stdin []byte, args ...string) string {
	r.t.Helper()
	return strings.TrimSuffix(string(run(r.t, r.Dir, bytes.NewReader(stdin), args...)), "\n")
}

// Archive returns the bytes of `git archive` with the given arguments.
func (r *Repo) Archive(args ...string) []byte {
	r.t.Helper()
	return run(r.t, r.Dir, nil, append([]string{"-c", "tar.umask=0002", "archive"}, args...)...)
}

// Checkout is a folder with what git checkout writes of a commit, with core.autocrlf=false,
// core.eol=lf and other settings. There is no .git in it.
func (r *Repo) Checkout(commit string, settings ...string) (dir string) {
	r.t.Helper()
	dir = filepath.Join(r.t.TempDir(), "checkout")
	r.Git("clone", "-q", "--shared", "--no-checkout", ".", dir)
	var args []string
	for _, setting := range append([]string{"core.autocrlf=false", "core.eol=lf"}, settings...) {
		args = append(args, "-c", setting)
	}
	run(r.t, dir, nil, append(args, "checkout", "-q", "--force", "--detach", commit)...)
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		r.t.Fatal(err)
	}
	return dir
}

// TryArchive is [Repo.Archive] of arguments that git may refuse.
func (r *Repo) TryArchive(args ...string) (archive []byte, ok bool) {
	var stdout Output
	cmd := command(r.Dir, append([]string{"-c", "tar.umask=0002", "archive"}, args...)...)
	cmd.Stdout = &stdout
	err := cmd.Run()
	return stdout.Bytes(), err == nil
}

// WriteFile writes a file of the repository's own folder. One that git keeps from being
// written is written all the same, as root always can.
func (r *Repo) WriteFile(name string, content []byte) {
	r.t.Helper()
	path := filepath.Join(r.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		r.t.Fatal(err)
	}
	err := os.WriteFile(path, content, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, content, 0o600))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// Age makes the repository's files an hour old, as those of most mirrors are: a stamp of files that were just written
// is not relied on.
func (r *Repo) Age() {
	r.t.Helper()
	// Go's library cannot change the times of a link.
	past := time.Now().Add(-time.Hour).Format("200601021504")
	touch := exec.Command("find", r.Dir, "-exec", "touch", "-h", "-t", past, "{}", "+")
	if said, err := touch.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, said)
	}
}

// File is one entry of a commit.
type File struct {
	Path    string // any bytes but NUL
	Mode    string // as git writes it: 100644, 100755, 120000, 160000
	Content string // for a gitlink the commit id
}

// Regular is a file that is not executable.
func Regular(path, content string) File { return File{path, "100644", content} }

// Executable is a file with the executable bit.
func Executable(path, content string) File { return File{path, "100755", content} }

// Symlink is a symbolic link to target.
func Symlink(path, target string) File { return File{path, "120000", target} }

// Gitlink is a submodule at the given commit id.
func Gitlink(path, commit string) File { return File{path, "160000", commit} }

// Store records an object of any content, however broken, and returns its id.
// It is loose and there without a git process, of which thousands take long.
func (r *Repo) Store(kind, content string) string {
	r.t.Helper()
	id, packed := r.deflated(kind, content)
	r.WriteFile(loosePath(id), packed)
	return id
}

// storeOnce is [Repo.Store] as git does it: an object that is there stays, and a reader
// sees all of a new one.
func (r *Repo) storeOnce(kind, content string) string {
	r.t.Helper()
	id, packed := r.deflated(kind, content)
	if _, err := os.Stat(filepath.Join(r.Dir, loosePath(id))); err != nil {
		r.writeWhole(loosePath(id), packed)
	}
	return id
}

func loosePath(id string) string { return "objects/" + id[:2] + "/" + id[2:] }

// writeWhole writes a file that no reader sees a part of.
func (r *Repo) writeWhole(name string, content []byte) {
	r.t.Helper()
	r.WriteFile(name+".lock", content)
	path := filepath.Join(r.Dir, name)
	if err := os.Rename(path+".lock", path); err != nil {
		r.t.Fatal(err)
	}
}

// deflated is an object's id and the file that it is.
func (r *Repo) deflated(kind, content string) (id string, packed []byte) {
	r.t.Helper()
	object := fmt.Sprintf("%s %d\x00%s", kind, len(content), content)
	var out bytes.Buffer
	if r.deflate == nil {
		r.deflate = zlib.NewWriter(nil)
	}
	r.deflate.Reset(&out)
	_, err := io.WriteString(r.deflate, object)
	if err := errors.Join(err, r.deflate.Close()); err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha1.Sum([]byte(object))), out.Bytes()
}

// SetRef makes a ref hold an object, without a git process.
func (r *Repo) SetRef(name, id string) {
	r.t.Helper()
	r.WriteFile(name, []byte(id+"\n"))
}

// Commit records a commit whose whole tree is files on the given branch, as
// child of the branch's present head, and returns its id. Small commits leave
// loose objects, large ones (100 objects and more) a pack, as a push does.
func (r *Repo) Commit(branch string, files ...File) string {
	r.t.Helper()
	ref := "refs/heads/" + branch
	message := fmt.Sprintf("commit %d on %s\n", r.commits+1, branch)
	date := firstCommitTime + 60*r.commits
	r.commits++
	id, ok := r.commitLoosely(ref, message, date, files)
	if !ok {
		id = r.fastImport(ref, message, date, files)
	}
	r.heads[ref] = id
	return id
}

func (r *Repo) fastImport(ref, message string, date int, files []File) string {
	r.t.Helper()
	var in pieces
	in.add("feature done\nfeature get-mark\ncommit %s\nmark :1\n", ref)
	in.add("committer A U Thor <author@example.com> %d +0000\n", date)
	in.add("data %d\n%s", len(message), message)
	if r.has(ref) {
		in.add("from %s^0\n", ref)
	}
	in.add("deleteall\n")
	for _, f := range files {
		writeFile(&in, f)
	}
	in.add("\nget-mark :1\ndone\n")
	arguments := []string{"fast-import", "--quiet", "--force"}
	if hasNoiseAlone(files) {
		// git stores noise as it is, after it has tried for long to compress it.
		arguments = append([]string{"-c", "core.compression=0"}, arguments...)
	}
	return strings.TrimSpace(string(run(r.t, r.Dir, in.reader(), arguments...)))
}

// hasNoiseAlone reports whether there are large files, and all of them are [Noise].
func hasNoiseAlone(files []File) bool {
	const large = 64 << 10
	some, begin := false, Noise(16)
	for _, f := range files {
		if len(f.Content) >= large {
			if some = strings.HasPrefix(f.Content, begin); !some {
				return false
			}
		}
	}
	return some
}

func (r *Repo) has(ref string) bool {
	if _, err := os.Stat(filepath.Join(r.Dir, ref)); err == nil {
		return true
	}
	packed, _ := os.ReadFile(filepath.Join(r.Dir, "packed-refs")) // there may be none
	return bytes.Contains(packed, []byte(" "+ref+"\n"))
}

// FastImport is a file as git fast-import reads it, for tests that write more
// commits than should have a git process each.
func FastImport(f File) string {
	var in pieces
	writeFile(&in, f)
	return strings.Join(in, "")
}

func writeFile(in *pieces, f File) {
	if f.Mode == "160000" {
		in.add("M 160000 %s %s\n", f.Content, quote(f.Path))
		return
	}
	in.add("M %s inline %s\ndata %d\n", f.Mode, quote(f.Path), len(f.Content))
	in.put(f.Content)
	in.add("\n")
}

// pieces are what a process reads, one after the other. Joined to one they would be
// copied several times, which takes long for large files under the race detector.
type pieces []string

func (p *pieces) add(format string, arguments ...any) { p.put(fmt.Sprintf(format, arguments...)) }

func (p *pieces) put(piece string) {
	const short = 32 << 10
	if last := len(*p) - 1; last >= 0 && len((*p)[last])+len(piece) <= short {
		(*p)[last] += piece
	} else {
		*p = append(*p, piece)
	}
}

func (p *pieces) reader() io.Reader {
	readers := make([]io.Reader, len(*p))
	for i, piece := range *p {
		readers[i] = strings.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// Output collects what is written, and copies it once.
type Output struct {
	chunks [][]byte
	size   int
}

// Write keeps a copy of the bytes.
func (o *Output) Write(chunk []byte) (int, error) {
	for rest := chunk; len(rest) > 0; {
		last := len(o.chunks) - 1
		if last < 0 || len(o.chunks[last]) == cap(o.chunks[last]) {
			o.chunks = append(o.chunks, make([]byte, 0, min(max(o.size, len(rest), 512), 4<<20)))
			last++
		}
		free := o.chunks[last][len(o.chunks[last]):cap(o.chunks[last])]
		n := copy(free, rest)
		o.chunks[last] = o.chunks[last][:len(o.chunks[last])+n]
		o.size += n
		rest = rest[n:]
	}
	return len(chunk), nil
}

// Bytes are all that was written.
func (o *Output) Bytes() []byte {
	if len(o.chunks) > 1 {
		o.chunks = [][]byte{slices.Concat(o.chunks...)}
	}
	if len(o.chunks) == 0 {
		return nil
	}
	return o.chunks[0]
}

// quote writes a path in the C style that fast-import reads, so that any byte
// can be in it.
func quote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func run(t testing.TB, dir string, stdin io.Reader, args ...string) []byte {
	t.Helper()
	cmd := command(dir, args...)
	cmd.Stdin = stdin
	var stdout Output
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes()
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = Env()
	return cmd
}

// Env is an environment for git that no configuration of the machine reaches,
// and in which objects are what their ids say: git follows no replacement refs.
func Env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=/nonexistent",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		// Nothing has to outlive the machine: waiting for a busy disk takes most of the time of some tests.
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none",
		// No process stays behind, which would write into a folder while it is removed.
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=A U Thor", "GIT_COMMITTER_EMAIL=author@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
}

// WriteCommitGraph leaves a commit-graph of one kind by the number: none, one of all
// commits with filters of changed paths, a chain of two that lacks the youngest
// commits, and one with neither filters nor corrected dates.
func (r *Repo) WriteCommitGraph(number uint64) {
	r.t.Helper()
	switch number % 4 {
	case 1:
		r.Git("commit-graph", "write", "--reachable", "--changed-paths")
	case 2:
		all := strings.Fields(r.Git("rev-list", "--all"))
		for _, youngest := range []int{len(all) / 2, len(all) / 8} {
			r.GitInput(
				[]byte(strings.Join(all[youngest:], "\n")+"\n"), "commit-graph", "write", "--stdin-commits",
				"--split=no-merge", "--changed-paths",
			)
		}
	case 3:
		r.Git("-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable")
	}
}

// Noise is text of the given size that does not compress, the same each time.
func Noise(size int) string {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
	return string(content)
}
