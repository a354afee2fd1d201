package tools

import (
	"strings"
	"testing"
)

func TestLineShowsNothingUnseen(t *testing.T) {
	for text, want := range map[string]string{
		"Fix \"it\"":             "Fix \"it\"",
		"a\nb\tc":                "a\ufffdb c",
		"\u202eevil\u200b":       "\ufffdevil\ufffd",
		"caf\xe9":                "caf\ufffd",
		strings.Repeat("é", 3e3): strings.Repeat("é", 500) + "…",
	} {
		if got := line(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if got := clean("a\tb\n"); got != "a\tb\ufffd" {
		t.Errorf("data has %q", got)
	}
}

func TestWhatIsNoQuotedNameIsRefused(t *testing.T) {
	for _, broken := range []string{`"`, `"a`, `"a"b"`, `"\"`, `"\x41"`, `"\400"`, `"\08"`, `"\12"`, `""`} {
		if name, ok := unquote(broken); ok {
			t.Errorf("%s was read as %q", broken, name)
		}
	}
}
