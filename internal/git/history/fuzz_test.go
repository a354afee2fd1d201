package history

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git"
)

// FuzzLogCursor: a cursor that is accepted means the same when it is written again,
// and none is for other options.
func FuzzLogCursor(f *testing.F) {
	f.Add(byte(cursorPlain), append(make([]byte, 20), 3, 1))
	f.Add(byte(cursorRanged), append([]byte(strings.Repeat("\x01", 40)), "\x03\x01dir/file"...))
	f.Fuzz(func(t *testing.T, kind byte, rest []byte) {
		o := &LogOptions{Author: "somebody"}
		o.Cursor = base64.RawURLEncoding.EncodeToString(append(append([]byte{kind}, o.digest()...), rest...))
		at, ok := o.parseCursor()
		if !ok {
			return
		}
		if at.looked < 0 || at.looked > maxHistory || at.skip < 0 || at.skip > maxHistory {
			t.Fatalf("%+v", at)
		}
		again := &LogOptions{Author: "somebody", Cursor: o.cursor(at)}
		if same, ok := again.parseCursor(); !ok || same != at {
			t.Fatalf("%+v, then %+v", at, same)
		}
		if _, ok := (&LogOptions{Author: "another", Cursor: o.Cursor}).parseCursor(); ok {
			t.Fatal("it is good for another list")
		}
	})
}

// FuzzTag: a tag is made of parts of its text, and nothing of the text is lost.
func FuzzTag(f *testing.F) {
	f.Add(
		[]byte(
			"object 1234567890abcdef1234567890abcdef12345678\ntype commit\ntag v1\ntagger A <a@b> 1 +0000\n\nmessage\n-----BEGIN PGP SIGNATURE-----\nx\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tag, err := parseTag(git.ID{}, raw)
		if err != nil {
			if !errors.Is(err, git.ErrCorrupt) {
				t.Fatalf("not a typed error: %v", err)
			}
			return
		}
		text := readable(raw)
		if utf8.Valid(raw) && strings.Contains(text, "\x00") {
			t.Fatalf("a NUL is in %q", text)
		}
		if _, after, found := strings.Cut(text, "\n\n"); found && tag.Message+tag.Signature != after {
			t.Fatalf("%q and %q are not %q", tag.Message, tag.Signature, after)
		}
		if tag.Signature != "" && !strings.HasPrefix(tag.Signature, "-----BEGIN ") {
			t.Fatalf("the signature %q", tag.Signature)
		}
		if strings.Contains(tag.Name+tag.Kind, "\n") {
			t.Fatalf("%q %q", tag.Name, tag.Kind)
		}
	})
}
