package limits

import (
	"slices"
	"testing"
)

// Programs take their memory from the process, at most a third of it, and give all of it back.
func TestProgramsTakeTheirMemoryFromTheProcess(t *testing.T) {
	t.Parallel()
	var bounds []int64
	l := New(Options{Memory: 500, Process: 960, SetProcess: func(bytes int64) { bounds = append(bounds, bytes) }})
	small := l.Program(60) // a sixteenth
	first := l.Program(40)
	second := l.Program(1000)
	first()
	first()
	second()
	third := l.Program(140)
	small()
	third()
	if want := []int64{860, 640, 960, 760, 820, 960}; !slices.Equal(bounds, want) {
		t.Errorf("the bounds were %d, want %d", bounds, want)
	}
	for _, l := range []*Limiter{nil, New(Options{Memory: 500})} {
		l.Program(100)()
	}
}
