package mcp

import (
	"encoding/base64"
	"encoding/json"
	"strings"
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

// FuzzEventID: an id that is accepted means the same when it is written again, fits a header, and has what it was made
// of.
func FuzzEventID(f *testing.F) {
	for _, text := range []string{"", "7", "-1", "7.", "7.x", "7.cmVwbzovL3IK", "9223372036854775808", "1 .", "../../x",
		"7." + strings.Repeat("YQo", 1<<10), "7." + strings.Repeat("YQo", 1<<11)} {
		f.Add(text, int64(1), "repo://r/refs/heads/main", "a\nb")
	}
	f.Add("", int64(-1), strings.Repeat("x", 3<<10), strings.Repeat("y", 3<<10-1))
	f.Fuzz(func(t *testing.T, text string, number int64, first, second string) {
		made := eventID{number, []string{first + "x", second + "x"}} // no URI is empty
		for _, id := range []eventID{parseEventID(text), made} {
			again := id.String()
			if len(again) > 5<<10 || strings.Trim(again, "0123456789-.ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") != "" {
				t.Fatalf("%.100q is the id of %.100q", again, text)
			}
			if read := parseEventID(again); read.number != id.number || read.String() != again {
				t.Fatalf("%.100q of %.100q is read as %v", again, text, read)
			}
		}
		fits := len(made.watched[0]) < maxWatchedBytes && !strings.Contains(first, "\n")
		if read := parseEventID(made.String()); fits && read.watched[0] != made.watched[0] {
			t.Fatalf("%.100q is lost", first)
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
