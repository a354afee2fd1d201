package glob

import (
	"errors"
	"regexp"
	"testing"
)

var signs = regexp.MustCompile(`[\\*?\[\]{},!^]`)

// FuzzPath: a pattern is bounded whatever it says, its errors have a type, and a path
// whose signs are escaped matches itself.
func FuzzPath(f *testing.F) {
	f.Add("src/{a,b}/**/*.g[oO]", "src/a/x/y.go")
	f.Fuzz(func(t *testing.T, pattern, file string) {
		if len(pattern) > 200 || len(file) > 200 {
			return // wildmatch is not linear
		}
		g, err := Path(pattern, true)
		switch {
		case err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooMany):
			t.Fatalf("not a typed error: %v", err)
		case err == nil && len(g.alternatives) > MaxAlternatives:
			t.Fatalf("%d alternatives", len(g.alternatives))
		case err == nil:
			g.Match(file)
		}
		if file == "" || file[0] == '/' || file[0] == '.' || file[len(file)-1] == '/' {
			return // what Path takes away, and what no file is called
		}
		itself, err := Path("/"+signs.ReplaceAllString(file, `\$0`), false)
		if err != nil || !itself.Match(file) {
			t.Fatalf("%q does not match itself: %v", file, err)
		}
	})
}
