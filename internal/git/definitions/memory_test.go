package definitions_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/definitions"
)

// The worst texts take no more memory than is reserved for them.
func TestDefinitionsTakeBoundedMemory(t *testing.T) {
	for file, line := range map[string]string{
		"a.py": "def f():\n", "a.c": "a\n", "a.go": "package a\n", "b.go": "package b\n",
	} {
		text := line + strings.Repeat(line, definitions.MaxLines-1)
		switch file {
		case "a.go":
			text = line + strings.Repeat("func f(a, b int) { a.b(c[d], 1+2*3) }\n", definitions.MaxBytes/40)
		case "b.go":
			text = line + strings.Repeat("var a,b,c,d,e=1,2,3,4,5\n", definitions.MaxLines/2)
		}
		language, _ := definitions.LanguageOf(file, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, err := language.Find([]byte(text))
		runtime.ReadMemStats(&after)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d definitions, %v", file, len(found), err)
		}
		// All that was allocated counts, also what was free again.
		if taken := after.TotalAlloc - before.TotalAlloc; taken > definitions.MaxMemory {
			t.Errorf("%s: %d KiB, more than %d", file, taken>>10, definitions.MaxMemory>>10)
		}
	}
}
