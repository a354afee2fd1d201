package quoting_test

import (
	"bytes"
	"testing"

	"github.com/repomcp/repomcp/internal/git/quoting"
)

// FuzzCut: what is written is read again, and what is read means the same when it is
// written.
func FuzzCut(f *testing.F) {
	f.Add([]byte(`"a\tb\342\200\256" rest`))
	f.Fuzz(func(t *testing.T, text []byte) {
		name, rest, ok := quoting.Cut(text)
		if ok && (!bytes.HasSuffix(text, rest) || len(name)+len(rest)+2 > len(text)) {
			t.Fatalf("%q is %q and %q", text, name, rest)
		}
		if !ok {
			name = text
		}
		written := quoting.AppendPath(nil, "", string(name))
		if len(written) == 0 || written[0] != '"' {
			if !bytes.Equal(written, name) {
				t.Fatalf("%q was written as %q", name, written)
			}
			return
		}
		again, rest, ok := quoting.Cut(append(written, "behind"...))
		if !ok || !bytes.Equal(again, name) || string(rest) != "behind" {
			t.Fatalf("%q was written as %q, and read as %q, %q", name, written, again, rest)
		}
		for _, c := range written {
			if c < ' ' || c >= 0x7f {
				t.Fatalf("%q has the byte %x", written, c)
			}
		}
	})
}
