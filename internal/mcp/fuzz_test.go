package mcp

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// FuzzSession: no text but one that was signed is a session id, and what was signed
// is one only while it lives.
func FuzzSession(f *testing.F) {
	sessions := NewSessions([]byte("a key of more than thirty-two bytes, for tests"))
	sessions.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	// Mint would sign another one in each process that fuzzes.
	payload := base64.RawURLEncoding.EncodeToString([]byte(`{"n":"once","t":1800000000}`))
	minted := payload + "." + sessions.sign(payload, "token:ci")
	f.Add(minted, []byte(`{"t":1800000000}`))
	f.Add(minted[:len(minted)-1], []byte(`{"t":1}`))
	f.Add(minted+"\n", []byte(`{"t":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, id string, content []byte) {
		if _, err := sessions.Parse(id, "token:ci"); (err == nil) != (id == minted) {
			t.Fatalf("%q: %v", id, err)
		}
		payload := base64.RawURLEncoding.EncodeToString(content)
		claims, err := sessions.Parse(payload+"."+sessions.sign(payload, "token:ci"), "token:ci")
		if err != nil {
			return
		}
		if age := sessions.now().Sub(time.Unix(claims.Issued, 0)); !json.Valid(content) || age > sessionLife ||
			age < -time.Hour {
			t.Fatalf("%q is a session of %v", content, age)
		}
	})
}

// FuzzListCursor: a cursor that is accepted is the one that the server writes.
func FuzzListCursor(f *testing.F) {
	f.Add(string(cursorAfter("group/lib")))
	f.Add(base64.StdEncoding.EncodeToString([]byte(cursorPrefix + "../etc")))
	f.Fuzz(func(t *testing.T, text string) {
		if after, ok := parseCursor(mcp.Cursor(text)); ok && text != "" && string(cursorAfter(after)) != text {
			t.Fatalf("%q is a cursor after %q", text, after)
		}
	})
}

// FuzzCapabilities: a limit that cannot be read is never taken for none, and only an
// object declares anything.
func FuzzCapabilities(f *testing.F) {
	f.Add(
		[]byte(
			`{"resources":{},"streaming":{"maxStreamSize":5},"experimental":{"binaryTransfer":{"supported":true,"maxBinarySize":1e3}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		stream, binary := parseStreamCapability(raw), parseBinaryCapability(raw)
		for _, c := range []struct {
			declared, bad bool
			size          int64
		}{{stream.Declared, stream.BadSize, stream.MaxSize}, {binary.Declared, binary.BadSize, binary.MaxSize}} {
			if c.size < 0 || c.bad && c.size != 0 || (c.bad || c.size != 0) && !c.declared || c.declared &&
				object(raw) == nil {
				t.Fatalf("%s: %+v", raw, c)
			}
		}
		if p := readParams(raw); len(p.members) > 0 && !json.Valid(raw) {
			t.Fatalf("%q has members", raw)
		}
	})
}
