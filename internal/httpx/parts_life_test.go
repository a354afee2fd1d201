package httpx_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestDamageInAPartIsNoEnd(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, repo := serveCopy(t, bulky)
	id := repo.Git("rev-parse", "main:z")
	if err := os.Remove(filepath.Join(repo.Dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	for _, version := range eras {
		client := s.receiver(version, supported)
		response := client.read(archiveURI)
		body, err := io.ReadAll(response.Body)
		_, parameters, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(body) < bulk/2 ||
			bytes.Contains(body, []byte("--"+parameters["boundary"]+"--")) || bytes.Contains(body, []byte(".end>")) {
			t.Errorf("%d bytes ended with %v", len(body), err)
		}
		// The next request is not harmed, and a damaged file is refused before its first
		// byte.
		if message, stream, _ := received(t, client.read("repo://repo/contents/a")); string(stream.body) != "first\n" {
			t.Errorf("the next request: %s", message)
		}
		if got := text(t, client.read("repo://repo/contents/z")); !strings.Contains(got, `"corrupt_repository"`) {
			t.Errorf("the damaged file: %s", got)
		}
	}
	s.log.Await(t, "a stream was aborted")
}

func TestClientGoneMidPartStopsTheWork(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	response := s.receiver(modernVersion, supported).read(archiveURI)
	begin(t, response)
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	s.log.Await(t, "outcome=aborted")
}

func TestCancelledPartIsAborted(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	client, stranger := s.receiver(sessionVersion, supported), s.receiver(sessionVersion, supported)
	response := client.read(archiveURI)
	begin(t, response)
	s.cancelling(stranger.session, 1)
	s.cancelling(client.session, 2)
	if _, err := io.CopyN(io.Discard, response.Body, bulk/2); err != nil {
		t.Fatalf("the stream ended by what did not concern it: %v", err)
	}
	s.cancelling(client.session, 1)
	s.log.Await(t, "outcome=aborted")
	if rest, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Errorf("the cancelled stream ended cleanly after %d more bytes", rest)
	}
}

func TestTheLogCountsTheBytesOfParts(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, pictured)
	body := text(t, s.receiver(modernVersion, supported).read("repo://repo/contents/large"))
	s.log.Await(t, fmt.Sprintf("outcome=done bytes=%d ", len(body)))
	s.log.Await(t, "rpc=resources/read repository=repo")
}

// A drain lets a part finish, and cuts it off visibly at its end.
func TestDrainLetsPartsFinish(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, patience := range map[string]time.Duration{"in time": gittest.Patience, "too late": 50 * time.Millisecond} {
		s := newTarget(t, targetOptions{build: copyBulky(t)})
		response := s.readBinary(t, "repo://repo/contents/large")
		begin(t, response)
		drain, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.server.Shutdown(drain) }()
		if name == "too late" {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown: %v, although a stream was cut off", err)
			}
		}
		rest, err := io.Copy(io.Discard, response.Body)
		if (err == nil) != (name == "in time") {
			t.Errorf("%s: %d more bytes, %v", name, rest, err)
		}
		if name == "in time" {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
}

// What the operator allows bounds all clients, and is declared.
func TestBinaryLimitIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{binaryLimit: 6})
	if a := s.do(t, s.call(modernVersion, "server/discover", nil)); !strings.Contains(string(a.body),
		`"maxBinarySize":6,`) {
		t.Error(a)
	}
	for _, client := range []map[string]any{{"supported": true}, {"supported": true, "maxBinarySize": 1 << 30}} {
		for uri, want := range map[string]bool{"repo://hello/contents/README.md": true,
			"repo://hello/contents/page.html": false} {
			c := s.binaryCall(uri)
			c.meta()[metaCapabilities] = extended(client)
			if a := s.do(t, c); want == a.failed() || a.failed() &&
				(a.reason != "too_large" || a.data["limit"] != 6.0 || a.data["suggestion"] != methodStream) {
				t.Errorf("%s for %v: %v", uri, client, a)
			}
		}
	}
}

// What is kept is known before its bytes, and what refs decide never is.
func TestKeptArchivesComeAsBytes(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{cache: newCache(t, t.TempDir(), nil), build: func(root string) {
		gittest.At(t, filepath.Join(root, "repo.git")).Commit("main", gittest.Regular("a", "1"))
		gittest.At(t, filepath.Join(root, "weak.git")).Commit("main",
			gittest.Regular(".gitattributes", "a export-subst\n"), gittest.Regular("a", "$Format:%d$"))
	}})
	for uri, known := range map[string]bool{"repo://repo/archive/main.tar.gz": true,
		"repo://weak/archive/main.tar.gz": false} {
		var first []byte
		for round := range 3 {
			message, stream, end := received(t, s.readBinary(t, uri))
			var reply readReply
			if err := json.Unmarshal([]byte(message), &reply); err != nil {
				t.Fatal(message, err)
			}
			told := reply.Result.Contents[0].BinaryRef
			if round > 0 && (told.Checksum != "") != known || (end == nil) != (told.Checksum != "") {
				t.Errorf("%s, time %d: %s, then %v", uri, round, message, end)
			}
			if end != nil {
				told = *end
			}
			if first == nil {
				first = stream.body
			}
			if !told.describes(stream.body) || !bytes.Equal(stream.body, first) || len(first) == 0 {
				t.Errorf("%s, time %d: %v, %d bytes", uri, round, told, len(stream.body))
			}
		}
	}
}

// readBinary asks a target in the modern era.
func (s *target) readBinary(t *testing.T, uri string) *http.Response {
	t.Helper()
	response, err := s.open(t.Context(), s.binaryCall(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() }) // only read from
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"),
		"multipart/mixed") {
		t.Fatal(describe(response, text(t, response)))
	}
	return response
}

func (s *target) binaryCall(uri string) *call {
	c := s.call(modernVersion, methodRead, map[string]any{"uri": uri, "transferMode": "binary"})
	c.meta()[metaCapabilities] = extended(supported)
	c.header.Set("Accept", acceptParts)
	return c
}

// countedConn counts what comes over a connection.
type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// A file of 64 MiB costs less than a thousandth more on the wire, and as much memory
// as any: what the streams of slow clients hold does not grow with it.
func TestPartsCostLittle(t *testing.T) {
	gittest.Long(t)
	const size, streams, perStream = 64 << 20, 24, 1 << 20
	s := newTarget(t, targetOptions{build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Git("config", "core.compression", "0")
		repo.Commit("main", gittest.Regular("large", gittest.Noise(size)))
	}})
	var wire atomic.Int64
	dialer := &net.Dialer{}
	s.client.Transport = &http.Transport{DisableCompression: true, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			return countedConn{conn, &wire}, err
		}}
	s.client.Timeout = 5 * gittest.Patience
	sum := sha256.New()
	response := s.readBinary(t, "repo://repo/contents/large")
	_, parameters, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	parts := multipart.NewReader(response.Body, parameters["boundary"])
	message, err := parts.NextRawPart()
	if err != nil {
		t.Fatal(err)
	}
	var reply readReply
	if err := json.NewDecoder(message).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	content, err := parts.NextRawPart()
	if err != nil {
		t.Fatal(err)
	}
	received, err := io.Copy(sum, content)
	if declared := reply.Result.Contents[0].BinaryRef; err != nil || received != size || declared.Size != size ||
		declared.Checksum != hex.EncodeToString(sum.Sum(nil)) {
		t.Errorf("%d bytes, %v; %v was declared", received, err, declared)
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		t.Error(err)
	}
	overhead := wire.Load() - size
	t.Logf("%d bytes beside %d, %.4f %%", overhead, int64(size), float64(overhead)/size*100)
	if overhead <= 0 || overhead > size/1000 {
		t.Errorf("%d bytes came over the wire for %d", wire.Load(), int64(size))
	}
	before := gittest.LiveHeap()
	for range streams {
		begin(t, s.readBinary(t, "repo://repo/contents/large")) // and reads no more
	}
	if grown := gittest.LiveHeap() - before; grown > streams*perStream {
		t.Errorf("%d streams hold %d KiB, want at most %d each", streams, grown>>10, perStream>>10)
	} else {
		t.Logf("%d KiB for each of %d streams", grown>>10/streams, streams)
	}
}

// A parser that nobody here has written.
func TestPythonReadsParts(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	s, repo := serveCopy(t, pictured)
	client := s.receiver(sessionVersion, supported)
	const program = `import email, email.policy, hashlib, json, sys
raw = b"Content-Type: " + sys.argv[1].encode() + b"\r\n\r\n" + sys.stdin.buffer.read()
parts = list(email.message_from_bytes(raw, policy=email.policy.HTTP).iter_parts())
message, content = parts[0], parts[1].get_payload(decode=True)
print(json.dumps({
    "parts": len(parts), "ref": json.loads(message.get_payload(decode=True))["result"]["contents"][0]["binaryRef"],
    "id": parts[1]["Content-ID"], "size": len(content), "sum": hashlib.sha256(content).hexdigest(),
    "end": json.loads(parts[2].get_payload(decode=True)) if len(parts) > 2 else None,
}))`
	for uri, want := range map[string]int{
		"repo://repo/contents/dot.png": len(pngBytes), "repo://repo/contents/mail": len(gitBlob(t, repo, "mail")),
		"repo://repo/contents/empty": 0,
		"repo://repo/contents/large": 5 << 20, "repo://repo/archive/main.tar.gz": -1,
	} {
		response := client.read(uri)
		command := exec.CommandContext(t.Context(), python, "-c", program, response.Header.Get("Content-Type"))
		command.Stdin, command.Stderr = response.Body, os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatal(uri, err)
		}
		var got struct {
			Parts, Size int
			Ref         ref
			ID, Sum     string
			End         *ref
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(uri, err)
		}
		told := got.Ref
		if want < 0 {
			if got.End == nil || told.Size != -1 || got.Parts != 3 {
				t.Fatalf("%s: %s", uri, out)
			}
			told, want = *got.End, int(got.End.Size)
		}
		if got.Size != want || int(told.Size) != want || told.Checksum != got.Sum || got.ID != "<"+got.Ref.StreamID+
			">" {
			t.Errorf("%s: %s", uri, out)
		}
	}
}
