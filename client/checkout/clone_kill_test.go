package checkout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func killing(p *place, seed int) *story {
	return &story{place: p, random: newRandom(seed), counts: map[string]int{}}
}

// killLate has a run kill itself while it writes, or when it has written everything.
func (s *story) killLate() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	at := []string{EventWrite, PhaseFinish}[s.random.IntN(2)]
	child := exec.Command(self)
	child.Env = append(os.Environ(), childFolder+"="+s.dir, childServer+"="+s.server.proxy+"/mcp", childClone+"="+s.profile,
		childEnds+"="+at+" "+time.Duration(s.random.IntN(12_000_000)).String())
	out, err := child.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		s.counts["too late"]++
	case errors.As(err, &exit) && !exit.Exited():
		s.counts["killed"]++
	default:
		s.t.Fatalf("%v: %s", err, out)
	}
}

// TestCloneKilledWhileNew kills first runs: either there is no clone yet, or all of it.
func TestCloneKilledWhileNew(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.profile = ProfileCheckout
	p.commit(append(manyFiles("new "), oddFiles("one")...)...)
	s := killing(p, 5)
	for i := range gittest.Volume(5, 80) {
		p.dir = t.TempDir()
		for range 1 + i%2 {
			s.killLate()
			if _, err := os.Lstat(p.at(gitFolder)); err == nil {
				s.counts["whole"]++
				if status := p.git("status", "--porcelain"); status != "" {
					t.Fatalf("the clone is not whole: %s", status)
				}
			}
		}
		if result := p.sync(checkouts); result.KeptCount != 0 || result.Behind != "" {
			t.Fatalf("%+v", result)
		}
		if p.isClone(); t.Failed() {
			t.FailNow()
		}
	}
	if t.Logf("%v", s.counts); s.counts["killed"] < 3 {
		t.Error("hardly a run was killed")
	}
}

// TestCloneKilledAtAnyMoment kills updates of clones: git finds nothing damaged then, and the next run
// ends with the head, also where a lock was left.
func TestCloneKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.profile = ProfileCheckout
	p.commit(append(manyFiles("old "), oddFiles("one")...)...)
	p.sync(checkouts)
	s := killing(p, 6)
	for i := range gittest.Volume(6, 120) {
		p.commit(append(manyFiles(fmt.Sprint("version ", i, " ")), oddFiles(fmt.Sprint(i))...)...)
		for range 2 {
			s.killLate()
			p.git("fsck", "--strict")
			if p.git("rev-parse", "HEAD") != p.repo.Git("rev-parse", "main") {
				s.counts["behind"]++
			}
		}
		if result := p.sync(checkouts); result.Behind != "" {
			t.Fatalf("%d: %+v", i, result)
		}
		if p.isClone(); t.Failed() {
			t.FailNow()
		}
	}
	if t.Logf("%v", s.counts); s.counts["killed"] < 4 || s.counts["behind"] < 2 {
		t.Error("hardly an update was killed")
	}
}

// TestCloneKilledAtEachPoint kills updates when so many bytes have come.
func TestCloneKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.profile = ProfileCheckout
	p.commit(manyFiles("old ")[:120]...)
	p.sync(checkouts)
	points := gittest.Volume(5, 100)
	for i := range points {
		p.commit(manyFiles(fmt.Sprint("version ", i, " "))[:120]...)
		p.killAfter(i*60_000/points, "")
		p.git("fsck", "--strict")
		if result := p.sync(checkouts); result.Behind != "" || result.KeptCount > 0 {
			t.Fatalf("%d: %+v", i, result)
		}
		if p.isClone(); t.Failed() {
			t.FailNow()
		}
	}
}

// TestLocksOfAKilledRunAreRemoved has the locks of a run that was killed at its end, and of programs that
// run: the next run, which has nothing to do, removes the former alone.
func TestLocksOfAKilledRunAreRemoved(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.profile = ProfileCheckout
	p.commit(oddFiles("one")...)
	p.sync(checkouts)
	dir, err := filepath.EvalSymlinks(p.dir)
	p.must(err)
	left := []string{"index", "HEAD", "config", "shallow", "refs/heads/main", "refs/remotes/origin/main"}
	for _, name := range left {
		p.writeGit(name+".lock", "repomcp sync "+dir+"\n")
	}
	others := map[string]string{"refs/heads/git.lock": "", "refs/heads/elsewhere.lock": "repomcp sync " + dir + "x\n"}
	for name, content := range others {
		p.writeGit(name, content)
	}
	p.sync(checkouts)
	for _, name := range left {
		if _, err := os.Lstat(p.gitFile(name + ".lock")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s.lock is still there: %v", name, err)
		}
	}
	for name := range others {
		if _, err := os.Lstat(p.gitFile(name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}
