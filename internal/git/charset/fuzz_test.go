package charset

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// FuzzDecode: text stays as it is or becomes UTF-8, and does not explode.
func FuzzDecode(f *testing.F) {
	f.Add("gr\xfc\xdfe", "ISO-8859-1")
	f.Add("\x1b$B8l\x1b(B", "ISO-2022-JP")
	f.Fuzz(func(t *testing.T, text, name string) {
		decoded := Decode(text, name)
		if decoded != text && !utf8.ValidString(decoded) {
			t.Fatalf("%q in %q is %q", text, name, decoded)
		}
		if len(decoded) > 8*len(text)+8 {
			t.Fatalf("%d bytes become %d", len(text), len(decoded))
		}
		if encoded, ok := Encode([]byte(text), name); ok && !utf8.ValidString(text) {
			t.Fatalf("%q is no text, and in %q %q", text, name, encoded)
		}
		if same, ok := Encode([]byte(text), UTF8); ok && !bytes.Equal(same, []byte(text)) {
			t.Fatalf("%q in UTF-8 is %q", text, same)
		}
	})
}
