package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// all reads until the stream ends. A line that was too long is "long".
func all(t *testing.T, source io.Reader, most int) (found []string, err error) {
	t.Helper()
	l := lines{bufio.NewReaderSize(source, 16), most}
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, errLong):
			found = append(found, "long")
		case err != nil:
			return found, err
		default:
			if len(line) > most {
				t.Errorf("a line of %d bytes", len(line))
			}
			found = append(found, "="+string(line))
		}
	}
}

func TestLinesAreDivided(t *testing.T) {
	ten, eleven := strings.Repeat("x", 10), strings.Repeat("y", 11)
	for input, want := range map[string]string{
		"":                           "",
		"a":                          "=a",
		"a\nb\n":                     "=a =b",
		"a\r\nb\r":                   "=a =b",
		"\n\r\n \t\n\n":              "",
		ten + "\n" + ten:             "=" + ten + " =" + ten,
		ten + "\r\n" + eleven + "\r": "=" + ten + " long",
		eleven + "\n" + eleven + eleven + eleven + "\nz": "long long =z",
		eleven: "long",
	} {
		found, err := all(t, strings.NewReader(input), 10)
		if got := strings.Join(found, " "); got != want || !errors.Is(err, io.EOF) {
			t.Errorf("%q: %q, %v, want %q", input, got, err, want)
		}
	}
	broken := errors.New("broken")
	found, err := all(t, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if len(found) != 1 || !errors.Is(err, broken) {
		t.Errorf("a stream that breaks: %q, %v: what came of a line is none", found, err)
	}
}

// FuzzLines compares with what a reader does that has the whole stream at once.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n[1]\r\n\n  {\"a\":\"\\n\"}\n\xff\xfe\nlast"), 8, false)
	f.Add(bytes.Repeat([]byte("long and "), 20), 16, true)
	f.Add([]byte("\r\r\n\x00\n"), 1, true)
	f.Fuzz(func(t *testing.T, stream []byte, most int, single bool) {
		if most < 0 || most > 1<<16 {
			return
		}
		var want []string
		for line := range bytes.SplitSeq(stream, []byte("\n")) {
			whole := bytes.TrimSuffix(line, []byte("\r"))
			trimmed := bytes.Trim(line, " \t\r")
			switch {
			case len(whole) > most:
				want = append(want, "long")
			case len(trimmed) > 0:
				want = append(want, "="+string(trimmed))
			}
		}
		var source io.Reader = bytes.NewReader(stream)
		if single {
			source = iotest.OneByteReader(source)
		}
		found, err := all(t, source, most)
		if !errors.Is(err, io.EOF) || strings.Join(found, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q with %d: %q, %v, want %q", stream, most, found, err, want)
		}
	})
}
