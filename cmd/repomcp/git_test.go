package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// gitClient is the real git, of a user who has no configuration but the settings.
type gitClient struct {
	t        *testing.T
	settings []string // as after -c
}

// try runs git in a folder and returns all that it says.
func (g gitClient) try(dir string, args ...string) (said string, err error) {
	g.t.Helper()
	var full []string
	for _, setting := range g.settings {
		full = append(full, "-c", setting)
	}
	command := exec.CommandContext(g.t.Context(), "git", append(full, args...)...)
	command.Dir, command.Env = dir, gittest.Env()
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must is try of what has to succeed.
func (g gitClient) must(dir string, args ...string) string {
	g.t.Helper()
	said, err := g.try(dir, args...)
	if err != nil {
		g.t.Fatalf("git %s %s: %v\n%s", g.settings, args, err, said)
	}
	return said
}

// gitMirror is a mirror with branches, tags of all kinds, refs that are not served and objects that no ref leads to.
type gitMirror struct {
	*gittest.Repo
	hidden, stash, lost       string // commits that only hidden refs, a stash and nothing lead to
	hiddenBlob, lostBlob      string // in the first and the last of them
	lostTree, oldBlob, oldTag string // oldBlob is in an old commit alone
}

// newGitMirror makes one with some commits in packs and some loose.
func newGitMirror(t *testing.T, dir string) gitMirror {
	t.Helper()
	m := gitMirror{Repo: gittest.At(t, dir)}
	for i := range 40 {
		m.Commit("main", gittest.Regular("README", fmt.Sprintf("version %d\n", i)),
			gittest.Regular(fmt.Sprintf("dir%d/file", i%7), gittest.SeededNoise(uint64(i), 2000)),
			gittest.Executable("run.sh", "#!/bin/sh\n"), gittest.Symlink("link", "README"))
		if i == 5 {
			m.oldBlob = m.Git("rev-parse", "main:README")
		}
		if i%10 == 0 {
			m.Git("tag", "-a", "-m", "release", fmt.Sprintf("v%d", i), "main")
			m.Git("branch", fmt.Sprintf("topic/%d", i), "main")
		}
	}
	m.Git("tag", "light", "main~3")
	m.Git("tag", "-a", "-m", "of a file", "blobtag", "main:README")
	m.oldTag = m.Git("rev-parse", "v0")
	m.Git("repack", "-adq")
	m.Git("pack-refs", "--all")
	m.Git("tag", "-a", "-m", "of a tag", "nested", "v10") // loose, so that no file says what it leads to
	m.Commit("main", gittest.Regular("README", "loose\n"))
	commit := func(content string) (id, blob string) {
		m.Commit("draft", gittest.Regular("secret", content))
		id, blob = m.Git("rev-parse", "draft"), m.Git("rev-parse", "draft:secret")
		m.Git("branch", "-D", "-q", "draft")
		return id, blob
	}
	m.hidden, m.hiddenBlob = commit("hidden")
	m.SetRef("refs/internal/x", m.hidden)
	m.Git("config", "transfer.hideRefs", "refs/internal")
	m.stash, _ = commit("stash")
	m.SetRef("refs/stash", m.stash)
	m.lost, m.lostBlob = commit("lost")
	m.lostTree = m.Git("rev-parse", m.lost+"^{tree}")
	return m
}

// force makes the branch wip a single new commit, as a forced push does.
func (m gitMirror) force(content string) (id string) {
	id = m.Commit("forced", gittest.Regular("draft", content))
	m.SetRef("refs/heads/wip", id)
	m.Git("branch", "-D", "-q", "forced")
	return id
}

// served are the refs that clients get, as git ls-remote prints them.
func (m gitMirror) served() string {
	lines := strings.Split(m.Git("ls-remote", "."), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "refs/internal/") || strings.Contains(line, "refs/stash")
	}), "\n")
}

// objects lists all objects that revisions lead to.
func objectsOf(g gitClient, dir string, revisions ...string) string {
	g.t.Helper()
	args := append([]string{"rev-list", "--objects", "--no-object-names"}, revisions...)
	lines := strings.Split(g.must(dir, args...), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestGitClonesAndFetches(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "group", "app.git"))
	url := start(t, root).url + "/git/group/app"
	cases := 0
	for _, version := range []string{"0", "1", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version, "gc.auto=0", "maintenance.auto=false"}}
		for _, address := range []string{url, url + ".git"} {
			if got := g.must(root, "ls-remote", address); got != mirror.served() {
				t.Errorf("ls-remote in version %s: %s\nwant %s", version, got, mirror.served())
			}
			cases++
		}
		for _, options := range [][]string{
			nil, {"--bare"}, {"--mirror"}, {"--depth=1"}, {"--depth=3", "--no-single-branch"}, {"--single-branch"},
			{"--branch=topic/20"}, {"--branch=v10", "--depth=2"}, {"--filter=blob:none"}, {"--filter=tree:0"},
			{"--filter=blob:limit=100"}, {"--shallow-exclude=topic/20"}, {"--no-tags"},
		} {
			if version == "1" && len(options) > 0 { // it is version 0 with a line before it
				continue
			}
			clone := filepath.Join(t.TempDir(), "clone")
			g.must(root, append(append([]string{"clone", "-q"}, options...), url, clone)...)
			checkClone(t, g, mirror, clone, options)
			cases++
		}
	}
	if cases != 6+13+1+13 {
		t.Errorf("%d cases were tried", cases)
	}
}

// checkClone compares a clone with the mirror: refs, objects, and what git thinks of it.
func checkClone(t *testing.T, g gitClient, mirror gitMirror, clone string, options []string) {
	t.Helper()
	what := fmt.Sprint(g.settings, options)
	if said := g.must(clone, "fsck", "--no-dangling", "--connectivity-only"); strings.Contains(said, "error") {
		t.Errorf("%s: fsck: %s", what, said)
	}
	head := g.must(clone, "rev-parse", "HEAD")
	if !strings.Contains(mirror.served(), head) && !slices.Contains(options, "--branch=v10") {
		t.Errorf("%s: HEAD is %s", what, head)
	}
	for _, secret := range []string{mirror.hidden, mirror.stash, mirror.lost, mirror.hiddenBlob, mirror.lostBlob} {
		if said, err := g.try(clone, "-c", "remote.origin.promisor=false", "cat-file", "-e", secret); err == nil {
			t.Errorf("%s: the clone has %s, which is not served %s", what, secret, said)
		}
	}
	switch {
	case slices.Contains(options, "--mirror"):
		want := strings.Join(strings.Fields(mirror.served()), " ")
		if got := strings.Join(strings.Fields(g.must(clone, "ls-remote", ".")), " "); got != want {
			t.Errorf("%s: refs are %s, want %s", what, got, want)
		}
		fallthrough
	case len(options) == 0, slices.Contains(options, "--bare"):
		revisions := []string{"--branches", "--tags"}
		if len(options) == 0 {
			revisions = []string{"--remotes", "--tags"}
		}
		want := objectsOf(g, mirror.Dir, "--branches", "--tags")
		if got := objectsOf(g, clone, revisions...); got != want || len(want) < 5000 {
			t.Errorf("%s: %d bytes of object ids, the mirror has %d", what, len(got), len(want))
		}
		g.must(clone, "fsck", "--strict", "--no-dangling")
	case strings.HasPrefix(options[0], "--filter"):
		// What is missing comes when it is used: each commit's files, and the history by content.
		want := mirror.Git("log", "-p", "-4", "main")
		if got := g.must(clone, "log", "-p", "-4"); got != want {
			t.Errorf("%s: the history differs", what)
		}
	}
}

func TestGitDeepensAShallowClone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	url := start(t, root).url + "/git/app"
	for _, version := range []string{"0", "1", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version}}
		clone := filepath.Join(t.TempDir(), "clone")
		g.must(root, "clone", "-q", "--depth=1", url, clone)
		for _, step := range []struct{ option, want string }{
			{"--depth=1", "1"}, {"--deepen=4", "5"}, {"--depth=9", "9"},
			{"--shallow-exclude=topic/20", mirror.Git("rev-list", "--count", "topic/20..main")},
			{"--unshallow", mirror.Git("rev-list", "--count", "main")},
		} {
			g.must(clone, "fetch", "-q", step.option, "origin", "main")
			if got := g.must(clone, "rev-list", "--count", "origin/main"); got != step.want {
				t.Errorf("version %s, %s: %s commits, want %s", version, step.option, got, step.want)
			}
			g.must(clone, "fsck", "--strict", "--no-dangling")
		}
		if want := objectsOf(g, mirror.Dir, "main"); objectsOf(g, clone, "origin/main") != want {
			t.Errorf("version %s: other objects than the mirror's", version)
		}
	}
}

func TestGitFetchesWhatServedRefsLeadTo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	bitmaps := newGitMirror(t, filepath.Join(root, "bitmaps.git"))
	bitmaps.Git("repack", "-adbq", "--keep-unreachable")
	served := start(t, root).url + "/git/"
	lenient := start(t, root, "--allow-unreachable").url + "/git/"
	cases := 0
	for _, version := range []string{"0", "1", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version}}
		fetch := func(url, want string) (string, error) {
			clone := filepath.Join(t.TempDir(), "clone")
			g.must(root, "init", "-q", "--bare", clone)
			said, err := g.try(clone, "fetch", "-q", "--depth=1", url, want)
			if err == nil {
				g.must(clone, "cat-file", "-e", want)
			}
			cases++
			return said, err
		}
		for name, m := range map[string]gitMirror{"app": mirror, "bitmaps": bitmaps} {
			if name == "bitmaps" && version != "2" && gittest.Volume(1, 0) > 0 { // the same objects in another pack
				continue
			}
			reached := []string{m.Git("rev-parse", "main"), m.Git("rev-parse", "main~20"), m.Git("rev-parse", "light~2"),
				m.oldTag, m.oldBlob, m.Git("rev-parse", "main~30^{tree}")}
			for _, want := range reached {
				if said, err := fetch(served+name, want); err != nil {
					t.Errorf("version %s, %s: %s, which a ref leads to: %s", version, name, want, said)
				}
			}
			for _, want := range []string{
				m.hidden, m.stash, m.lost, m.hiddenBlob, m.lostBlob, m.lostTree, strings.Repeat("1", 40),
			} {
				said, err := fetch(served+name, want)
				if err == nil || !strings.Contains(said, "not our ref "+want) {
					t.Errorf("version %s, %s: %s, which no served ref leads to: %v %s", version, name, want, err, said)
				}
			}
			if said, err := fetch(lenient+name, m.lost); err != nil {
				t.Errorf("version %s: with --allow-unreachable: %s", version, said)
			}
		}
	}
	if cases != gittest.Volume(4, 6)*14 {
		t.Errorf("%d cases were tried", cases)
	}
}

// A client gets what its list of refs had, although the branch was forced since, and nobody gets more.
func TestGitFetchesWhatAClientWasTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	url := start(t, root).url + "/git/app"
	for _, version := range []string{"0", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version}}
		unseen := mirror.force("unseen " + version)
		told := mirror.force("told " + version)
		listed := g.must(root, "ls-remote", url, "refs/heads/wip")
		for i := range 3 {
			mirror.force(fmt.Sprintf("version %s, %d", version, i))
			g.must(root, "ls-remote", url)
		}
		clone := filepath.Join(t.TempDir(), "clone")
		g.must(root, "init", "-q", "--bare", clone)
		if said, err := g.try(clone, "fetch", "-q", url, told); err != nil || !strings.HasPrefix(listed, told) {
			t.Errorf("version %s: %s was listed as %s: %s", version, told, listed, said)
		}
		if said, err := g.try(clone, "fetch", "-q", url, unseen); err == nil {
			t.Errorf("version %s: %s was never listed: %s", version, unseen, said)
		}
	}
}

// A partial clone asks for its files when it has the commits: the branch may have been forced in between.
func TestGitSendsThePartsOfWhatAClientWasTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	url := start(t, root).url + "/git/app"
	for _, version := range []string{"0", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version}}
		clone := filepath.Join(t.TempDir(), "clone")
		old := mirror.Commit("part", gittest.Regular("f", "told "+version))
		g.must(root, "clone", "-q", "--filter=blob:none", "--no-checkout", "-b", "part", url, clone)
		mirror.Git("update-ref", "-d", "refs/heads/part")
		mirror.Commit("part", gittest.Regular("f", "forced "+version))
		g.must(clone, "checkout", "-q", old)
		unseen := mirror.Store("blob", "nothing leads to it "+version)
		if said, err := g.try(clone, "fetch", "-q", "origin", unseen); err == nil {
			t.Errorf("version %s: %s was never listed: %s", version, unseen, said)
		}
	}
}

// What a deleted branch had may be gone in part, while another one leads to what is wanted.
func TestGitSendsWhatRefsLeadToBesidesWhatIsGone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	url := start(t, root).url + "/git/app"
	g := gitClient{t: t}
	mirror.Commit("gone", gittest.Regular("f", "of the deleted branch"))
	tree := mirror.Git("rev-parse", "gone^{tree}")
	g.must(root, "ls-remote", url)
	mirror.Git("update-ref", "-d", "refs/heads/gone")
	if err := os.Remove(filepath.Join(mirror.Dir, "objects", tree[:2], tree[2:])); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	g.must(root, "init", "-q", "--bare", clone)
	g.must(clone, "fetch", "-q", url, mirror.Git("rev-parse", "main~1^{tree}"))
	if said, err := g.try(clone, "fetch", "-q", url, mirror.lostTree); err == nil || !strings.Contains(said, "not our ref") {
		t.Errorf("nothing leads to %s: %v %s", mirror.lostTree, err, said)
	}
}

// unframed joins the lines of a reply of version 2, in which a pack is cut anywhere.
func unframed(t *testing.T, reply string) (content string) {
	t.Helper()
	for len(reply) >= 4 {
		size, err := strconv.ParseUint(reply[:4], 16, 16)
		if err != nil || int(size) > len(reply) {
			t.Fatalf("the reply goes on with %.20q", reply)
		}
		content += strings.TrimPrefix(reply[4:max(4, size)], "\x01")
		reply = reply[max(4, size):]
	}
	return content
}

// A client that says that it has a hidden object learns no more than with an id that nothing has: neither from the
// acknowledgement nor from differences.
func TestGitTellsNothingOfWhatAClientClaimsToHave(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	text := gittest.SeededNoise(1, 4000)
	shown := mirror.Commit("conf", gittest.Regular("conf", text))
	mirror.SetRef("refs/internal/y", mirror.Commit("draft", gittest.Regular("conf", text+"PASSWORD=x\n")))
	draft, blob := mirror.Git("rev-parse", "draft"), mirror.Git("rev-parse", "draft:conf")
	mirror.Git("branch", "-D", "-q", "draft")
	p := start(t, root)
	ask := func(have string, rest ...string) string {
		request := packetLine("command=fetch") + "0001" + packetLine("thin-pack\n") + packetLine("no-progress\n") +
			packetLine("want "+shown+"\n") + packetLine("have "+have+"\n") + strings.Join(rest, "") + "0000"
		status, reply := p.uploadPackWhole(t, "app", request)
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", have, status, reply)
		}
		return unframed(t, reply)
	}
	for name, rest := range map[string][]string{"negotiation": nil, "pack": {packetLine("done\n")}} {
		want := ask(strings.Repeat("1", 40), rest...)
		for _, have := range []string{draft, blob, mirror.hidden, mirror.lost, mirror.lostBlob} {
			if got := ask(have, rest...); got != want {
				t.Errorf("%s: %s has another reply of %d bytes than an id that nothing has, with %d", name, have, len(got),
					len(want))
			}
		}
		if got := ask(mirror.Git("rev-parse", "main~5"), rest...); got == want && rest == nil {
			t.Errorf("%s: a served commit is not acknowledged", name)
		}
	}
	object := packetLine("command=object-info") + "0001" + packetLine("size\n") + packetLine("oid "+blob+"\n") + "0000"
	if _, reply := p.uploadPackWhole(t, "app", object); !strings.Contains(reply, "ERR upload-pack: invalid command") {
		t.Errorf("object-info: %q", reply)
	}
}

// What git refuses is the client's mistake, and shown to its user.
func TestGitSaysWhatItRefuses(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	newGitMirror(t, filepath.Join(root, "app.git"))
	p := start(t, root)
	g := gitClient{t: t}
	said, err := g.try(root, "clone", "-q", "--shallow-exclude=nope", p.url+"/git/app", filepath.Join(t.TempDir(), "c"))
	if err == nil || !strings.Contains(said, "ambiguous deepen-not: deepen-not nope") {
		t.Errorf("%v %s", err, said)
	}
	want := "0032want " + strings.Repeat("1", 40) + "\n"
	var damaged bytes.Buffer
	w := gzip.NewWriter(&damaged)
	_, _ = io.WriteString(w, want+"0000")
	_ = w.Close()
	content := damaged.Bytes()
	content[len(content)-5] ^= 1 // of the checksum
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/git/app/git-upload-pack", &damaged)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/X-git-upload-pack-request")
	request.Header.Set("Content-Encoding", "gzip")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	if reply.StatusCode != http.StatusBadRequest {
		t.Errorf("damaged gzip: %s", reply.Status)
	}
}

func TestGitRefusals(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	mirror.Git("config", "remote.origin.url", "https://user:secret@git.example/app.git")
	p := start(t, root)
	g := gitClient{t: t}
	clone := filepath.Join(t.TempDir(), "clone")
	g.must(root, "clone", "-q", p.url+"/git/app", clone)
	said, err := g.try(clone, "push", "origin", "main:new")
	if err == nil || !strings.Contains(said, "read only. Push to https://git.example/app.git ") ||
		strings.Contains(said, "secret") {
		t.Errorf("push: %v %s", err, said)
	}
	if said, err := g.try(root, "ls-remote", p.url+"/git/none"); err == nil || !strings.Contains(said, "not found") {
		t.Errorf("an unknown repository: %v %s", err, said)
	}
	dumb := exec.CommandContext(t.Context(), "git", "ls-remote", p.url+"/git/app")
	dumb.Env = append(gittest.Env(), "GIT_SMART_HTTP=0")
	if out, err := dumb.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("dumb protocol")) {
		t.Errorf("the dumb protocol: %v %s", err, out)
	}
	off := start(t, root, "--git=off")
	if said, err := g.try(root, "ls-remote", off.url+"/git/app"); err == nil || !strings.Contains(said, "not found") {
		t.Errorf("with --git=off: %v %s", err, said)
	}
}

// A mirror may be maintained by a later git than the server's, which fails at the other's multi-pack-index.
func TestGitOfTheServerMayBeOlderThanThatOfTheMirror(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mirror := gittest.At(t, filepath.Join(root, "app.git"))
	for i := range 3 {
		mirror.Commit("main", gittest.Regular("a", gittest.Lines(1, 20+i)))
		mirror.Git("repack", "-dq")
	}
	head := mirror.Git("rev-parse", "main")
	mirror.Git("multi-pack-index", "write")
	index := filepath.Join(mirror.Dir, "objects/pack/multi-pack-index")
	content, err := os.ReadFile(index)
	if err != nil || string(content[:4]) != "MIDX" {
		t.Fatalf("%q, %v", content, err)
	}
	g, url := gitClient{t, nil}, start(t, root).url+"/git/app"
	for version := byte(1); version <= 3; version++ { // git 2.54 writes the second
		content[4] = version
		if err := errors.Join(os.Remove(index), os.WriteFile(index, content, 0o600)); err != nil {
			t.Fatal(err)
		}
		clone := filepath.Join(t.TempDir(), "clone")
		g.must(root, "clone", "-q", "--bare", url, clone)
		if got := g.must(clone, "rev-parse", "main"); got != head {
			t.Errorf("version %d: %s, want %s", version, got, head)
		}
	}
}
