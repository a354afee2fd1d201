package printable_test

import (
	"testing"

	"github.com/repomcp/repomcp/internal/printable"
)

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain, with ümläuts 漢字 עברית 🎉": "plain, with ümläuts 漢字 עברית 🎉", "a\tb": "a\tb",
		"a\x1b[31mb": "a\uFFFD[31mb", "a\u202eb": "a\uFFFDb", "a\u200bb": "a\uFFFDb", "a\u2066b": "a\uFFFDb",
		"a\nb\x00c\x7f": "a\uFFFDb\uFFFDc\uFFFD", "a\xffb": "a\uFFFDb", "a\u2800b\u3164c": "a\uFFFDb\uFFFDc",
		"a\u00a0b": "a\uFFFDb", "\ufe0f\U000e0041\ue000": "\uFFFD\uFFFD\uFFFD",
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
