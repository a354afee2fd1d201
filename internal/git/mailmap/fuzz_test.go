package mailmap_test

import (
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git/mailmap"
)

// FuzzParse checks that replaced names come from the file, that case is ignored, and that comments
// have no effect.
func FuzzParse(f *testing.F) {
	f.Add("Proper Name <proper@example.com> Old Name <old@example.com>\nJane <jane@example.com>\n", "Old Name",
		"old@example.com")
	f.Fuzz(func(t *testing.T, content, name, mail string) {
		m := mailmap.Parse(content)
		properName, properMail := m.Lookup(name, mail)
		if properName != name && !strings.Contains(content, properName) || properMail != mail &&
			!strings.Contains(content, properMail) {
			t.Fatalf("%q <%q> is in neither", properName, properMail)
		}
		again, mailAgain := mailmap.Parse("# Not <a@b> me <"+mail+">\n"+content).Lookup(name, mail)
		if again != properName && !strings.ContainsAny(mail, "\n\x00") || mailAgain != properMail &&
			!strings.ContainsAny(mail, "\n\x00") {
			t.Fatalf("with a comment %q <%q>, without %q <%q>", again, mailAgain, properName, properMail)
		}
		upper := func(s string) string {
			return strings.Map(func(r rune) rune {
				if 'a' <= r && r <= 'z' {
					return r - 'a' + 'A'
				}
				return r
			}, s)
		}
		if strings.ToValidUTF8(name+mail, "") != name+mail {
			return // Map would change it
		}
		folded, foldedMail := m.Lookup(upper(name), upper(mail))
		if properName != name && folded != properName || properMail != mail && foldedMail != properMail {
			t.Fatalf("in capitals %q <%q>, else %q <%q>", folded, foldedMail, properName, properMail)
		}
	})
}
