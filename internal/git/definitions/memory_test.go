package definitions_test

import (
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/git/definitions"
)

// The worst texts take no more memory than is reserved for them, also where the names of lines are looked for because
// the definitions have not the one that is wanted.
func TestDefinitionsTakeBoundedMemory(t *testing.T) {
	for file, line := range map[string]string{
		"a.py": "def f():\n", "a.c": "a\n", "b.c": "#define A\n", "a.go": "package a\n", "b.go": "package b\n",
	} {
		text := line + strings.Repeat(line, definitions.MaxLines-1)
		switch file {
		case "a.go":
			text = line + strings.Repeat("func f(a, b int) { a.b(c[d], 1+2*3) }\n", definitions.MaxBytes/40)
		case "b.go":
			text = line + strings.Repeat("var a,b,c,d,e=1,2,3,4,5\n", definitions.MaxLines/2)
		}
		language, _ := definitions.LanguageOf(file, nil)
		namer := definitions.NamerOf(map[string]string{".py": "Python", ".c": "C", ".go": "Go"}[filepath.Ext(file)])
		var found, lines []definitions.Definition
		taken := peakOf(func() {
			var err, err2 error
			found, err = language.Find([]byte(text))
			lines, err2 = namer.Find([]byte(text))
			if err != nil || err2 != nil || len(found)+len(lines) == 0 {
				t.Errorf("%s: %d definitions, %v, %v", file, len(found), err, err2)
			}
		})
		if taken > definitions.MaxMemory {
			t.Errorf("%s: %d KiB, more than %d", file, taken>>10, definitions.MaxMemory>>10)
		}
		runtime.KeepAlive(found)
		runtime.KeepAlive(lines)
	}
}

// peakOf returns how much more memory was in use at once while a function ran. Under the race detector
// regular expressions allocate anew what they free, so that a sum would say nothing.
func peakOf(run func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, peak, done := stats.HeapAlloc, uint64(0), make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(time.Millisecond):
		}
		runtime.ReadMemStats(&stats)
		peak = max(peak, stats.HeapAlloc)
	}
	return peak - min(peak, before)
}

func TestLargeTextsAreRefused(t *testing.T) {
	t.Parallel()
	language, _ := definitions.LanguageOf("a.py", nil)
	for name, text := range map[string]string{
		"bytes": strings.Repeat(" ", definitions.MaxBytes+1), "lines": strings.Repeat("\n", definitions.MaxLines+1),
	} {
		if _, err := language.Find([]byte(text)); err == nil {
			t.Errorf("too many %s are no error", name)
		}
	}
	deep := ""
	for i := range 1000 {
		deep += strings.Repeat(" ", i) + "def f():\n"
	}
	if found, err := language.Find([]byte(deep)); err != nil || found[999].Depth != 999 || found[0].End != 1000 {
		t.Errorf("%d definitions, %v", len(found), err)
	}
}
