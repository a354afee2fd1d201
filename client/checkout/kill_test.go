package checkout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
	p := newPlace(t)
	p.commit(manyFiles("old ")...)
	p.sync(nil)
	s := &story{place: p, random: newRandom(1), counts: map[string]int{}}
	before, now := p.archived(), tree(nil)
	for i := range gittest.Volume(8, 60) {
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

// TestKilledWhileNew kills first runs: what the folder has of the commit is whole,
// and the run that follows ends with all of it and nothing beside it.
func TestKilledWhileNew(t *testing.T) {
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

// TestFilesAppearMeanwhile has somebody make files while the first archive is
// unpacked: they are edits.
func TestFilesAppearMeanwhile(t *testing.T) {
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
