package charset

import "testing"

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"UTF-8", "utf8", true}, {"utf-8", "UTF-8", true}, {"UTF-16", "UTF-8", false},
		{"ISO-8859-1", "iso-8859-1", true}, {"ISO-8859-1", "latin1", false}, {"\xff", "\xfe", false},
	} {
		if got := Same(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

// TestTextGoesThereAndBack is about what can be said in each encoding; how git
// shows it is compared in packages that use this one.
func TestTextGoesThereAndBack(t *testing.T) {
	for _, c := range []struct{ name, stored, text string }{
		{"ISO-8859-1", "na\xefve \x85", "na\u00efve \u0085"},
		{"iso8859-15", "\xa4", "\u20ac"},
		{"cp1252", "\x80", "\u20ac"},
		{"KOI8-R", "\xc4\xc1", "\u0434\u0430"},
		{"EUC-JP", "\xc6\xfc", "\u65e5"},
		{"Shift_JIS", "\x93\xfa", "\u65e5"},
		{"GBK", "\xc8\xd5", "\u65e5"},
		{"utf-16be", "\x65\xe5", "\u65e5"},
	} {
		if got := Decode(c.stored, c.name); got != c.text {
			t.Errorf("%s: %q is read as %q, want %q", c.name, c.stored, got, c.text)
		}
		if got, ok := Encode([]byte(c.text), c.name); !ok || string(got) != c.stored {
			t.Errorf("%s: %q is written as %q, want %q", c.name, c.text, got, c.stored)
		}
	}
}

func TestWhatCannotBeConvertedStays(t *testing.T) {
	for _, c := range []struct{ name, stored string }{
		{"none-such", "na\xefve"}, {"EUC-KR", "\xa1"}, {"cp1252", "\x81"}, {"", "\x80"}, {"EUC-JP", "\x8f"},
	} {
		if got := Decode(c.stored, c.name); got != c.stored {
			t.Errorf("%s: %q became %q", c.name, c.stored, got)
		}
	}
	for _, c := range []struct{ name, text string }{
		{"none-such", "x"}, {"ISO-8859-1", "\u20ac"}, {"ISO-8859-1", "\xff"}, {"EUC-JP", "\U0001f600"},
	} {
		if got, ok := Encode([]byte(c.text), c.name); ok {
			t.Errorf("%s: %q became %q", c.name, c.text, got)
		}
	}
}
