package binary_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

const message = `{"jsonrpc":"2.0","id":1,"result":{}}`

// stream is one to be sent.
type stream struct {
	ref      binary.Ref
	mimeType string
	content  []byte
}

// newStream declares as much as is said to be known of a content.
func newStream(content []byte, mimeType string, sized, summed bool) stream {
	tally := binary.NewTally()
	_, _ = tally.Write(content)
	ref := tally.Ref(binary.NewStreamID())
	if !sized {
		ref.Size = binary.UnknownSize
	}
	if !summed {
		ref.Checksum = nil
	}
	return stream{ref, mimeType, content}
}

// write makes a whole reply.
func write(t testing.TB, streams ...stream) (reply []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := binary.NewReplyWriter(&b)
	if err := w.Message([]byte(message)); err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		body, err := w.Stream(s.ref, s.mimeType)
		if err != nil {
			t.Fatal(err)
		}
		tally := binary.NewTally()
		for part := s.content; len(part) > 0; part = part[min(len(part), 1000):] {
			piece := part[:min(len(part), 1000)]
			_, _ = tally.Write(piece)
			if _, err := body.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if s.ref.Ends() {
			if err := w.End(tally.Ref(s.ref.Stream)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.ContentType()
}

// read reads a reply whose message names the streams.
func read(r io.Reader, contentType string, refs ...binary.Ref) (contents [][]byte, err error) {
	reply, err := binary.NewReplyReader(r, contentType)
	if err != nil {
		return nil, err
	}
	got, err := reply.Message()
	if err != nil {
		return nil, err
	}
	if string(got) != message {
		return nil, errors.New("another message: " + string(got))
	}
	for _, ref := range refs {
		if err := reply.Expect(ref); err != nil {
			return nil, err
		}
	}
	for {
		s, err := reply.Next()
		if err == io.EOF { //nolint:errorlint // wrapped it would be no end
			return contents, nil
		}
		if err != nil {
			return contents, err
		}
		content, err := io.ReadAll(s)
		if err != nil {
			if _, again := s.Read(make([]byte, 1)); again != err { //nolint:errorlint // the very same
				return contents, errors.New("the error is another one the second time: " + fmt.Sprint(again))
			}
			if _, next := reply.Next(); next == nil || next == io.EOF { //nolint:errorlint // wrapped it would be no end
				return contents, errors.New("there is more after a failure")
			}
			return contents, err
		}
		contents = append(contents, content)
	}
}

// hostile is content that looks like the layout around it.
func hostile(contentType string) []byte {
	_, parameters, _ := mime.ParseMediaType(contentType)
	boundary := parameters["boundary"]
	return []byte("\r\n--" + boundary[:len(boundary)-1] + "\r\n\r\n--" + strings.Repeat("0", len(boundary)) +
		"--\r\n\r\n--\r\nContent-Type: application/json\r\n\r\n{}")
}

// streams are of all that can be known before, and of content of every kind.
func streams(t *testing.T) []stream {
	_, contentType := write(t)
	return []stream{
		newStream([]byte("\x89PNG\r\n\x1a\n\x00\xff"), "image/png", true, true),
		newStream(nil, "text/plain; charset=utf-8", true, true),
		newStream(bytes.Repeat([]byte("--\r\n"), 5000), "application/x-tar", true, false),
		newStream([]byte("=3D=\n= "), "application/gzip", false, false),
		newStream(nil, "application/gzip", false, false), newStream(hostile(contentType), "text/plain", true, true),
		newStream([]byte("\r\n"), "a/b", false, false),
	}
}

func TestRepliesAreReadAsTheyWereWritten(t *testing.T) {
	all := streams(t)
	reply, contentType := write(t, all...)
	var refs []binary.Ref
	for _, s := range all {
		refs = append(refs, s.ref)
	}
	contents, err := read(bytes.NewReader(reply), contentType, refs...)
	if err != nil || len(contents) != len(all) {
		t.Fatalf("%d streams of %d: %v", len(contents), len(all), err)
	}
	for i, s := range all {
		if !bytes.Equal(contents[i], s.content) {
			t.Errorf("stream %d is %q, want %q", i, contents[i], s.content)
		}
	}
}

// Other readers know nothing of streams: they see parts.
func TestRepliesAreMultipart(t *testing.T) {
	s := newStream([]byte("abc"), "image/png", true, true)
	open := newStream([]byte("defg"), "application/gzip", false, false)
	reply, contentType := write(t, s, open)
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType != "multipart/mixed" {
		t.Fatal(contentType, err)
	}
	tally := binary.NewTally()
	_, _ = tally.Write(open.content)
	sum, _ := tally.Ref(open.ref.Stream).Checksum.MarshalText()
	want := []struct{ mimeType, id, length, body string }{
		{"application/json", "", "", message},
		{"image/png", "<" + s.ref.Stream.String() + ">", "3", "abc"},
		{"application/gzip", "<" + open.ref.Stream.String() + ">", "", "defg"},
		{"application/json", "<" + open.ref.Stream.String() + ".end>", "", `{"streamId":"` + open.ref.Stream.String() +
			`","size":4,"checksum":"` + string(sum) + `"}`},
	}
	parts := multipart.NewReader(bytes.NewReader(reply), parameters["boundary"])
	for _, w := range want {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if err != nil || string(body) != w.body || part.Header.Get("Content-Type") != w.mimeType ||
			part.Header.Get("Content-ID") != w.id || part.Header.Get("Content-Length") != w.length {
			t.Errorf("%v %q, %v; want %v", part.Header, body, err, w)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Error(err)
	}
}

func TestBoundariesAreNeverTheSame(t *testing.T) {
	seen := make(map[string]bool)
	for range 100 {
		_, contentType := write(t)
		if seen[contentType] {
			t.Fatal(contentType)
		}
		seen[contentType] = true
	}
}

// Every cut is an error, whatever is cut.
func TestRepliesThatAreCutAreNoEnd(t *testing.T) {
	all := []stream{newStream([]byte("abc"), "image/png", true, true), newStream([]byte("defg"), "application/gzip",
		false, false)}
	reply, contentType := write(t, all...)
	whole := len(bytes.TrimSuffix(reply, []byte("\r\n"))) // the boundary ends the reply, with or without the end of its line
	for cut := range whole {
		if contents, err := read(bytes.NewReader(reply[:cut]), contentType, all[0].ref, all[1].ref); err == nil {
			t.Fatalf("%d of %d bytes were read as %q", cut, len(reply), contents)
		}
	}
	if _, err := read(bytes.NewReader(reply[:whole]), contentType, all[0].ref, all[1].ref); err != nil {
		t.Fatal(err)
	}
}

func TestRepliesThatLieAreRefused(t *testing.T) {
	closed, open := newStream([]byte("abc"), "image/png", true, true), newStream([]byte("defg"), "application/gzip",
		false, false)
	other := newStream([]byte("other"), "image/png", true, true)
	with := func(s stream, change func(r *binary.Ref)) binary.Ref {
		ref := s.ref
		change(&ref)
		return ref
	}
	edit := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	// The bytes of a stream stand behind the blank line of its part; the random ids and the boundary may hold them too.
	content := func(old, new string) func([]byte) []byte { return edit("\r\n\r\n"+old, "\r\n\r\n"+new) }
	// This requires knowledge of the boundary.
	injected := func(b []byte) []byte {
		line, _, _ := bytes.Cut(b, []byte("\r\n"))
		return content("abc", "a\r\n"+string(line)+"--\r\nc")(b)
	}
	for name, c := range map[string]struct {
		streams []stream
		edit    func(reply []byte) []byte
		refs    []binary.Ref // nil: those of the streams
		want    error
	}{
		"a stream that nothing names": {[]stream{closed}, nil, []binary.Ref{}, binary.ErrReply},
		"a stream that never comes":   {[]stream{closed}, nil, []binary.Ref{closed.ref, other.ref}, binary.ErrReply},
		"another stream":              {[]stream{closed}, nil, []binary.Ref{other.ref}, binary.ErrReply},
		"a stream twice":              {[]stream{closed, closed}, nil, []binary.Ref{closed.ref}, binary.ErrReply},
		"a stream named twice":        {[]stream{closed}, nil, []binary.Ref{closed.ref, closed.ref}, binary.ErrReply},
		"another length": {[]stream{closed}, edit("Content-Length: 3", "Content-Length: 4"), nil,
			binary.ErrReply},
		"a length of nothing known": {[]stream{open},
			edit("Content-Type: application/gzip", "Content-Length: 4\r\nContent-Type: application/gzip"), nil,
			binary.ErrReply},
		"no id":               {[]stream{closed}, edit("Content-ID: <", "Content-ID: "), nil, binary.ErrReply},
		"no id at all":        {[]stream{closed}, edit("Content-ID", "X-Id"), nil, binary.ErrReply},
		"the boundary inside": {[]stream{closed}, injected, nil, binary.ErrSize},
		"fewer bytes":         {[]stream{closed}, content("abc", "ab"), nil, binary.ErrSize},
		"more bytes":          {[]stream{closed}, content("abc", "abcd"), nil, binary.ErrSize},
		"other bytes":         {[]stream{closed}, content("abc", "abd"), nil, binary.ErrSum},
		"more than was declared": {[]stream{closed}, edit("Content-Length: 3\r\n", ""),
			[]binary.Ref{with(closed, func(r *binary.Ref) { r.Size = 2 })}, binary.ErrSize},
		"another checksum": {[]stream{closed}, nil,
			[]binary.Ref{with(closed, func(r *binary.Ref) { r.Checksum = new(binary.Checksum) })}, binary.ErrSum},
		"other bytes than at the end": {[]stream{open}, content("defg", "defh"), nil, binary.ErrSum},
		"more bytes than at the end":  {[]stream{open}, content("defg", "defgh"), nil, binary.ErrSize},
		"no end":                      {[]stream{open}, edit(".end>", ">"), nil, binary.ErrReply},
		"the end of another stream": {[]stream{open}, edit(open.ref.Stream.String()+".end", other.ref.Stream.String()+
			".end"), nil, binary.ErrReply},
		"an end that is no JSON":    {[]stream{open}, edit(`{"streamId"`, `{"streamId`), nil, binary.ErrReply},
		"an end that knows nothing": {[]stream{open}, edit(`"size":4`, `"size":-1`), nil, binary.ErrReply},
		"an end without end": {[]stream{open}, edit(`{"streamId"`, strings.Repeat(" ", 2000)+`{"streamId"`),
			nil, binary.ErrReply},
		"no message": {[]stream{closed},
			edit("Content-Type: application/json", "Content-Type: text/plain"), nil, binary.ErrReply},
		"a header without end": {[]stream{closed},
			edit("Content-Type: image/png", "X: "+strings.Repeat("x", 11<<20)), nil, binary.ErrReply},
		"a header that is none": {[]stream{closed}, edit("Content-Type: image/png", "what is this"), nil,
			binary.ErrReply},
	} {
		reply, contentType := write(t, c.streams...)
		if c.edit != nil {
			edited := c.edit(bytes.Clone(reply))
			if bytes.Equal(edited, reply) {
				t.Fatalf("%s: nothing was changed", name)
			}
			reply = edited
		}
		refs := c.refs
		if refs == nil {
			for _, s := range c.streams {
				refs = append(refs, s.ref)
			}
		}
		if contents, err := read(bytes.NewReader(reply), contentType, refs...); !errors.Is(err, c.want) {
			t.Errorf("%s: %q, %v; want %v", name, contents, err, c.want)
		}
	}
}

func TestRepliesOfOtherTypesAreRefused(t *testing.T) {
	for _, contentType := range []string{"", "application/json", "multipart/mixed", "multipart/form-data; boundary=x",
		"multipart/mixed; boundary"} {
		if _, err := binary.NewReplyReader(strings.NewReader(""), contentType); !errors.Is(err, binary.ErrReply) {
			t.Errorf("%q: %v", contentType, err)
		}
	}
}

// Streams come one after the other: a skipped one is not verified.
func TestStreamsAreReadToTheirEnd(t *testing.T) {
	s := newStream([]byte("abc"), "image/png", true, true)
	raw, contentType := write(t, s)
	reply, err := binary.NewReplyReader(bytes.NewReader(raw), contentType)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reply.Next(); !errors.Is(err, binary.ErrReply) {
		t.Errorf("before the message: %v", err)
	}
	if _, err := reply.Message(); err != nil {
		t.Fatal(err)
	}
	if err := reply.Expect(s.ref); err != nil {
		t.Fatal(err)
	}
	if _, err := reply.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := reply.Next(); !errors.Is(err, binary.ErrReply) {
		t.Errorf("without reading: %v", err)
	}
}

// An end must say something.
func TestEndsAreKnown(t *testing.T) {
	w := binary.NewReplyWriter(io.Discard)
	if err := w.End(binary.Ref{Stream: binary.NewStreamID(), Size: binary.UnknownSize}); err == nil {
		t.Error("an end was written that says nothing")
	}
}

// fuzzBoundary is in the committed seeds.
const fuzzBoundary = "boundary"

func FuzzReadReply(f *testing.F) {
	id, sum := sample(f).Stream.String(), sample(f).Checksum
	digest, _ := sum.MarshalText()
	part := func(headers, body string) string {
		return "\r\n--" + fuzzBoundary + "\r\n" + headers + "\r\n\r\n" + body
	}
	first := part("Content-Type: application/json", message)[2:]
	closing := "\r\n--" + fuzzBoundary + "--\r\n"
	end := part("Content-Type: application/json\r\nContent-ID: <"+id+".end>", `{"streamId":"`+id+
		`","size":3,"checksum":"`+string(digest)+`"}`)
	f.Add([]byte(first+part("Content-Type: image/png\r\nContent-ID: <"+id+">\r\nContent-Length: 3", "abc")+closing),
		true)
	f.Add([]byte(first+part("Content-Type: image/png\r\nContent-ID: <"+id+">", "abc")+end+closing), false)
	f.Add([]byte(first+closing), true)
	f.Add([]byte(first), false)
	f.Fuzz(func(t *testing.T, raw []byte, known bool) {
		ref := sample(t)
		if !known {
			ref = binary.Ref{Stream: ref.Stream, Size: binary.UnknownSize}
		}
		contents, err := read(bytes.NewReader(raw), "multipart/mixed; boundary="+fuzzBoundary, ref)
		if err != nil {
			return
		}
		// What was read as whole has the one stream, and that what was declared.
		if len(contents) != 1 || known && string(contents[0]) != "abc" {
			t.Fatalf("%q was read as %q", raw, contents)
		}
		if sum := sha256.Sum256(contents[0]); !known && !bytes.Contains(raw, []byte(hex.EncodeToString(sum[:]))) {
			t.Fatalf("%q ended without its checksum", raw)
		}
	})
}
