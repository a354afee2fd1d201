package stdio_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/mcp/stdio"
)

const fileURI, archiveURI = "repo://hello/contents/large", "repo://hello/archive/main.tar.gz"

// content is what has a binaryRef in a reply.
type content struct {
	URI       string
	BinaryRef *binary.Ref
	Blob      *string
}

// inbound is a stream as its client sees it.
type inbound struct {
	tally    *binary.Tally
	declared binary.Ref
	chunks   int
	ended    bool
	aborted  bool
	end      *binary.Ref
	words    string
}

// over reports whether nothing more comes of the stream.
func (s *inbound) over() bool {
	return s.ended && (!s.declared.Ends() || s.end != nil) || s.aborted && s.words != ""
}

// taker is a client that takes streams.
type taker struct {
	*peer
	version      string
	capabilities string
	streams      map[binary.StreamID]*inbound
	replies      map[string]message
	order        []string
	outgoing     chan string
}

// send has a text written as soon as the server reads: clients do not wait for that
// before they read themselves.
func (r *taker) send(text string) { r.outgoing <- text }

// hangUp ends the input once all was written.
func (r *taker) hangUp() { close(r.outgoing) }

func take(p *peer, version, capability string) *taker {
	p.t.Helper()
	return takeAs(p, version, `{"extensions":{"io.github.repomcp/binary-transfer":`+capability+`}}`)
}

func takeAs(p *peer, version, capabilities string) *taker {
	p.t.Helper()
	r := &taker{p, version, capabilities, make(map[binary.StreamID]*inbound),
		make(map[string]message), nil, make(chan string, 100)}
	go func() {
		defer func() { _ = p.in.Close() }() // of a pipe, it does not fail
		for {
			select {
			case text, ok := <-r.outgoing:
				if !ok {
					return
				}
				_, _ = io.WriteString(p.in, text) // the server may have ended
			case <-p.t.Context().Done():
				return
			}
		}
	}()
	if version != modernVersion {
		m := p.call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
			`","capabilities":` + r.capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`)
		if m.Result["protocolVersion"] != version {
			p.t.Fatal(m.raw)
		}
	}
	return r
}

// request writes one of the client's era.
func (r *taker) request(id int, method, params string) string {
	if r.version == modernVersion {
		params += strings.Repeat(",", min(len(params), 1)) + `"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
			modernVersion + `","io.modelcontextprotocol/clientCapabilities":` + r.capabilities + `}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`+"\n", id, method, params)
}

func (r *taker) ask(id int, uri string) {
	r.t.Helper()
	r.send(r.request(id, "resources/read", `"transferMode":"binary","uri":"`+uri+`"`))
}

// step reads a message or a chunk.
func (r *taker) step() error {
	first, err := r.lines.Peek(1)
	if err != nil {
		return err
	}
	if !binary.IsChunk(first[0]) {
		line, err := r.lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		r.message(line)
		return nil
	}
	chunk, err := binary.ReadChunk(r.lines, nil)
	if err != nil {
		return err
	}
	s := r.streams[chunk.Stream]
	if s == nil || s.ended || s.aborted {
		r.t.Fatalf("a chunk of %s, which is %+v", chunk.Stream, s)
	}
	s.chunks++
	s.ended, s.aborted = chunk.Ends() && !chunk.Aborted, chunk.Aborted
	_, _ = s.tally.Write(chunk.Data)
	r.order = append(r.order, chunk.Stream.String())
	return nil
}

func (r *taker) message(line []byte) {
	r.t.Helper()
	m := message{raw: string(line)}
	var named struct {
		Params struct {
			binary.Ref
			Message string
		}
		Result struct{ Contents []content }
	}
	if err := errors.Join(json.Unmarshal(line, &m), json.Unmarshal(line, &named)); err != nil {
		r.t.Fatalf("%v: %.300q", err, line)
	}
	r.order = append(r.order, "message")
	switch s := r.streams[named.Params.Stream]; m.Method {
	case "":
		r.replies[string(m.ID)] = m
	case "notifications/binary/end":
		if whole := named.Params.Ref; s == nil || !s.ended || !s.declared.Ends() || whole.Ends() {
			r.t.Fatalf("%s of %+v", line, s)
		} else {
			s.end = &whole
		}
	case "notifications/binary/aborted":
		if s == nil || !s.aborted || named.Params.Message == "" {
			r.t.Fatalf("%s of %+v", line, s)
		}
		s.words = named.Params.Message
	default:
		r.t.Fatalf("%s", line)
	}
	for _, c := range named.Result.Contents {
		if c.BinaryRef != nil {
			r.streams[c.BinaryRef.Stream] = &inbound{tally: binary.NewTally(), declared: *c.BinaryRef}
		}
	}
}

func (r *taker) until(done func() bool) {
	r.t.Helper()
	for !done() {
		if err := r.step(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// reply waits for that of a request.
func (r *taker) reply(id int) message {
	r.t.Helper()
	key := fmt.Sprint(id)
	r.until(func() bool { return r.replies[key].raw != "" })
	return r.replies[key]
}

// named waits for the stream that a reply names.
func (r *taker) named(id int) *inbound {
	r.t.Helper()
	m := r.reply(id)
	var reply struct{ Result struct{ Contents []content } }
	if err := json.Unmarshal([]byte(m.raw), &reply); err != nil || len(reply.Result.Contents) != 1 ||
		reply.Result.Contents[0].BinaryRef == nil {
		r.t.Fatal(m.raw)
	}
	return r.streams[reply.Result.Contents[0].BinaryRef.Stream]
}

// whole waits for the end of a stream, and compares it with what was said.
func (r *taker) whole(s *inbound) int64 {
	r.t.Helper()
	r.until(s.over)
	if s.aborted {
		r.t.Fatalf("the stream was aborted: %s", s.words)
	}
	if err := s.tally.Compare(s.declared); err != nil {
		r.t.Error(err)
	}
	if s.end != nil {
		if err := s.tally.Compare(*s.end); err != nil {
			r.t.Error(err)
		}
	}
	return s.tally.Size()
}

func TestStreamsComeInChunks(t *testing.T) {
	p := connect(t, stdio.Options{})
	tar := int64(len(p.repo.Archive("--format=tar", "main")))
	for _, version := range []string{sessionVersion, modernVersion} {
		r := take(connect(t, stdio.Options{}), version, `{"supported":true}`)
		for id, c := range []struct {
			uri  string
			size int64
			ends bool
		}{
			{"repo://hello/contents/README.md", 8, false}, {fileURI, 1 << 20, false}, {archiveURI, 0, true},
			{archiveURI, 0, false}, // it was made once
			{"repo://hello/archive/main.tar", tar, true},
		} {
			r.ask(id+1, c.uri)
			s := r.named(id + 1)
			size := r.whole(s)
			if c.size > 0 && size != c.size || size == 0 || (s.end != nil) != c.ends {
				t.Errorf("%s in %s: %d bytes, %+v", c.uri, version, size, s)
			}
		}
		// Tools as well.
		r.send(r.request(20, "tools/call",
			`"transferMode":"binary","name":"get_file_contents","arguments":{"repo":"hello","path":"large"}`))
		m := r.reply(20)
		_, rest, _ := strings.Cut(m.raw, `"streamId":"`)
		id, err := binary.ParseStreamID(rest[:min(36, len(rest))])
		if err != nil {
			t.Fatal(m.raw)
		}
		r.streams[id] = &inbound{tally: binary.NewTally(), declared: binary.Ref{Stream: id, Size: 1 << 20,
			Checksum: r.named(2).declared.Checksum}}
		r.whole(r.streams[id])
	}
}

// A client without support for binary transfer never gets a byte that
// is no JSON.
func TestChunksNeedBothSides(t *testing.T) {
	const read = `"transferMode":"binary","uri":"repo://hello/contents/small"`
	for name, c := range map[string]struct{ version, capability, params string }{
		"undeclared":         {sessionVersion, `null`, read},
		"undeclared, modern": {modernVersion, `{}`, read},
		"another mode":       {modernVersion, `{"supported":true,"preferredMode":"multipart"}`, read},
		"not asked for":      {sessionVersion, `{"supported":true}`, `"uri":"repo://hello/contents/small"`},
		"asked for otherwise": {modernVersion, `{"supported":true}`,
			`"transferMode":"base64","uri":"repo://hello/contents/small"`},
		"one of a batch":       {"2025-03-26", `{"supported":true}`, read},
		"unsupported, session": {sessionVersion, `{"supported":false}`, read},
	} {
		p := connect(t, stdio.Options{})
		p.repo.Commit("main", gittest.Regular("small", "\xff\x00\xfe"))
		r := take(p, c.version, c.capability)
		text := r.request(1, "resources/read", c.params)
		if strings.Contains(name, "batch") {
			text = "[" + strings.TrimSpace(text) + "]\n"
		}
		r.send(text)
		r.hangUp()
		all, err := io.ReadAll(p.lines)
		if err != nil || !bytes.Contains(all, []byte(`"blob":"/wD+"`)) || bytes.Count(all, []byte("\n")) != 1 ||
			bytes.ContainsFunc(all, func(c rune) bool { return c > 0x7f }) {
			t.Errorf("%s: %v, %.300q", name, err, all)
		}
	}
}

// Streams and messages take turns on the pipe.
func TestChunksTakeTurns(t *testing.T) {
	r := take(connect(t, stdio.Options{}), modernVersion, `{"supported":true}`)
	r.repo.Commit("main", gittest.Regular("large", gittest.Noise(8<<20)))
	r.ask(1, fileURI)
	r.ask(2, fileURI)
	first, second := r.named(1), r.named(2)
	for id := range 10 { // at once, or a busy machine may take a stream's time for each
		r.send(r.request(10+id, "resources/templates/list", ""))
	}
	for id := range 10 {
		if m := r.reply(10 + id); m.Result == nil || first.over() && second.over() {
			t.Fatalf("%d answers came beside 2 x 8 MiB: %.300s", id, m.raw)
		}
	}
	if r.whole(first) != 8<<20 || r.whole(second) != 8<<20 {
		t.Errorf("%+v, %+v", first, second)
	}
	turns, last := 0, ""
	for _, from := range r.order {
		if from != last {
			turns++
		}
		last = from
	}
	if turns < 10 {
		t.Errorf("%d turns among %d", turns, len(r.order))
	}
}

// The pipe is full, since its client reads nothing: what has begun stays, and is
// cancelled by its request also after the reply.
func TestCancelledStreamsAreAborted(t *testing.T) {
	r := take(connect(t, stdio.Options{}), modernVersion, `{"supported":true}`)
	r.repo.Commit("main", gittest.Regular("large", gittest.Noise(8<<20)))
	r.ask(1, fileURI)
	r.ask(2, archiveURI)
	cancelled, kept := r.named(1), r.named(2)
	r.ask(1, "repo://hello/contents/large")
	delete(r.replies, "1")
	if m := r.reply(1); m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "streams have not ended") {
		t.Errorf("an id that is in use: %s", m.raw)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	r.until(cancelled.over)
	if !cancelled.aborted || cancelled.words != "The request was cancelled." || cancelled.tally.Size() >= 8<<20 {
		t.Errorf("%+v", cancelled)
	}
	r.whole(kept)
	for range 50 { // ids and places are given back before the end
		const id = 1
		delete(r.replies, fmt.Sprint(1+id))
		r.ask(1+id, "repo://hello/refs")
		r.whole(r.named(1 + id))
	}
}

func TestStreamsOfAPipeAreBounded(t *testing.T) {
	r := take(connect(t, stdio.Options{}), modernVersion, `{"supported":true}`)
	r.repo.Commit("main", gittest.Regular("large", gittest.Noise(4<<20)))
	for id := range 9 {
		r.ask(id, fileURI)
	}
	refused := 0
	for id := range 9 {
		if m := r.reply(id); m.Error.Code == -32603 && m.Error.Data["reason"] == "busy" &&
			strings.Contains(m.Error.Message, "at most 8") {
			refused++
			continue
		}
		r.named(id)
	}
	for _, s := range r.streams {
		r.whole(s)
	}
	if refused != 1 || len(r.streams) != 8 {
		t.Errorf("%d were refused, %d streams came", refused, len(r.streams))
	}
}

func TestDamageAbortsItsStream(t *testing.T) {
	r := take(connect(t, stdio.Options{}), modernVersion, `{"supported":true}`)
	r.repo.Commit("main", gittest.Regular("a", "first\n"), gittest.Regular("large", gittest.Noise(4<<20)),
		gittest.Regular("z", "last\n"))
	id := r.repo.Git("rev-parse", "main:z")
	if err := os.Remove(filepath.Join(r.repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	r.ask(1, archiveURI)
	r.ask(2, fileURI)
	damaged, other := r.named(1), r.named(2)
	r.until(damaged.over)
	if damaged.ended || damaged.end != nil || damaged.tally.Size() < 2<<20 ||
		!strings.Contains(damaged.words, "git fsck") || strings.Contains(damaged.words, r.repo.Dir) {
		t.Errorf("%+v", damaged)
	}
	if r.whole(other) != 4<<20 {
		t.Errorf("%+v", other)
	}
}

// The end of the input lets streams end, and no longer than it may.
func TestTheEndWaitsForStreams(t *testing.T) {
	r := take(connect(t, stdio.Options{}), modernVersion, `{"supported":true}`)
	r.ask(1, archiveURI)
	s := r.named(1)
	r.hangUp()
	r.whole(s)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	r = take(connect(t, stdio.Options{Drain: 1}), modernVersion, `{"supported":true}`)
	r.ask(1, archiveURI)
	s = r.named(1)
	r.hangUp()
	if err := r.end(); !errors.Is(err, stdio.ErrCutOff) {
		t.Error(err)
	}
	for r.step() == nil {
	}
	if s.over() {
		t.Errorf("%+v", s)
	}
}

// A reader in another language, of pipes to the server itself.
func TestPythonReadsChunks(t *testing.T) {
	gittest.Long(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	p := connect(t, stdio.Options{})
	const program = `import hashlib, json, struct, sys, uuid
pipe, refs, sums, sizes, ends = sys.stdin.buffer, {}, {}, {}, {}
replies = 0
while True:
    first = pipe.read(1)
    if not first:
        break
    if first[0] < 0x80:
        message = json.loads(first + pipe.readline())
        if message.get("method") == "notifications/binary/end":
            ends[message["params"]["streamId"]] = message["params"]
            continue
        replies += 1
        for c in message.get("result", {}).get("contents", []):
            if "binaryRef" in c:
                refs[c["binaryRef"]["streamId"]] = c
                sums[c["binaryRef"]["streamId"]] = hashlib.sha256()
                sizes[c["binaryRef"]["streamId"]] = 0
        continue
    head = first + pipe.read(23)
    stream, size = str(uuid.UUID(bytes=head[:16])), struct.unpack(">Q", head[16:])[0]
    assert stream in refs and size < 1 << 20, (stream, size)
    if size:
        data = pipe.read(size)
        assert len(data) == size
        sums[stream].update(data)
        sizes[stream] += size
    else:
        refs[stream]["ended"] = True
for stream, c in refs.items():
    whole = c["binaryRef"] if "checksum" in c["binaryRef"] else ends.pop(stream)
    assert c["ended"] and whole["checksum"] == sums[stream].hexdigest() and whole["size"] == sizes[stream], (c, sizes[stream])
assert not ends
print(json.dumps({"replies": replies, "sizes": {c["uri"]: sizes[s] for s, c in refs.items()}}))`
	command := exec.CommandContext(t.Context(), python, "-c", program)
	r := take(p, modernVersion, `{"supported":true}`)
	command.Stdin, command.Stderr = bufio.NewReader(p.lines), os.Stderr
	for id, uri := range []string{fileURI, archiveURI, "repo://hello/contents/README.md",
		"repo://hello/archive/main.tar"} {
		r.ask(id, uri)
		r.send(r.request(10+id, "resources/templates/list", ""))
	}
	r.hangUp()
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Replies int
		Sizes   map[string]int
	}
	if err := json.Unmarshal(out, &found); err != nil || found.Replies != 8 || len(found.Sizes) != 4 ||
		found.Sizes[fileURI] != 1<<20 || found.Sizes["repo://hello/contents/README.md"] != 8 {
		t.Errorf("%s, %v", out, err)
	}
}

// counting counts what is written.
type counting struct {
	io.Writer
	total int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.total += int64(n)
	return n, err
}

// A file of 64 MiB costs less than a thousandth more on the pipe.
func TestChunksCostLittle(t *testing.T) {
	gittest.Long(t)
	const size = 64 << 20
	source, sink := io.Pipe()
	out := &counting{Writer: sink}
	p := connect(t, stdio.Options{Out: out})
	p.lines = bufio.NewReader(source)
	p.repo.Git("config", "core.compression", "0")
	p.repo.Commit("main", gittest.Regular("large", gittest.Noise(size)))
	r := take(p, modernVersion, `{"supported":true}`)
	r.ask(1, fileURI)
	s := r.named(1)
	if got := r.whole(s); got != size {
		t.Errorf("%d bytes", got)
	}
	r.hangUp()
	if err := p.end(); err != nil {
		t.Error(err)
	}
	overhead := out.total - size
	t.Logf("%d bytes beside %d, %.4f %%, in %d chunks", overhead, int64(size), float64(overhead)/size*100, s.chunks)
	if overhead <= 0 || overhead > size/1000 {
		t.Errorf("%d bytes beside %d", overhead, int64(size))
	}
}
