package checkout

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// manyFiles are those of a commit, one of which is large.
func manyFiles(version string) (files []gittest.File) {
	for i := range 300 {
		files = append(files, gittest.Regular(fmt.Sprintf("d%d/f%03d", i/30, i), fmt.Sprint(version, i)))
	}
	return append(files, gittest.Regular("large", version+gittest.Noise(3_000_000)))
}

// TestKilledAtAnyMoment kills updates from one version to another: each file is of
// one of them, and the run that follows ends with all of the head.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("old ")...)
	p.sync(nil)
	s := &story{place: p, random: newRandom(1), counts: map[string]int{}}
	before, now := p.archived(), tree(nil)
	for i := range gittest.Volume(6, 60) {
		p.commit(manyFiles(fmt.Sprint("version ", i, " "))...)
		now = p.archived()
		s.kill()
		s.kill()
		got := p.onDisk()
		for path, content := range got {
			if content != before[path] && content != now[path] && !isTemporary(path) {
				t.Fatalf("%s is neither the old nor the new one: %.40q", path, content)
			}
		}
		for path := range before {
			if got[path] == "" {
				t.Fatalf("%s is missing", path)
			}
		}
		if i%3 > 0 { // two of three versions are not what the next run asks for
			p.commit(manyFiles(fmt.Sprint("later ", i, " "))...)
		}
		if result := p.sync(nil); result.KeptCount != 0 {
			t.Fatalf("%q were taken for edits", result.Kept)
		}
		before = p.archived()
		p.same(before)
	}
	if t.Logf("%v", s.counts); s.counts["killed"] < 5 {
		t.Error("hardly a run was killed")
	}
}

// TestKilledAtEachPointOfAnUpdate kills updates between two commits when so many bytes
// of them have come, from none to all: whatever is there, the next run ends in step.
func TestKilledAtEachPointOfAnUpdate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var commits []string
	var trees []tree
	for _, version := range []string{"old ", "new "} {
		p.commit(manyFiles(version)[:120]...)
		commits, trees = append(commits, p.repo.Git("rev-parse", "main")), append(trees, p.archived())
	}
	to := func(version int) { p.repo.Git("update-ref", "refs/heads/main", commits[version]) }
	to(0)
	p.sync(nil)
	points, now, mixed, bytes := gittest.Volume(20, 400), 0, 0, int(p.replies())
	first := slices.Min(slices.Collect(maps.Keys(trees[0])))
	for i := range points {
		now = 1 - now
		to(now)
		p.killAfter(i*bytes/points, first)
		got := p.onDisk()
		olds, news := 0, 0
		for path, content := range got {
			switch content {
			case trees[0][path]:
				olds++
			case trees[1][path]:
				news++
			default:
				if !isTemporary(path) {
					t.Fatalf("point %d: %s is neither the old nor the new one: %.40q", i, path, content)
				}
			}
		}
		if olds+news != len(trees[0]) {
			t.Fatalf("point %d: %d and %d of %d files", i, olds, news, len(trees[0]))
		}
		if olds > 0 && news > 0 {
			mixed++
		}
		if i%3 == 0 { // what was killed is not what the next run asks for
			now = 1 - now
			to(now)
		}
		if result := p.sync(nil); result.KeptCount != 0 {
			t.Fatalf("point %d: %q were taken for edits", i, result.Kept)
		}
		if p.same(trees[now]); t.Failed() {
			t.Fatalf("point %d", i)
		}
	}
	if t.Logf("%d of %d left files of both", mixed, points); mixed < points/10 {
		t.Error("hardly an update was killed in its middle")
	}
}

// replies are the bytes of a whole update.
func (p *place) replies() int64 {
	p.t.Helper()
	dry, err := Sync(p.t.Context(), p.connect(), Options{
		Repository: "app", Ref: "main", Dir: filepath.Join(p.t.TempDir(), "other"), Plain: true,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return dry.Bytes
}

// killAfter kills a run when some bytes have come to it, and no more do. Before, the run may write some of them: it has
// a moment, and if there is a file that it replaces, a longer one until it has done so.
func (p *place) killAfter(bytes int, file string) {
	p.t.Helper()
	before, _ := os.Lstat(filepath.Join(p.dir, file))
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	stalled := p.server.stall(bytes)
	child := exec.Command(self)
	child.Env = append(os.Environ(), childFolder+"="+p.dir, childServer+"="+p.server.proxy+"/mcp", childPlain+"=1",
		childClone+"="+p.profile)
	if err := child.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = child.Wait() // it is killed
		close(ended)
	}()
	select {
	case <-stalled:
		const moment, longest = 5 * time.Millisecond, time.Second / 2 // no event says that something is written
		time.Sleep(moment)
		for end := time.Now().Add(longest); file != "" && time.Now().Before(end); time.Sleep(moment) {
			if now, err := os.Lstat(filepath.Join(p.dir, file)); err == nil && !os.SameFile(before, now) {
				break
			}
		}
		_ = child.Process.Kill() // it may have ended
		<-ended
	case <-ended: // there were fewer
	}
	p.server.stall(-1)
}

// TestKilledWhileNew kills first runs: what the folder has of the commit is whole,
// and the run that follows ends with all of it and nothing beside it.
func TestKilledWhileNew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("new ")...)
	want := p.archived()
	s := &story{place: p, random: newRandom(2), counts: map[string]int{}}
	for i := range gittest.Volume(6, 60) {
		p.dir = t.TempDir()
		s.kill()
		if i%2 == 0 {
			s.kill()
		}
		for path, content := range p.onDisk() {
			if content != want[path] {
				t.Fatalf("%s is not what the commit has: %.40q", path, content)
			}
		}
		if result := p.sync(nil); result.KeptCount != 0 {
			t.Fatalf("%q were taken for edits", result.Kept)
		}
		p.same(want)
		if left, err := os.ReadDir(filepath.Join(p.dir, stateFolder)); err != nil || len(left) != 1 {
			t.Fatalf("the folder of the state has %v, %v", left, err)
		}
	}
	if t.Logf("%v", s.counts); s.counts["killed"] < 5 {
		t.Error("hardly a run was killed")
	}
}

// TestFilesAppearMeanwhile makes files while the first archive is
// unpacked: they are edits.
func TestFilesAppearMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(manyFiles("new ")...)
	appeared := false
	got := p.sync(func(o *Options) {
		o.Events = func(e Event) {
			if e.Event == EventWrite && !appeared {
				appeared = true
				p.write("d3/f100", "mine")
				p.write("other", "mine")
			}
		}
	})
	want := p.archived()
	want["d3/f100"], want["other"] = "file mine", "file mine"
	p.same(want)
	if !slices.Equal(got.Kept, []string{"d3/f100"}) {
		t.Errorf("%q were kept", got.Kept)
	}
}
