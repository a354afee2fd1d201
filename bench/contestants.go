package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// contestant is one way of getting the same thing: a command of the shell, with
// the repository as $REPO, its root as $ROOT, repomcp as $BIN, this program's
// peers as $PEER and the server's address as $URL. What is compared with sync has
// a folder $DIR of its own and the $ROUND as well.
type contestant struct {
	name, command string
	server        bool   // the work is done in the server: its time and memory count
	setup, end    string // commands before each round and after the last, not measured
}

// comparison is a set of contestants with the repositories that they are
// compared on. The first contestant is what the others are measured against.
type comparison struct {
	key, title  string
	corpora     []string
	long        bool // a round takes minutes
	contestants []contestant
	// Of what follows a branch: the command that pushes, after the setups of a round;
	// whether all is far away; how many rounds, if not as many as of others.
	change string
	far    bool
	rounds int
}

// Names that the targets refer to.
const (
	gitTarGz  = "`git archive --format=tar.gz`"
	ownTarGz  = "repomcp archive, tar.gz"
	httpTarGz = "repomcp over HTTP, tar.gz"
	gitTar    = "`git archive --format=tar`"
	ownTar    = "repomcp archive, tar"
	gitZstd   = "`git archive` \\| `zstd -T2`"
	ownZstd   = "repomcp archive, tar.zst"
	gitZip    = "`git archive --format=zip`"
	ownZip    = "repomcp archive, zip"
	goGitRead = "all blobs, go-git"
	ownRead   = "all blobs, repomcp, ids compared"
	gitSizes  = "all sizes, `git ls-tree -r -l`"
	ownSizes  = "all sizes, repomcp"
	gitGrep   = "`git grep -n -I`"
	ownCold   = "repomcp, a process of its own"
	ownWarm   = "repomcp, searched before"
)

const (
	gitArchive = `git --git-dir "$REPO" archive --format=`
	ownArchive = `"$BIN" archive --root "$ROOT" ` + repositoryName + ` HEAD --format `
	download   = `curl -sS --fail "$URL/archive/` + repositoryName + `/HEAD.tar.gz"`
)

var allCorpora = []string{"a", "b", "small", "d", "c1k", "c10k", "c", "e", "mirror"}

// comparisons are all that is compared.
func comparisons() []comparison {
	list := []comparison{
		{key: "archives", title: "archives of HEAD", corpora: allCorpora, contestants: []contestant{
			{name: gitTarGz, command: "exec " + gitArchive + "tar.gz HEAD"},
			{name: ownTarGz, command: "exec " + ownArchive + "tar.gz"},
			{name: httpTarGz, command: "exec " + download, server: true},
			{name: gitTar, command: "exec " + gitArchive + "tar HEAD"},
			{name: ownTar, command: "exec " + ownArchive + "tar"},
		}},
		{key: "formats", title: "other formats and compressors",
			corpora: []string{"a", "b", "small", "d", "c", "mirror"}, contestants: []contestant{
				{name: gitTarGz, command: "exec " + gitArchive + "tar.gz HEAD"},
				{name: gitZstd, command: gitArchive + "tar HEAD | zstd -T2 -q -c"},
				{name: ownZstd, command: "exec " + ownArchive + "tar.zst"},
				{name: gitZip, command: "exec " + gitArchive + "zip HEAD"},
				{name: ownZip, command: "exec " + ownArchive + "zip"},
				{name: "`git archive` \\| `gzip`", command: gitArchive + "tar HEAD | gzip -c -n"},
			}},
		{key: "blobs", title: "reading all blobs of HEAD", corpora: []string{"a", "b", "c"}, contestants: []contestant{
			{name: goGitRead, command: "exec $PEER blobs-go-git"},
			{name: ownRead, command: "exec $PEER blobs"},
		}},
		{key: "sizes", title: "sizes of all blobs of HEAD", corpora: []string{"a", "b", "c"}, contestants: []contestant{
			{name: gitSizes, command: `exec git --git-dir "$REPO" ls-tree -r -l HEAD`},
			{name: ownSizes, command: "exec $PEER sizes"},
		}},
	}
	for _, n := range []string{"1", "8", "50"} {
		list = append(list, comparison{key: "crowd", title: n + " archives at once", corpora: []string{"a"},
			long: true, contestants: []contestant{
				{name: gitTarGz, command: atOnce(n, gitArchive+`tar.gz HEAD > /dev/null`)},
				{name: httpTarGz, command: atOnce(n, download+` -o /dev/null`), server: true},
			}})
	}
	return slices.Concat(list, searches(), histories(), syncs(), transfers())
}

func atOnce(n, command string) string {
	return "for i in $(seq " + n + "); do " + command + " & done; wait"
}

// searches are the texts and expressions that are looked for.
func searches() []comparison {
	var list []comparison
	for _, s := range searchTerms {
		kind := "-F"
		if s.Regexp {
			kind = "-E"
		}
		term := quoteShell(s.Text)
		list = append(list, comparison{key: "search",
			title: "lines with `" + strings.ReplaceAll(s.Text, "|", `\|`) + "`", corpora: []string{"a"},
			contestants: []contestant{
				{name: gitGrep, command: `exec git --git-dir "$REPO" grep -n -I ` + kind + " -e " + term + " HEAD"},
				{name: ownCold, command: "exec $PEER search " + term},
				{name: ownWarm, command: "exec $PEER search-again " + term},
			}})
	}
	return list
}

func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// place is where commands of contestants run.
type place struct {
	corpus corpus
	server *server
	lab    *lab // nil unless it is about sync
}

func (b *bench) environment(p place, k comparison, one contestant, round int) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	more, err := p.lab.environment(k, one, round)
	return append(append(isolated(), "REPO="+p.corpus.dir(), "ROOT="+p.corpus.root, "BIN="+b.binary(),
		"PEER="+self+" "+peerCommand, "URL="+p.server.url), more...), err
}

// runContestant runs the command of a contestant.
func (b *bench) runContestant(ctx context.Context, p place, k comparison, one contestant, round int) (usage, error) {
	environment, err := b.environment(p, k, one, round)
	if err != nil {
		return usage{}, err
	}
	if p.lab != nil {
		unix.Sync() // what others have written is not to be waited for
	}
	if one.server {
		return p.server.measure(ctx, one.command, environment)
	}
	return measureCommand(ctx, one.command, environment, 0)
}

// runAside runs a command that is not measured; "" is none.
func (b *bench) runAside(ctx context.Context, p place, k comparison, one contestant, round int, command string) error {
	environment, err := b.environment(p, k, one, round)
	if err != nil || command == "" {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // from the table of contestants
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", one.name, err, out)
	}
	return nil
}
