package checkout

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// cloneLife is a random life of a branch, and of a clone that follows it while a user works there.
type cloneLife struct {
	*place
	random *rand.Rand
	theirs map[string]gittest.File
	number int    // of the last change
	synced string // the commit to which the last update brought the clone
	counts map[string]int
}

// TestRandomLivesOfClones: an update brings the branch, or changes nothing; it never changes what is not committed, and
// git finds no fault.
func TestRandomLivesOfClones(t *testing.T) {
	t.Parallel()
	gittest.Long(t)
	counts := make(map[string]int)
	for seed := range gittest.Volume(4, 30) {
		how := clones[seed%3]
		t.Run(fmt.Sprint(seed, " ", how.name), func(t *testing.T) {
			l := &cloneLife{
				place: newClonePlace(t), random: newRandom(seed), theirs: map[string]gittest.File{}, counts: counts,
			}
			l.commit(change(l.random, l.theirs, "first")...)
			l.push(l.random, l.theirs, "second")
			how.make(l.place)
			l.sync(checkouts)
			for range gittest.Volume(20, 60) {
				l.chapter()
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Logf("%v", counts)
	for _, kind := range []string{
		"advanced", "as before", "with edits", ReasonEdited, ReasonCommits, ReasonElsewhere, "replaced", "moved back",
	} {
		if counts[kind] == 0 {
			t.Errorf("nothing was %q", kind)
		}
	}
}

// attempt runs git in the clone, where a command may fail: there is nothing to commit, or a conflict.
func (l *cloneLife) attempt(args ...string) {
	l.t.Helper()
	command := exec.Command("git", append([]string{"-C", l.dir}, args...)...)
	command.Env = gittest.Env()
	_ = command.Run()
}

// serve changes the branch on the server.
func (l *cloneLife) serve() {
	l.number++
	version := fmt.Sprint("theirs ", l.number)
	switch l.random.IntN(10) {
	case 0:
	case 1:
		l.counts["moved back"]++
		commits := strings.Fields(l.repo.Git("rev-list", "--first-parent", "-n", "4", "main"))
		l.repo.Git("update-ref", "refs/heads/main", commits[l.random.IntN(len(commits))])
	case 2:
		l.counts["replaced"]++
		l.repo.Git("update-ref", "-d", "refs/heads/main")
		l.commit(change(l.random, l.theirs, version)...)
		fallthrough
	default:
		l.push(l.random, l.theirs, version)
	}
}

// work changes the clone as a user does.
func (l *cloneLife) work() {
	l.number++
	switch l.random.IntN(12) {
	case 0, 1, 2, 3:
		names := []string{"a", "b/c", "README", "README", "mine", "k/mine"}
		path := filepath.Join(l.dir, names[l.random.IntN(len(names))])
		if os.MkdirAll(filepath.Dir(path), 0o700) == nil { // not if there is a file
			_ = os.WriteFile(path, fmt.Append(nil, "mine ", l.number), 0o600)
		}
	case 4:
		l.attempt("add", "-A")
	case 5:
		l.attempt("add", "-A")
		l.attempt("commit", "-qm", "mine")
	case 6:
		l.attempt("switch", "-qc", fmt.Sprint("topic", l.number))
	case 7, 8:
		l.attempt("switch", "-q", "main")
	case 9:
		l.attempt("stash", "-u")
	default:
		l.attempt("reset", "-q", "--hard", "origin/main")
		l.attempt("clean", "-qfd")
	}
}

// chapter has the server and the user change something, syncs, and compares.
func (l *cloneLife) chapter() {
	for range l.random.IntN(3) {
		l.serve()
	}
	for range l.random.IntN(3) {
		l.work()
	}
	before, files, head := l.questions(), l.files(), l.git("rev-parse", "HEAD")
	edited := strings.Split(l.git("ls-files", "-mo", "-z")+l.git("diff", "--name-only", "-z", "HEAD"), "\x00")
	result := l.sync(checkouts)
	l.git("fsck", "--strict")
	now, tip := l.files(), l.repo.Git("rev-parse", "main")
	for _, path := range edited {
		if now[path] != files[path] {
			l.t.Errorf("%s was %.60q, and is %.60q: %+v", path, files[path], now[path], result)
		}
	}
	switch {
	case result.Behind != "":
		l.counts[result.Behind]++
		if got := l.git("rev-parse", "origin/main"); got != tip {
			l.t.Errorf("origin/main is %s, want %s: %+v", got, tip, result)
		}
		fallthrough
	case l.git("rev-parse", "HEAD") == head: // there is nothing new, or the user is ahead
		l.counts["as before"]++
		if after := l.questions(); !maps.Equal(after, before) || !maps.Equal(now, files) {
			l.t.Errorf("%v, before it was %v: %+v", after, before, result)
		}
		onMain := l.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
		if result.Behind == "" && onMain && head == l.synced && head != tip {
			l.t.Errorf("nothing was changed since %s, and it stays there instead of %s: %+v", head, tip, result)
		}
	default:
		l.synced = tip
		l.counts["advanced"]++
		l.isAt(tip, before["status --porcelain"])
	}
}

// isAt compares a clone that was advanced with the commit of the branch.
func (l *cloneLife) isAt(tip, status string) {
	l.t.Helper()
	if got := l.git("rev-parse", "main"); got != tip || l.git("rev-parse", "--abbrev-ref", "HEAD") != "main" {
		l.t.Errorf("main is %s, want %s", got, tip)
	}
	if status != "" {
		l.counts["with edits"]++
		return
	}
	l.attempt("update-index", "-q", "--really-refresh")
	if status := l.git("status", "--porcelain"); status != "" {
		l.t.Errorf("git status: %s", status)
	}
}
