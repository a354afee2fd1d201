package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// commandKeys are the keys of git-config(1) by which git starts a program, or reads a file or repository elsewhere.
// The value of each is the program.
var commandKeys = []string{
	"uploadpack.packObjectsHook", "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.gitProxy",
	"core.askPass", "core.alternateRefsCommand", "filter.evil.process", "filter.evil.clean", "filter.evil.smudge",
	"diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "gpg.program", "gpg.ssh.program",
	"gpg.ssh.defaultKeyCommand", "credential.helper", "sequence.editor", "interactive.diffFilter",
	"remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.proxy", "pager.upload-pack",
	"pager.rev-list", "pager.pack-objects", "alias.upload-pack", "alias.pack-objects", "alias.rev-list",
	"uploadpack.packObjects", "hook.evil.command", "trailer.evil.command", "trailer.evil.cmd", "sendemail.smtpServer",
	"difftool.evil.cmd", "mergetool.evil.cmd", "browser.evil.cmd", "man.evil.cmd", "web.browser",
	"protocol.ext.allow", "transfer.credentialsInUrl", "log.showSignature", "core.attributesFile", "core.excludesFile",
	"mailmap.file", "blame.ignoreRevsFile", "commit.template",
}

// trap is a program that leaves a mark when it is started.
func trap(t *testing.T) (program, mark string) {
	t.Helper()
	program, mark = filepath.Join(t.TempDir(), "trap"), filepath.Join(t.TempDir(), "mark")
	// What it stands for is done all the same, so that nothing but the mark tells of it.
	script := "#!/bin/sh\necho \"$0 $*\" >> " + mark + "\nexec \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, mark
}

// marks are what the traps have left.
func marks(t *testing.T, mark string) string {
	t.Helper()
	said, err := os.ReadFile(mark)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(said)
}

// A mirror, the user's configuration and the environment name programs wherever git can.
func TestGitStartsNothingThatAConfigurationNames(t *testing.T) {
	gittest.Long(t)
	root, home := t.TempDir(), t.TempDir()
	mirror := newGitMirror(t, filepath.Join(root, "app.git"))
	program, mark := trap(t)
	var evil strings.Builder
	for _, key := range commandKeys {
		section, name, _ := strings.Cut(key, ".")
		if at := strings.LastIndex(name, "."); at >= 0 {
			section, name = fmt.Sprintf("%s %q", section, name[:at]), name[at+1:]
		}
		fmt.Fprintf(&evil, "[%s]\n\t%s = %s\n", section, name, program)
	}
	fmt.Fprintf(&evil, "[remote \"origin\"]\n\turl = ext::%s\n\tpromisor = true\n\tpartialclonefilter = blob:none\n", program)
	fmt.Fprintf(&evil, "[url \"ext::%s \"]\n\tinsteadOf = https://\n", program)
	included := filepath.Join(home, "included")
	fmt.Fprintf(&evil, "[include]\n\tpath = %s\n[includeIf \"onbranch:**\"]\n\tpath = %s\n", included, included)
	config, err := os.ReadFile(filepath.Join(mirror.Dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	mirror.WriteFile("config", append(config, evil.String()+"[core]\n\thooksPath = "+filepath.Dir(program)+"\n"...))
	mirror.WriteFile("info/attributes", []byte("* filter=evil diff=evil merge=evil\n"))
	for _, hook := range []string{"pre-receive", "post-upload-pack", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"} {
		name := filepath.Join(mirror.Dir, "hooks", hook)
		mirror.WriteFile("hooks/"+hook, []byte("#!/bin/sh\n"+program+"\n"))
		if err := os.Chmod(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hook := "[uploadpack]\n\tpackObjectsHook = " + program + "\n"
	for _, name := range []string{".gitconfig", "included"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(hook), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// That the trap works is seen with git as it is started otherwise.
	plain := exec.CommandContext(t.Context(), "git", "clone", "-q", "--bare", "file://"+mirror.Dir, filepath.Join(home, "plain"))
	plain.Env = append(os.Environ(), "HOME="+home)
	if out, err := plain.CombinedOutput(); marks(t, mark) == "" {
		t.Fatalf("the trap was not sprung by git itself: %v %s", err, out)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}

	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	for name, value := range map[string]string{
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "uploadpack.packObjectsHook", "GIT_CONFIG_VALUE_0": program,
		"GIT_CONFIG_PARAMETERS": "'uploadpack.packobjectshook'='" + program + "'",
		"GIT_SSH_COMMAND":       program, "GIT_PAGER": program, "GIT_ASKPASS": program, "GIT_EDITOR": program,
		"GIT_EXTERNAL_DIFF": program, "GIT_PROXY_COMMAND": program,
		"GIT_TRACE": mark, "GIT_TRACE2": mark, "GIT_TRACE_PACKET": mark,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": filepath.Join(home, "plain", "objects"),
	} {
		t.Setenv(name, value)
	}
	url := start(t, root).url + "/git/app"
	for _, version := range []string{"0", "2"} {
		g := gitClient{t, []string{"protocol.version=" + version}}
		clone := filepath.Join(t.TempDir(), "clone")
		g.must(root, "clone", "-q", "--filter=blob:none", url, clone)
		g.must(clone, "fetch", "-q", "--refetch", "--no-filter", "origin")
		g.must(clone, "fetch", "-q", "origin", mirror.Git("rev-parse", "main~20"))
		g.must(clone, "fsck", "--no-dangling")
		if said, err := g.try(clone, "push", "origin", "main:x"); err == nil {
			t.Errorf("a push succeeded: %s", said)
		}
	}
	if said := marks(t, mark); said != "" {
		t.Errorf("programs were started, or traces written:\n%s", said)
	}
	if len(commandKeys) < 40 {
		t.Errorf("%d keys were tried", len(commandKeys))
	}
}

// What is not below the root is not handed out, however a mirror names it.
func TestGitStaysBelowTheRoot(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root := filepath.Join(top, "root")
	outside := gittest.At(t, filepath.Join(top, "outside.git"))
	file := gittest.Regular("secret", "secret")
	secret := outside.Commit("main", file)
	outside.Git("repack", "-adq")
	inside := gittest.At(t, filepath.Join(root, "inside.git"))
	shared := inside.Commit("main", gittest.Regular("shared", "shared"))
	inside.Git("repack", "-adq")
	borrow := func(name, from, tip string) {
		m := gittest.At(t, filepath.Join(root, name+".git"))
		m.WriteFile("objects/info/alternates", []byte(filepath.Join(from, "objects")+"\n"))
		m.SetRef("refs/heads/main", tip)
	}
	borrow("fork", inside.Dir, shared)
	borrow("thief", outside.Dir, secret)
	borrow("chained", inside.Dir, secret)
	inside.WriteFile("objects/info/alternates", []byte(filepath.Join(outside.Dir, "objects")+"\n"))
	outside.Git("commit-graph", "write", "--reachable")
	loose := gittest.At(t, filepath.Join(top, "loose.git"))
	loose.Commit("main", file)
	blob := outside.Git("rev-parse", "main:secret")
	looseFolder := filepath.Join("objects", blob[:2])
	linked := map[string]string{
		"folder": "objects/pack", "files": "objects/pack/*", "graph": "objects/info/commit-graph",
		"loose-folder": looseFolder, "loose-file": filepath.Join(looseFolder, blob[2:]),
	}
	for name, pattern := range linked {
		m, from := gittest.At(t, filepath.Join(root, name+".git")), outside
		if m.Commit("main", file) != secret {
			t.Fatalf("%s: the commits differ", name)
		}
		if strings.HasPrefix(name, "loose") {
			from = loose
		}
		if name != "graph" { // only the content is outside: the ref and its commit can be read
			remove(t, filepath.Join(m.Dir, looseFolder, blob[2:]))
		}
		linkAll(t, from.Dir, m.Dir, pattern)
	}
	url := start(t, root).url + "/git/"
	g := gitClient{t: t}
	fork := filepath.Join(t.TempDir(), "fork")
	g.must(top, "clone", "-q", url+"fork", fork)
	if got := g.must(fork, "rev-parse", "HEAD"); got != shared {
		t.Errorf("the fork is at %s", got)
	}
	for _, name := range append(slices.Collect(maps.Keys(linked)), "thief", "chained") {
		clone := filepath.Join(t.TempDir(), name)
		if said, err := g.try(top, "clone", "-q", url+name, clone); err == nil {
			t.Errorf("%s: what is outside of the root was cloned: %s", name, said)
		}
		g.must(top, "init", "-q", clone+"-empty")
		if said, err := g.try(clone+"-empty", "fetch", url+name, secret); err == nil {
			t.Errorf("%s: what is outside of the root was fetched: %s", name, said)
		}
	}
}

// linkAll puts links into a repository to what fits a pattern in another one.
func linkAll(t *testing.T, from, to, pattern string) {
	t.Helper()
	targets, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil || len(targets) == 0 {
		t.Fatalf("%s: %v, %v", pattern, targets, err)
	}
	for _, target := range targets {
		link := filepath.Join(to, strings.TrimPrefix(target, from))
		remove(t, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(target, link)); err != nil {
			t.Fatal(err)
		}
	}
}

// remove removes what may be at a path.
func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
