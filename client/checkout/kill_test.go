package checkout

import (
	"fmt"
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
