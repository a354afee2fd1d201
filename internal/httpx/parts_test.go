package httpx_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os/exec"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

const acceptParts = acceptBoth + ", multipart/mixed"

// supported is the capability of a client that takes any number of bytes.
var supported = map[string]any{"supported": true}

// extended are the capabilities of a client that knows the server's extension of binary transfer.
func extended(capability any) map[string]any {
	return map[string]any{"extensions": map[string]any{"io.github.repomcp/binary-transfer": capability}}
}

// receiver is a client of one era that declares binary transfer.
type receiver struct {
	s            *site
	version      string
	capabilities map[string]any
	session      http.Header
}

func (s *site) receiver(version string, capability any) *receiver {
	s.t.Helper()
	return s.declaring(version, extended(capability))
}

func (s *site) declaring(version string, capabilities map[string]any) *receiver {
	s.t.Helper()
	r := &receiver{s: s, version: version, capabilities: capabilities}
	if version != modernVersion {
		response := s.post(nil, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize",
			"params": map[string]any{
				"protocolVersion": version, "clientInfo": map[string]any{"name": "test", "version": "1"},
				"capabilities": capabilities,
			}})
		if body := text(s.t, response); response.StatusCode != http.StatusOK {
			s.t.Fatal(describe(response, body))
		}
		r.session = http.Header{"Mcp-Session-Id": {response.Header.Get("Mcp-Session-Id")},
			"Mcp-Protocol-Version": {version}}
	}
	return r
}

// ask sends a request; accept is what of replies it admits.
func (r *receiver) ask(accept, method string, params map[string]any) *http.Response {
	r.s.t.Helper()
	params, header := maps.Clone(params), http.Header{"Accept": {accept}}
	maps.Copy(header, r.session)
	if r.version == modernVersion {
		params["_meta"] = map[string]any{metaVersion: modernVersion, metaCapabilities: r.capabilities}
		maps.Copy(header, http.Header{"Mcp-Protocol-Version": {modernVersion}, "Mcp-Method": {method}})
		for _, name := range []string{"uri", "name"} {
			if value, ok := params[name].(string); ok {
				header["Mcp-Name"] = []string{value}
			}
		}
	}
	return r.s.post(header, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

// read asks for a resource as bytes.
func (r *receiver) read(uri string) *http.Response {
	r.s.t.Helper()
	return r.ask(acceptParts, methodRead, map[string]any{"uri": uri, "transferMode": "binary"})
}

// part is one of a reply, as a reader sees it that knows nothing of streams.
type part struct {
	header textproto.MIMEHeader
	body   []byte
}

// plainParts reads a reply with a library's parser. The error is that of the body.
func plainParts(response *http.Response) (parts []part, err error) {
	mediaType, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/mixed" {
		return nil, fmt.Errorf("the reply is %s: %w", mediaType, err)
	}
	reader := multipart.NewReader(response.Body, parameters["boundary"])
	for {
		p, err := reader.NextRawPart()
		if err == io.EOF { //nolint:errorlint // wrapped it would be no end
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		body, err := io.ReadAll(p)
		parts = append(parts, part{p.Header, body})
		if err != nil {
			return parts, err
		}
	}
}

// ref is a binaryRef.
type ref struct {
	StreamID string `json:"streamId"`
	Size     int64  `json:"size"`
	Checksum string `json:"checksum"`
}

// describes reports whether a ref says what the bytes are.
func (r ref) describes(content []byte) bool {
	sum := sha256.Sum256(content)
	return r.Size == int64(len(content)) && r.Checksum == hex.EncodeToString(sum[:])
}

// received takes the parts of a reply with one stream apart.
func received(t *testing.T, response *http.Response) (message string, stream part, end *ref) {
	t.Helper()
	parts, err := plainParts(response)
	if err != nil || len(parts) < 2 || len(parts) > 3 || parts[0].header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v: %d parts, %v", response.StatusCode, response.Header, len(parts), err)
	}
	if len(parts) == 3 {
		end = &ref{}
		if err := json.Unmarshal(parts[2].body, end); err != nil || parts[2].header.Get("Content-ID") != "<"+
			end.StreamID+".end>" || parts[2].header.Get("Content-Type") != "application/json" {
			t.Fatalf("the end is %v %s", parts[2].header, parts[2].body)
		}
	}
	return string(parts[0].body), parts[1], end
}

// readReply is a reply to resources/read.
type readReply struct {
	ID     int `json:"id"`
	Result struct {
		ResultType string `json:"resultType"`
		Contents   []struct {
			URI       string         `json:"uri"`
			MIMEType  string         `json:"mimeType"`
			Text      *string        `json:"text"`
			Blob      *string        `json:"blob"`
			BinaryRef ref            `json:"binaryRef"`
			Meta      map[string]any `json:"_meta"`
		} `json:"contents"`
	} `json:"result"`
}

// pngBytes begin a picture, with what a transfer as text would change.
const pngBytes = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"

// pictured is a mirror with files that a reply must carry as they are.
var pictured = mirrorOf(pictures)

func pictures() []gittest.File {
	return []gittest.File{
		gittest.Regular("dot.png", pngBytes), gittest.Regular("empty", ""),
		gittest.Regular("large", gittest.Noise(5<<20)), gittest.Regular("text.md", "# é\n"),
		gittest.Regular("mail", "\r\n--\r\n--boundary--\r\nContent-Type: application/json\r\n\r\n{}\r\n"),
		gittest.Regular("data.json", `{"jsonrpc":"2.0","id":1,"result":{}}`),
		gittest.Regular("program", "\x7fELF\x02\x01\x01\x00\x00"), gittest.Regular("sound.wav",
			"RIFF\x24\x00\x00\x00WAVEfmt "), gittest.Symlink("link", "dot.png"),
	}
}

func TestResourcesComeAsBytes(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, repo := serveCopy(t, pictured)
	raw := func(path string) func() []byte {
		return func() []byte { return []byte(gitBlob(t, repo, path)) }
	}
	listed := func(uri string) func() []byte {
		return func() []byte {
			var plain readReply
			if err := json.Unmarshal([]byte(text(t, s.modern(methodRead, map[string]any{"uri": uri}))),
				&plain); err != nil || plain.Result.Contents[0].Text == nil {
				t.Fatal(uri, err)
			}
			return []byte(*plain.Result.Contents[0].Text)
		}
	}
	tar := func() []byte { return repo.Archive("--format=tar", "main") }
	type know int
	const (
		all know = iota
		size
		nothing
	)
	cases := []struct {
		uri, mimeType string
		want          func() []byte
		known         know
	}{
		{"repo://repo/contents/dot.png", "image/png", raw("dot.png"), all},
		{"repo://repo/contents/empty", "text/plain; charset=utf-8", raw("empty"), all},
		{"repo://repo/contents/large", "application/octet-stream", raw("large"), all},
		{"repo://repo/contents/text.md", "text/markdown; charset=utf-8", raw("text.md"), all},
		{"repo://repo/contents/mail", "text/plain; charset=utf-8", raw("mail"), all},
		{"repo://repo/contents/data.json", "application/json", raw("data.json"), all},
		{"repo://repo/contents/link", "inode/symlink", raw("link"), all},
		{"repo://repo/contents", "application/json", listed("repo://repo/contents"), all},
		{"repo://repo/refs", "application/json", listed("repo://repo/refs"), all},
		{"repo://repo", "application/json", listed("repo://repo"), all},
		{"repo://", "application/json", listed("repo://"), all},
		{"repo://repo/archive/main.tar", "application/x-tar", tar, size}, {"repo://repo/archive/main.tar", "application/x-tar", tar, all}, // it was made once
		{"repo://repo/archive/main.tar.gz", "application/gzip", nil, nothing},
		{"repo://repo/archive/main.tar.gz", "application/gzip", nil, all},
	}
	compared := 0
	for _, version := range eras {
		if version == modernVersion {
			repo.Commit("main", append(pictures(), gittest.Regular("other", "x"))...) // other archives
		}
		client := s.receiver(version, supported)
		for _, c := range cases {
			response := client.read(c.uri)
			message, stream, end := received(t, response)
			var reply readReply
			if err := json.Unmarshal([]byte(message), &reply); err != nil || reply.ID != 1 ||
				len(reply.Result.Contents) != 1 {
				t.Fatalf("%s: %s, %v", c.uri, message, err)
			}
			content := reply.Result.Contents[0]
			declared := content.BinaryRef
			if content.URI != c.uri || content.MIMEType != c.mimeType || content.Text != nil || content.Blob != nil ||
				(reply.Result.ResultType == "complete") != (version == modernVersion) {
				t.Errorf("%s in %s: %s", c.uri, version, message)
			}
			if stream.header.Get("Content-Type") != c.mimeType || stream.header.Get("Content-ID") != "<"+
				declared.StreamID+">" {
				t.Errorf("%s: the part of %s has %v", c.uri, declared.StreamID, stream.header)
			}
			want := stream.body
			if c.want != nil {
				want = c.want()
			} else if n := gittest.DiffTar(t, tarOf(t, bytes.NewReader(stream.body)), gittest.ReadTar(t,
				bytes.NewReader(tar()))); n < 5 {
				t.Errorf("%s: %d entries", c.uri, n)
			}
			if !bytes.Equal(stream.body, want) {
				t.Errorf("%s in %s: %d bytes, want %d", c.uri, version, len(stream.body), len(want))
			}
			length := stream.header.Get("Content-Length")
			switch sized := length == fmt.Sprint(len(want)) && declared.Size == int64(len(want)); c.known {
			case all:
				if !sized || !declared.describes(want) || end != nil {
					t.Errorf("%s: %s, Content-Length %q, end %v", c.uri, message, length, end)
				}
			case size:
				if !sized || declared.Checksum != "" || end == nil || end.StreamID != declared.StreamID ||
					!end.describes(want) {
					t.Errorf("%s: %s, Content-Length %q, end %v", c.uri, message, length, end)
				}
			case nothing:
				if length != "" || declared.Size != -1 || declared.Checksum != "" || end == nil ||
					end.StreamID != declared.StreamID || !end.describes(want) {
					t.Errorf("%s: %s, Content-Length %q, end %v", c.uri, message, length, end)
				}
			}
			if response.StatusCode != http.StatusOK || response.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %s", c.uri, describe(response, message))
			}
			compared++
		}
	}
	if compared != len(eras)*len(cases) {
		t.Errorf("%d replies were compared", compared)
	}
}

// gitBlob is a file as git has it.
func gitBlob(t *testing.T, repo *gittest.Repo, path string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "cat-file", "blob", "main:"+path)
	command.Dir, command.Env = repo.Dir, gittest.Env()
	content, err := command.Output()
	if err != nil {
		t.Fatal(path, err)
	}
	return string(content)
}

// callReply is a reply to tools/call.
type callReply struct {
	Result struct {
		Content []struct {
			Type         string         `json:"type"`
			Text         string         `json:"text"`
			Data         *string        `json:"data"`
			TransferMode string         `json:"transferMode"`
			MIMEType     string         `json:"mimeType"`
			BinaryRef    *ref           `json:"binaryRef"`
			URI          string         `json:"uri"`
			Meta         map[string]any `json:"_meta"`
			Resource     struct {
				URI       string `json:"uri"`
				MIMEType  string `json:"mimeType"`
				BinaryRef *ref   `json:"binaryRef"`
			} `json:"resource"`
		} `json:"content"`
	} `json:"result"`
}

func TestToolsGiveBytes(t *testing.T) {
	t.Parallel()
	s, repo := serveCopy(t, pictured)
	head := repo.Git("rev-parse", "main")
	for _, version := range eras {
		client := s.receiver(version, supported)
		call := func(client *receiver, path string) *http.Response {
			return client.ask(acceptParts, "tools/call", map[string]any{
				"name": "get_file_contents", "arguments": map[string]any{"repo": "repo", "path": path},
				"transferMode": "binary",
			})
		}
		for path, kind := range map[string]string{"dot.png": "image", "sound.wav": "audio", "program": "resource",
			"large": "resource"} {
			message, stream, end := received(t, call(client, path))
			var reply callReply
			if err := json.Unmarshal([]byte(message), &reply); err != nil || len(reply.Result.Content) != 2 {
				t.Fatal(message, err)
			}
			notes, block := reply.Result.Content[0], reply.Result.Content[1]
			declared, mimeType := block.BinaryRef, block.MIMEType
			if kind == "resource" {
				declared, mimeType = block.Resource.BinaryRef, block.Resource.MIMEType
				if want := "repo://repo/sha/" + head + "/contents/" + path; block.Resource.URI != want ||
					block.BinaryRef != nil {
					t.Errorf("%s: %s, want %s", path, message, want)
				}
			}
			if block.Type != kind || block.TransferMode != "binary" || block.Data != nil || declared == nil ||
				block.Meta["io.github.repomcp/origin"] != "repository" {
				t.Fatalf("%s in %s: %s", path, version, message)
			}
			if mimeType != stream.header.Get("Content-Type") || "<"+declared.StreamID+
				">" != stream.header.Get("Content-ID") || end != nil ||
				!declared.describes([]byte(gitBlob(t, repo, path))) ||
				!declared.describes(stream.body) || !strings.Contains(notes.Text, declared.StreamID) {
				t.Errorf("%s in %s: %s and %v", path, version, message, stream.header)
			}
		}
		// A text is shown, and what is no file has nothing that could follow.
		for _, path := range []string{"text.md", "", "missing", "link"} {
			response := call(client, path)
			if got := text(t, response); response.Header.Get("Content-Type") != "application/json" ||
				strings.Contains(got, "binaryRef") {
				t.Errorf("%q in %s: %s", path, version, describe(response, got))
			}
		}
		// What the client does not take is linked, as without binary transfer.
		response := call(s.receiver(version, map[string]any{"supported": true, "maxBinarySize": 100}), "large")
		if got := text(t, response); response.Header.Get("Content-Type") != "application/json" ||
			!strings.Contains(got, `"resource_link"`) || !strings.Contains(got, "maxBinarySize") {
			t.Errorf("%s: %s", version, describe(response, got))
		}
	}
}
