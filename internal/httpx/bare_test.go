package httpx_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
)

// What follows is a client of the Binary Transfer RFC as its text alone has it: it declares binaryTransfer, takes
// parts by Content-ID, and binary frames that are the id of a stream and some of its bytes.

// bareCapabilities are those of a client that has never heard of an extension.
var bareCapabilities = map[string]any{"binaryTransfer": supported}

// bareReply is a reply with what may be a stream of the RFC.
type bareReply struct {
	ID     int
	Result struct {
		Contents []struct {
			Text, Blob *string
			BinaryRef  *ref
		}
		Content []map[string]any
	}
	Error struct{ Data map[string]any }
}

// names is the only stream that a reply names.
func (r bareReply) names(t *testing.T) ref {
	t.Helper()
	if len(r.Result.Contents) == 1 && r.Result.Contents[0].BinaryRef != nil {
		return *r.Result.Contents[0].BinaryRef
	}
	t.Fatalf("no stream is named: %+v", r)
	return ref{}
}

// holds compares bytes with what was declared of them, and with what they have to be.
func (r ref) holds(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	sum := sha256.Sum256(got)
	if string(got) != want || r.Size != int64(len(want)) || r.Checksum != "" && r.Checksum != hex.EncodeToString(sum[:]) {
		t.Errorf("%s: %d bytes of %d, declared are %d", what, len(got), len(want), r.Size)
	}
}

// bareFiles are read by clients of the RFC, by their paths.
func bareFiles() map[string]string {
	return map[string]string{
		"noise": gittest.Noise(300_000), "empty": "", "one": "x", "frame": gittest.Noise(32 << 10),
		"dot.png": pngBytes, "text.md": "# Text\n",
	}
}

func commitBare(s *site) map[string]string {
	s.t.Helper()
	var list []gittest.File
	files := bareFiles()
	for name, content := range files {
		list = append(list, gittest.Regular(name, content))
	}
	s.repo("repo").Commit("main", list...)
	return files
}

func TestRFCClientReadsParts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	files := commitBare(s)
	for _, version := range eras {
		client := s.declaring(version, bareCapabilities)
		for name, want := range files {
			response := client.ask(acceptBoth, methodRead,
				map[string]any{"uri": "repo://repo/contents/" + name, "transferMode": "binary"})
			parts, err := plainParts(response)
			if err != nil || len(parts) != 2 {
				t.Fatalf("%s of %s: %d parts, %v", name, version, len(parts), err)
			}
			var reply bareReply
			if err := json.Unmarshal(parts[0].body, &reply); err != nil {
				t.Fatal(err)
			}
			named := reply.names(t)
			if parts[1].header.Get("Content-Id") != "<"+named.StreamID+">" {
				t.Errorf("%s of %s: %v", name, version, parts[1].header)
			}
			named.holds(t, name, parts[1].body, want)
		}
		// A size is known where no checksum is: nothing follows the bytes all the same.
		parts, err := plainParts(client.ask(acceptBoth, methodRead, map[string]any{
			"uri": "repo://repo/archive/main.tar?prefix=" + version + "/", "transferMode": "binary",
		}))
		if err != nil || len(parts) != 2 {
			t.Errorf("an archive of %s: %d parts, %v", version, len(parts), err)
		}
	}
}

// bareSocket is a WebSocket client of the RFC.
type bareSocket struct {
	*socket
	version string
}

func dialBare(t *testing.T, s *site, version string) *bareSocket {
	t.Helper()
	b := &bareSocket{dial(t, s.url), version}
	if version != modernVersion {
		b.call(b.request(0, "initialize", map[string]any{
			"protocolVersion": version, "capabilities": bareCapabilities,
			"clientInfo": map[string]any{"name": "test", "version": "1"},
		}))
	}
	return b
}

func (b *bareSocket) request(id int, method string, params map[string]any) string {
	params = maps.Clone(params)
	if b.version == modernVersion {
		params["_meta"] = map[string]any{metaVersion: modernVersion, metaCapabilities: bareCapabilities}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bareSocket) ask(id int, uri string) {
	b.t.Helper()
	b.send(b.request(id, methodRead, map[string]any{"uri": uri, "transferMode": "binary"}))
}

// take reads until there are so many replies, and all bytes of the streams that they name.
func (b *bareSocket) take(replies int) (named map[int]bareReply, bytes map[string][]byte, err error) {
	b.t.Helper()
	named, bytes = make(map[int]bareReply), make(map[string][]byte)
	missing := func() bool {
		for _, reply := range named {
			for _, content := range reply.Result.Contents {
				if stream := content.BinaryRef; stream != nil &&
					(bytes[stream.StreamID] == nil || int64(len(bytes[stream.StreamID])) < stream.Size) {
					return true
				}
			}
		}
		return len(named) < replies
	}
	for missing() {
		ctx, cancel := context.WithTimeout(b.t.Context(), gittest.Patience)
		kind, message, err := b.conn.Read(ctx)
		cancel()
		if err != nil {
			return named, bytes, err
		}
		if kind == websocket.MessageBinary {
			id := fmt.Sprintf("%x-%x-%x-%x-%x", message[:4], message[4:6], message[6:8], message[8:10], message[10:16])
			bytes[id] = append(append([]byte{}, bytes[id]...), message[16:]...)
			continue
		}
		var reply bareReply
		if err := json.Unmarshal(message, &reply); err != nil {
			b.t.Fatalf("%s: %v", message, err)
		}
		named[reply.ID] = reply
	}
	return named, bytes, nil
}

func TestRFCClientReadsFrames(t *testing.T) {
	t.Parallel()
	s := serve(t)
	files := commitBare(s)
	for _, version := range eras {
		b := dialBare(t, s, version)
		order := make(map[int]string)
		for range 3 { // several streams at a time, and again
			for name := range files {
				order[len(order)+1] = name
			}
			for id, name := range order {
				b.ask(id, "repo://repo/contents/"+name)
			}
			replies, bytes, err := b.take(len(files))
			if err != nil {
				t.Fatal(err)
			}
			for id, name := range order {
				named := replies[id].names(t)
				named.holds(t, name+" of "+version, bytes[named.StreamID], files[name])
			}
			clear(order)
		}
	}
}

// The RFC has blocks of its own for tools.
func TestRFCClientCallsTools(t *testing.T) {
	t.Parallel()
	s := serve(t)
	files := commitBare(s)
	for _, version := range eras {
		for name, kind := range map[string]string{"dot.png": "image", "noise": "blob"} {
			parts, err := plainParts(s.declaring(version, bareCapabilities).ask(acceptBoth, "tools/call", map[string]any{
				"name": "get_file_contents", "arguments": map[string]any{"repo": "repo", "path": name},
				"transferMode": "binary",
			}))
			if err != nil || len(parts) != 2 {
				t.Fatalf("%s of %s: %d parts, %v", name, version, len(parts), err)
			}
			var reply bareReply
			if err := json.Unmarshal(parts[0].body, &reply); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, block := range reply.Result.Content {
				stream, _ := block["binaryRef"].(map[string]any)
				if block["type"] != kind || stream == nil {
					continue
				}
				found = true
				if block["transferMode"] != "binary" || block["mimeType"] == "" ||
					"<"+stream["streamId"].(string)+">" != parts[1].header.Get("Content-Id") ||
					stream["size"] != float64(len(files[name])) || string(parts[1].body) != files[name] {
					t.Errorf("%s of %s: %v", name, version, block)
				}
			}
			if !found {
				t.Errorf("%s of %s: no block is of type %s: %s", name, version, kind, parts[0].body)
			}
		}
	}
}

// The RFC's size is a number. What has none before its bytes comes as base64, or not at all.
func TestRFCClientGetsNoUnknownSize(t *testing.T) {
	t.Parallel()
	s := serve(t, "repo", "small")
	s.repo("repo").Commit("main", gittest.Regular("a", gittest.Noise(5<<20)))
	s.repo("small").Commit("main", gittest.Regular("a", "1"))
	for _, version := range eras {
		client := s.declaring(version, bareCapabilities)
		for uri, want := range map[string]string{
			"repo://small/archive/main.tar.gz": `"blob":"H4sI`, "repo://repo/archive/main.tar.gz": `"reason":"too_large"`,
		} {
			params := map[string]any{"uri": uri, "transferMode": "binary"}
			response := client.ask(acceptBoth, methodRead, params)
			if got := text(t, response); !strings.Contains(got, want) || strings.Contains(got, "binaryRef") ||
				response.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s of %s: %s", uri, version, describe(response, got))
			}
			b := dialBare(t, s, version)
			b.send(b.request(1, methodRead, params))
			if f := b.next(); !strings.Contains(f.raw, want) {
				t.Errorf("%s of %s over WebSocket: %.300s", uri, version, f.raw)
			}
		}
	}
}

// A stream that breaks has no clean end: its connection ends.
func TestRFCClientSeesThatAStreamBroke(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s := serve(t)
	repo := s.repo("repo")
	repo.Commit("main", gittest.Regular("a", gittest.Noise(3<<20)), gittest.Regular("z", gittest.Noise(10_000)))
	repo.DamageEnd("main:z")
	const uri = "repo://repo/archive/main.tar"
	for _, version := range eras {
		parts, err := plainParts(s.declaring(version, bareCapabilities).ask(acceptBoth, methodRead,
			map[string]any{"uri": uri, "transferMode": "binary"}))
		if len(parts) != 2 || err == nil || err == io.EOF { //nolint:errorlint // a wrapped one is not clean
			t.Errorf("%s: %d parts ended with %v", version, len(parts), err)
		}
		b := dialBare(t, s, version)
		b.ask(1, uri)
		replies, bytes, err := b.take(1)
		if websocket.CloseStatus(err) != websocket.StatusInternalError {
			t.Errorf("%s: the connection ended with %v", version, err)
		}
		if named := replies[1].names(t); int64(len(bytes[named.StreamID])) >= named.Size {
			t.Errorf("%s: %d bytes of %d", version, len(bytes[named.StreamID]), named.Size)
		}
	}
}

// Frames of such a client have no meaning, and a cancellation comes too late once its stream has begun.
func TestRFCClientHasNoFrames(t *testing.T) {
	t.Parallel()
	s := serve(t)
	commitBare(s)
	b := dialBare(t, s, modernVersion)
	b.ask(1, "repo://repo/contents/one")
	replies, _, err := b.take(1)
	if err != nil {
		t.Fatal(err)
	}
	id, err := hex.DecodeString(strings.ReplaceAll(replies[1].names(t).StreamID, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.conn.Write(t.Context(), websocket.MessageBinary, append(id, 8, 0, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if status := b.closed(); status != websocket.StatusUnsupportedData {
		t.Errorf("the connection was closed with %v", status)
	}
	if response := s.declaring(modernVersion, bareCapabilities).ask(acceptBoth, methodRead,
		map[string]any{"uri": "repo://repo/contents/one"}); response.StatusCode != http.StatusOK ||
		!strings.Contains(text(t, response), `"text":"x"`) {
		t.Error("what is not asked for in binary mode is another reply")
	}
}
