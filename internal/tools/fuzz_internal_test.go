package tools

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/cquote"
)

// FuzzQuote: a name that is shown has nothing that is not seen, and is the same name
// when it is read again.
func FuzzQuote(f *testing.F) {
	f.Add("plain/name.go")
	f.Add("evil\u202egpj.exe\n\x1b[31m\xff\"")
	f.Fuzz(func(t *testing.T, name string) {
		shown := quote(name)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, cquote.Unseen) {
			t.Fatalf("%q is shown as %q", name, shown)
		}
		if back, ok := unquote(shown); name != "" && len(name) < cquote.MaxShown/4 && (!ok || back != name) {
			t.Fatalf("%q is shown as %q, and read as %q, %v", name, shown, back, ok)
		}
		if back, ok := unquote(name); ok && !strings.HasPrefix(name, `"`) && back != name {
			t.Fatalf("%q is read as %q", name, back)
		}
		for _, text := range []string{line(name), clean(name)} {
			if !utf8.ValidString(text) || strings.Contains(text, "\n") || strings.ContainsRune(text, 0x1b) ||
				strings.ContainsRune(text, 0x202e) {
				t.Fatalf("%q is shown as %q", name, text)
			}
		}
	})
}
