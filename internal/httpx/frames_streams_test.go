package httpx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
)

func asClose(err error, closed *websocket.CloseError) bool { return errors.As(err, closed) }

func TestResourcesComeInFrames(t *testing.T) {
	t.Parallel()
	s, repo := serveCopy(t, pictured)
	compared := 0
	for _, version := range eras {
		if version == modernVersion {
			repo.Commit("main", append(pictures(), gittest.Regular("other", "x"))...) // other archives
		}
		r := receive(t, s.url, version, supported)
		for id, c := range []struct {
			uri, mimeType string
			want          []byte
			size          bool // in the message
			checksum      bool
		}{
			{"repo://repo/contents/dot.png", "image/png", []byte(gitBlob(t, repo, "dot.png")), true, true},
			{"repo://repo/contents/empty", "text/plain; charset=utf-8", nil, true, true},
			{"repo://repo/contents/large", "application/octet-stream", []byte(gitBlob(t, repo, "large")), true, true},
			{"repo://repo/contents/text.md", "text/markdown; charset=utf-8", []byte(gitBlob(t, repo, "text.md")), true,
				true},
			{"repo://repo/archive/main.tar", "application/x-tar", repo.Archive("--format=tar", "main"), true, false},
			{"repo://repo/archive/main.tar.gz", "application/gzip", nil, false, false},
		} {
			stream := r.whole(r.begin(id+1, c.uri))
			content := r.replies[fmt.Sprint(id+1)].Result.Contents[0]
			if content.URI != c.uri || content.MIMEType != c.mimeType || content.Text != nil || content.Blob != nil {
				t.Errorf("%s in %s: %v", c.uri, version, content)
			}
			if (content.BinaryRef.Size >= 0) != c.size || (content.BinaryRef.Checksum != "") != c.checksum {
				t.Errorf("%s: the message says %+v", c.uri, content.BinaryRef)
			}
			if c.size && content.BinaryRef.Size != stream.end.Size || c.checksum &&
				!content.BinaryRef.describes(stream.body) {
				t.Errorf("%s: %+v was declared, and %+v came", c.uri, content.BinaryRef, stream.end)
			}
			if c.size {
				if !stream.is(c.want) {
					t.Errorf("%s: %d bytes are not the %d of git", c.uri, len(stream.body), len(c.want))
				}
			} else if n := gittest.DiffTar(t, tarOf(t, bytes.NewReader(stream.body)), gittest.ReadTar(t,
				bytes.NewReader(repo.Archive("--format=tar", "main")))); n < 5 {
				t.Errorf("%s: %d entries", c.uri, n)
			}
			compared++
		}
		// Tools as well.
		r.send(r.request(90, "tools/call", map[string]any{"name": "get_file_contents",
			"arguments": map[string]any{"repo": "repo", "path": "dot.png"}, "transferMode": "binary"}))
		r.until(func() bool { return r.raw["90"] != "" })
		var reply callReply
		if err := json.Unmarshal([]byte(r.raw["90"]), &reply); err != nil {
			t.Fatal(err)
		}
		for _, block := range reply.Result.Content {
			if block.BinaryRef != nil {
				if image := r.whole(r.stream(block.BinaryRef.StreamID)); block.Type != "image" ||
					block.TransferMode != "binary" || block.Data != nil || !image.is([]byte(pngBytes)) {
					t.Errorf("%s: %s", version, r.raw["90"])
				}
				compared++
			}
		}
	}
	if compared != 14 {
		t.Errorf("%d streams were compared", compared)
	}
	if n := strings.Count(s.log.String(), "path=/ws rpc=resources/read outcome=done"); n != 12 {
		t.Errorf("%d lines of the log", n)
	}
}

// Nobody gets frames who has not declared and asked for them.
func TestFramesNeedBothSides(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, pictured)
	read := map[string]any{"uri": "repo://repo/contents/dot.png", "transferMode": "binary"}
	for name, capability := range map[string]any{
		"undeclared": nil, "unsupported": map[string]any{"supported": false},
		"another mode":  map[string]any{"supported": true, "preferredMode": "multipart"},
		"that of pipes": map[string]any{"supported": true, "preferredMode": "stream"},
	} {
		for _, version := range eras {
			r := receive(t, s.url, version, capability)
			if f := r.call(r.request(1, methodRead, read)); !strings.Contains(f.raw, `"blob":`) ||
				strings.Contains(f.raw, "binaryRef") {
				t.Errorf("%s: %s", name, f.raw)
			}
		}
	}
	r := receive(t, s.url, batchVersion, map[string]any{"supported": true, "preferredMode": "websocket-binary"})
	r.send("[" + r.request(1, methodRead, read) + "]")
	if message, err := r.read(); err != nil || !bytes.Contains(message, []byte(`"blob":`)) {
		t.Errorf("in a batch: %s, %v", message, err)
	}
	if f := r.call(r.request(2, methodRead, map[string]any{"uri": "repo://repo/contents/dot.png"})); !strings.Contains(
		f.raw, `"blob":`) {
		t.Errorf("without transferMode: %s", f.raw)
	}
	r.whole(r.begin(3, "repo://repo/contents/dot.png"))
}

// Streams and messages take turns.
func TestStreamsTakeTurns(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	r := receive(t, s.url, modernVersion, supported)
	r.ask(1, "repo://repo/contents/large")
	r.ask(2, "repo://repo/contents/large")
	r.until(func() bool { return r.raw["1"] != "" && r.raw["2"] != "" })
	first, second := r.named("1"), r.named("2")
	r.until(func() bool { return first.tally.Size() > 0 && second.tally.Size() > 0 })
	for id := range 20 {
		r.answers(10 + id)
		if first.over() || second.over() {
			t.Fatalf("%d answers came beside 2 x 16 MiB", id)
		}
	}
	ponged := make(chan error, 1)
	go func() { ponged <- r.conn.Ping(t.Context()) }()
	r.whole(first)
	r.whole(second)
	if err := <-ponged; err != nil {
		t.Error(err)
	}
	if first.end.Size != bulk || *first.end.Checksum != *second.end.Checksum {
		t.Errorf("%+v and %+v", first.end, second.end)
	}
	turns, last := 0, ""
	for _, from := range r.order {
		if from != last {
			turns++
		}
		last = from
	}
	if turns < 100 {
		t.Errorf("%d turns among %d frames", turns, len(r.order))
	}
	t.Logf("%d turns among %d frames", turns, len(r.order))
}

// A stream that its client does not grant anything holds itself alone, and there are
// as many as there may be.
func TestStalledStreamsHoldNobody(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	for _, version := range eras {
		r := receive(t, s.url, version, supported)
		r.grants = false
		const most = 8
		var streams []*inbound
		for id := range most {
			streams = append(streams, r.begin(id+1, "repo://repo/contents/large"))
		}
		r.until(func() bool {
			return !slices.ContainsFunc(streams, func(s *inbound) bool { return s.tally.Size() < window })
		})
		r.ask(50, "repo://repo/contents/a")
		r.until(func() bool { return r.raw["50"] != "" })
		if !strings.Contains(r.raw["50"], `"reason":"busy"`) || !strings.Contains(r.raw["50"], `"limit":8`) ||
			!strings.Contains(r.raw["50"], "-32603") || !strings.Contains(r.raw["50"], "at most 8 binary streams") {
			t.Errorf("one stream too many: %s", r.raw["50"])
		}
		for id := range 40 { // more than may run at a time
			r.answers(100 + id)
		}
		// The same bytes without a stream.
		r.send(r.request(60, methodRead, map[string]any{"uri": "repo://repo/contents/a"}))
		r.until(func() bool { return r.raw["60"] != "" })
		if !strings.Contains(r.raw["60"], `"text":"first\n"`) {
			t.Error(r.raw["60"])
		}
		// Granted byte by byte and at once, each goes on.
		r.grant(streams[3], 1)
		r.until(func() bool { return streams[3].tally.Size() == window+1 })
		r.grant(streams[3], 1<<62)
		r.grant(streams[3], 1<<62) // more than there are numbers for
		if r.whole(streams[3]); streams[3].end.Size != bulk {
			t.Errorf("%+v", streams[3].end)
		}
		for i, stream := range streams {
			if i != 3 && (stream.over() || stream.tally.Size() != window) {
				t.Errorf("stream %d has %d bytes", i, stream.tally.Size())
			}
		}
		if another := r.whole(r.begin(70, "repo://repo/contents/a")); string(another.body) != "first\n" {
			t.Errorf("%q", another.body)
		}
	}
}

func TestStreamsAreCancelled(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	for _, version := range eras {
		r := receive(t, s.url, version, supported)
		r.grants = false
		frame, message, kept := r.begin(1, "repo://repo/contents/large"), r.begin(2, archiveURI), r.begin(3,
			"repo://repo/contents/large")
		r.until(func() bool { return message.tally.Size() == window })
		// The request is not over while its stream runs.
		r.ask(2, "repo://repo/contents/a")
		delete(r.raw, "2")
		r.until(func() bool { return r.raw["2"] != "" })
		if !strings.Contains(r.raw["2"], "-32600") || !strings.Contains(r.raw["2"], "streams have not ended") {
			t.Errorf("an id that is in use: %s", r.raw["2"])
		}
		r.cancel(frame)
		r.cancel(frame) // once more, on the way
		r.until(frame.over)
		if frame.aborted != "The client cancelled the stream." || frame.end != nil {
			t.Errorf("%+v", frame)
		}
		r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		r.until(message.over)
		if message.aborted != "The request was cancelled." || message.end != nil {
			t.Errorf("%+v", message)
		}
		r.grant(kept, 1<<30)
		if r.whole(kept); kept.end.Size != bulk {
			t.Errorf("%+v", kept.end)
		}
		for range 50 { // the place is free before the end, and so is the id
			r.whole(r.begin(2, "repo://repo/contents/a"))
		}
		s.log.Await(t, "outcome=aborted")
	}
}

func TestDamageInAStreamIsNoEnd(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, repo := serveCopy(t, bulky)
	id := repo.Git("rev-parse", "main:z")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	for _, version := range eras {
		r := receive(t, s.url, version, supported)
		stream := r.begin(1, archiveURI)
		other := r.begin(2, "repo://repo/contents/large")
		r.until(stream.over)
		if stream.end != nil || stream.tally.Size() < bulk/2 || !strings.Contains(stream.aborted, "git fsck") ||
			strings.Contains(stream.aborted, s.root) {
			t.Errorf("%d bytes, then %q, %+v", stream.tally.Size(), stream.aborted, stream.end)
		}
		if r.whole(other); other.end.Size != bulk {
			t.Errorf("the other stream: %+v", other.end)
		}
		r.answers(3)
		r.ask(4, "repo://repo/contents/z")
		r.until(func() bool { return r.raw["4"] != "" })
		if !strings.Contains(r.raw["4"], `"corrupt_repository"`) {
			t.Errorf("the damaged file: %s", r.raw["4"])
		}
	}
	s.log.Await(t, "a stream was aborted")
}

func TestStreamsHaveLimits(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	for _, version := range eras {
		r := receive(t, s.url, version, map[string]any{"supported": true, "maxBinarySize": 100_000})
		for id, uri := range []string{"repo://repo/contents/large", "repo://repo/archive/main.tar"} {
			r.ask(id, uri)
			key := fmt.Sprint(id)
			r.until(func() bool { return r.raw[key] != "" })
			if !strings.Contains(r.raw[key], `"too_large"`) || !strings.Contains(r.raw[key], `"limit":100000`) {
				t.Errorf("%s: %s", uri, r.raw[key])
			}
		}
		exclude := map[string]string{sessionVersion: "a", modernVersion: "z"}[version]
		archive := r.begin(7, "repo://repo/archive/main.tar.gz?exclude="+exclude) // nobody knows its size yet
		r.until(archive.over)
		if archive.end != nil || archive.tally.Size() > 100_000 || !strings.Contains(archive.aborted, "maxBinarySize") {
			t.Errorf("%d bytes, then %q", archive.tally.Size(), archive.aborted)
		}
		if small := r.whole(r.begin(8, "repo://repo/contents/a")); string(small.body) != "first\n" {
			t.Errorf("%q", small.body)
		}
	}
}
