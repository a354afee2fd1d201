package convert

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/gittest"
)

func TestDecideSaysWhenThereIsNothingToDo(t *testing.T) {
	for line, want := range map[string]bool{
		"":                                 false,
		"text":                             false,
		"text eol=lf":                      false,
		"-text eol=crlf":                   false,
		"text=auto":                        false,
		"filter=lfs diff=lfs merge=lfs":    false,
		"-ident":                           false,
		"ident=yes":                        false,
		"working-tree-encoding=utf8":       false,
		"working-tree-encoding=none":       false,
		"working-tree-encoding=":           false,
		"-working-tree-encoding":           false,
		"eol=crlf":                         true,
		"text=auto eol=crlf":               true,
		"crlf eol=crlf":                    true,
		"ident":                            true,
		"working-tree-encoding":            true,
		"working-tree-encoding=iso-8859-1": true,
	} {
		c, got := Decide(attributesOf(line))
		if got != want {
			t.Errorf("%q: something to do is %v, want %v", line, got, want)
		}
		if unknown := map[bool]string{true: "none"}[strings.HasSuffix(line, "=none")]; c.UnknownEncoding != unknown {
			t.Errorf("%q: the encoding %q is not known, want %q", line, c.UnknownEncoding, unknown)
		}
	}
	if _, ok := Decide(attributes.Attributes{}); ok {
		t.Error("without attributes there is something to do")
	}
}

func FuzzAppendAndStreamAgree(f *testing.F) {
	lines := []string{
		"ident", "eol=crlf", "ident eol=crlf", "text=auto eol=crlf", "ident text=auto eol=crlf",
		"working-tree-encoding=UTF-16",
		"ident eol=crlf working-tree-encoding=Shift_JIS", "text=auto eol=crlf working-tree-encoding=CP1251",
		"working-tree-encoding=UTF-32BE",
	}
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 300 {
		f.Add(randomContent(random), uint8(i))
	}
	f.Fuzz(func(t *testing.T, content string, which uint8) {
		line := lines[int(which)%len(lines)]
		checkout, _ := DecideCheckout(attributesOf(line))
		all(t, checkout, content)
		got := all(t, decide(line), content)
		if line == "eol=crlf" && strings.ReplaceAll(got, "\r\n", "\n") != strings.ReplaceAll(content, "\r\n", "\n") {
			t.Errorf("more than line endings changed: %q", got)
		}
		if line == "ident" && !strings.Contains(content, "$Id") && got != content {
			t.Errorf("without a keyword the content changed: %q", got)
		}
	})
}

// stream writes the converted content of src.
func stream(ctx context.Context, c Conversion, w io.Writer, src Source, id string) error {
	m, err := c.Measure(ctx, src, id)
	if err != nil {
		return err
	}
	return m.CopyTo(w)
}

// closeable lets a test see that each reading was closed.
type closeable struct {
	io.Reader
	open *int
}

func (c closeable) Close() error {
	*c.open--
	return nil
}

func TestStreamClosesWhatItOpens(t *testing.T) {
	open, opened := 0, 0
	src := Source{Size: 2, Open: func() (io.ReadCloser, error) {
		open, opened = open+1, opened+1
		return closeable{strings.NewReader("a\n"), &open}, nil
	}}
	c := decide("ident text=auto eol=crlf working-tree-encoding=UTF-16")
	if err := stream(t.Context(), c, io.Discard, src, ""); err != nil || open != 0 || opened == 0 {
		t.Errorf("%v; %d of %d are open", err, open, opened)
	}
	c, _ = Decide(attributes.Attributes{attributes.Ident: attributes.Value{State: attributes.Set}})
	if err := stream(t.Context(), c, failingWriter{}, src, ""); !errors.Is(err, io.ErrClosedPipe) || open != 0 {
		t.Errorf("%v; %d of %d are open", err, open, opened)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStreamReportsWhatIsWrongWithTheSource(t *testing.T) {
	broken := errors.New("broken")
	reader := func(text string, last error) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(last))), nil
		}
	}
	for name, test := range map[string]struct {
		src  Source
		want error
	}{
		"no source":   {Source{Open: func() (io.ReadCloser, error) { return nil, broken }}, broken},
		"read error":  {Source{Size: 3, Open: reader("", broken)}, broken},
		"too short":   {Source{Size: 3, Open: reader("ab", io.EOF)}, io.ErrUnexpectedEOF},
		"too long":    {Source{Size: 3, Open: reader("abcd", io.EOF)}, errChanged},
		"late errors": {Source{Size: 3, Open: reader("a\n", broken)}, broken},
	} {
		for _, line := range []string{"eol=crlf", "text=auto eol=crlf", "ident", "working-tree-encoding=UTF-16"} {
			if err := stream(t.Context(), decide(line), io.Discard, test.src, ""); !errors.Is(err, test.want) {
				t.Errorf("%s, %s: %v, want %v", name, line, err, test.want)
			}
		}
	}
}

func TestAContentThatChangesIsAnError(t *testing.T) {
	long := "$Id:" + strings.Repeat("x", 2*holdSize) + "$"
	for _, test := range []struct{ line, first, then string }{
		{"eol=crlf", "a\n\n", "a\nb"},
		{"working-tree-encoding=latin-1", "\u00e9", "\xff\xff"},
		{"ident", strings.Repeat("x", len(long)), long},
	} {
		readings := 0
		src := Source{Size: int64(len(test.first)), Open: func() (io.ReadCloser, error) {
			readings++
			if readings == 1 {
				return io.NopCloser(strings.NewReader(test.first)), nil
			}
			return io.NopCloser(strings.NewReader(test.then)), nil
		}}
		m, err := decide(test.line).Measure(t.Context(), src, "")
		if err == nil {
			err = m.CopyTo(io.Discard)
		}
		if !errors.Is(err, errChanged) {
			t.Errorf("%s: %v, want %v", test.line, err, errChanged)
		}
	}
}

func TestACancelledContextEndsAStream(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("client went away")
	endless := Source{Size: 1 << 60, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&repeated{text: []byte("line\n"), left: 1 << 60, after: 1 << 20,
			then: func() { cancel(why) }}), nil
	}}
	if err := stream(ctx, decide("eol=crlf"), io.Discard, endless, ""); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

// repeated is a text again and again.
type repeated struct {
	text  []byte
	left  int64
	after int64 // bytes until then is called
	then  func()
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && r.left > 0 {
		k := copy(p[n:], r.text[:min(int64(len(r.text)), r.left)])
		n, r.left = n+k, r.left-int64(k)
	}
	if r.after -= int64(n); r.after <= 0 && r.then != nil {
		r.then()
	}
	return n, nil
}

// TestStreamsNeedLittleMemory streams 4 MiB of what is worst for each step:
// all that is allocated meanwhile, freed or not, has to be far less.
func TestStreamsNeedLittleMemory(t *testing.T) {
	gittest.Long(t)
	const size, most = 4 << 20, 1 << 20
	for _, test := range []struct{ line, text string }{
		{"ident", "$Id:"},
		{"ident", "x"},
		{"ident text=auto eol=crlf", "\n"},
		{"eol=crlf working-tree-encoding=UTF-32", "\n"},
		{"working-tree-encoding=GB18030", "\U0001f600"},
	} {
		beginning := "$Id:"
		src := Source{Size: size + int64(len(beginning)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(beginning),
				&repeated{text: []byte(test.text), left: size})), nil
		}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := stream(t.Context(), decide(test.line), io.Discard, src, strings.Repeat("a", 40)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > most {
			t.Errorf("%s of %q: %d bytes were allocated, more than %d", test.line, test.text, n, most)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	room := make([]byte, 3, 100)
	copy(room, "abc")
	got, err := decide("working-tree-encoding=latin-1").Append(room, []byte("\u0434\n"), "")
	if err != nil || !bytes.Equal(got, []byte("abc\u0434\n")) {
		t.Errorf("%q %v", got, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	text := []byte(strings.Repeat("a line of text, $Id: 1234 $ \u00e9\n", 10_000))
	for _, line := range []string{
		"ident", "eol=crlf", "text=auto eol=crlf", "working-tree-encoding=UTF-16", "working-tree-encoding=CP1252",
		"working-tree-encoding=GB18030",
	} {
		b.Run(line, func(b *testing.B) {
			c := decide(line)
			b.SetBytes(int64(len(text)))
			var out []byte
			for b.Loop() {
				out, _ = c.Append(out[:0], text, "0123456789012345678901234567890123456789") // fails only if refused
			}
		})
	}
}
