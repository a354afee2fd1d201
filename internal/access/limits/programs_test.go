package limits

import (
	"slices"
	"testing"
	"testing/synctest"
)

// Programs take their memory from the process, at most a third of it, and give all of it back.
func TestProgramsTakeTheirMemoryFromTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bounds []int64
		l := New(Options{Memory: 500, Process: 960, SetProcess: func(bytes int64) { bounds = append(bounds, bytes) }})
		begin := func(memory int64) (end func()) {
			finish := l.Program(memory)
			synctest.Wait()
			return func() {
				finish()
				synctest.Wait()
			}
		}
		small := begin(60) // a sixteenth
		first := begin(40)
		second := begin(1000)
		first()
		first()
		second()
		third := begin(140)
		small()
		third()
		if want := []int64{860, 640, 960, 760, 820, 960}; !slices.Equal(bounds, want) {
			t.Errorf("the bounds were %d, want %d", bounds, want)
		}
	})
	for _, l := range []*Limiter{nil, New(Options{Memory: 500})} {
		l.Program(100)()
	}
}
