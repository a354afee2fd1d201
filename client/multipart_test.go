package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// servedReply is a reply of parts, as a server that keeps to the rules writes it.
func servedReply(t testing.TB, id json.RawMessage, content []byte, known bool) (kind string, raw []byte,
	ref binary.Ref) {
	var b bytes.Buffer
	w := binary.NewReplyWriter(&b)
	ref = refOf(content)
	declared := ref
	if !known {
		declared = unknown(ref)
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"result": map[string]any{"contents": []any{map[string]any{"uri": "repo://x", "mimeType": "application/x-test",
			"binaryRef": declared}}}})
	if err == nil {
		err = w.Message(message)
	}
	if err == nil {
		var part io.Writer
		if part, err = w.Stream(declared, "application/x-test"); err == nil {
			_, err = part.Write(content)
		}
	}
	if err == nil && !known {
		err = w.End(ref)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.ContentType(), b.Bytes(), ref
}

// partsOf serves what change makes of such a reply.
func partsOf(t testing.TB, content []byte, known bool, change func(raw []byte, ref binary.Ref) []byte) *client.Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request asked
		_ = json.NewDecoder(r.Body).Decode(&request)
		if !strings.Contains(r.Header.Get("Accept"), "multipart/mixed") || request.Params.TransferMode != "binary" {
			t.Errorf("asked for with Accept %q and the mode %q", r.Header.Get("Accept"), request.Params.TransferMode)
		}
		kind, raw, ref := servedReply(t, request.ID, content, known)
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(change(raw, ref)) // the client may have left
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/mcp", client.Options{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFetchReadsPartsOfReplies(t *testing.T) {
	same := func(raw []byte, _ binary.Ref) []byte { return raw }
	for _, known := range []bool{true, false} {
		for _, content := range [][]byte{nil, []byte("abc"), noise, []byte("\r\n--boundary--\r\n")} {
			if got, err := fetch(t, partsOf(t, content, known, same), "repo://x"); err != nil ||
				!bytes.Equal(got, content) {
				t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
			}
		}
	}
	text := func(old, changed string) func([]byte, binary.Ref) []byte {
		return func(raw []byte, _ binary.Ref) []byte { return bytes.ReplaceAll(raw, []byte(old), []byte(changed)) }
	}
	cut := func(n int) func([]byte, binary.Ref) []byte {
		return func(raw []byte, _ binary.Ref) []byte { return raw[:len(raw)-n] }
	}
	for name, fault := range map[string]struct {
		known  bool
		want   error
		change func(raw []byte, ref binary.Ref) []byte
	}{
		"bytes changed":        {true, client.ErrDigest, text("letters", "Letters")},
		"bytes changed behind": {false, client.ErrDigest, text("letters", "Letters")},
		"shorter":              {true, client.ErrLength, text("letters", "letter")},
		"longer":               {true, client.ErrLength, text("letters", "letters.")},
		"longer behind":        {false, client.ErrLength, text("letters", "letters.")},
		"another id in the part": {true, client.ErrDamaged, func(raw []byte, ref binary.Ref) []byte {
			return bytes.Replace(raw, []byte("<"+ref.Stream.String()), []byte("<"+binary.NewStreamID().String()), 1)
		}},
		"no closing part":          {false, client.ErrDamaged, text(".end>", ">")},
		"another length":           {true, client.ErrDamaged, text("Content-Length: 11", "Content-Length: 12")},
		"cut before the boundary":  {true, client.ErrNotResumed, cut(80)},
		"cut in the last boundary": {true, client.ErrNotResumed, cut(3)},
		"no message":               {true, client.ErrDamaged, text("application/json", "text/plain")},
		"another answer":           {true, client.ErrDamaged, text(`"id":`, `"id":7`)},
		"an id that is none":       {true, client.ErrDamaged, text(`"streamId":"`, `"streamId":"x`)},
	} {
		content := []byte("the letters")
		c := partsOf(t, content, fault.known, fault.change)
		got, err := fetch(t, c, "repo://x")
		if errors.Is(fault.want, client.ErrNotResumed) && isAny(err, client.ErrNetwork, client.ErrDamaged) {
			continue // what is cut off may also look like other bytes
		}
		if !errors.Is(err, fault.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// FuzzParts gives the client a reply that was changed somewhere. It ends with an
// error or with the bytes.
func FuzzParts(f *testing.F) {
	f.Add([]byte("content"), uint16(0), []byte(nil), true)
	f.Add([]byte("content"), uint16(300), []byte("x"), false)
	f.Fuzz(func(t *testing.T, content []byte, at uint16, replaced []byte, known bool) {
		c := partsOf(t, content, known, func(raw []byte, _ binary.Ref) []byte {
			changed, from := bytes.Clone(raw), int(at)%len(raw)
			copy(changed[from:], replaced)
			return changed
		})
		if got, err := fetch(t, c, "repo://x"); err == nil && !bytes.Equal(got, content) {
			t.Errorf("%q was taken for %q", got, content)
		}
	})
}

// FuzzPieces gives the client hostile bytes behind an answer, as a frame, and on a
// pipe. Nothing but the whole content ends well.
func FuzzPieces(f *testing.F) {
	id := binary.NewStreamID()
	ref := refWith(id, []byte("abc"))
	f.Add([]byte(nil), uint8(0))
	f.Add(binary.Chunk{Stream: id, Data: []byte("abc")}.Append(nil), uint8(0))
	f.Add(binary.Chunk{Stream: id, Aborted: true}.Append(nil), uint8(7))
	f.Add(binary.EndFrame(ref, 0).Append(nil), uint8(1))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/binary/end","params":{}}`+"\n"), uint8(2))
	f.Fuzz(func(t *testing.T, raw []byte, split uint8) {
		for _, mode := range modes {
			c := connectPeer(t, mode, client.Options{Retries: -1}, func(p *peer, r asked) {
				p.refer(r, ref)
				half := min(int(split), len(raw))
				for _, piece := range [][]byte{raw[:half], raw[half:]} {
					if len(piece) > 0 || mode == binary.ModeFrames {
						_ = p.send(true, piece) // clients may be gone
					}
				}
				p.cut()
			})
			got, err := fetch(t, c, "fuzz://")
			if err == nil && string(got) != "abc" {
				t.Errorf("%s: %q was taken", mode, got)
			}
			_ = c.Close()
		}
	})
}
