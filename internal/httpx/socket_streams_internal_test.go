package httpx

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/coder/websocket"

	streams "github.com/repomcp/repomcp/internal/mcp/binary"
)

// idOf makes ids that are always the same.
func idOf(n byte) streams.StreamID {
	return streams.StreamID{0xd5, 0x0e, n, 0, 0xe2, 0x9b, 0x41, 0xd4, 0xa7, 0x16}
}

func unsent(context.Context, []byte) error { return nil }

// FuzzReceive gives a connection with streams that run, have ended and never were
// whatever messages a client may send: divided at each byte that says how long the
// next one is.
func FuzzReceive(f *testing.F) {
	message := func(frame streams.Frame) []byte {
		raw := frame.Append(nil)
		return append([]byte{byte(len(raw))}, raw...)
	}
	credit, cancel := streams.CreditFrame(idOf(1), 0, 5), streams.Frame{Stream: idOf(2), Kind: streams.KindCancel}
	f.Add(append(message(credit), message(cancel)...))
	f.Add(append(message(streams.CreditFrame(idOf(3), 7, 1<<62)), message(streams.CreditFrame(idOf(4), 0, 1))...))
	f.Add(append(append(message(credit), message(streams.CreditFrame(idOf(1), 1, 1<<63-1))...),
		message(streams.CreditFrame(idOf(1), 2, 1<<63-1))...))
	f.Add(message(streams.AbortFrame(idOf(1), 0, "oh")))
	f.Add([]byte{0, 3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, input []byte) {
		s := newSocketStreams(time.Second, unsent)
		cancelled := map[streams.StreamID]int{}
		running := map[streams.StreamID]*socketStream{}
		for n := range byte(4) {
			stream := s.open(idOf(n), func(error) { cancelled[idOf(n)]++ })
			running[idOf(n)] = stream
		}
		running[idOf(3)].Close()
		delete(running, idOf(3))
		credit := map[streams.StreamID]int64{}
		for len(input) > 0 {
			length := min(int(input[0]), len(input)-1)
			raw := input[1 : 1+length]
			input = input[1+length:]
			err := s.receive(raw)
			var b *breach
			if err != nil {
				if !errors.As(err, &b) || b.status != websocket.StatusProtocolError &&
					b.status != websocket.StatusPolicyViolation || b.reason == "" || len(b.reason) > 123 {
					t.Fatalf("%x: %v", raw, err)
				}
				break // the connection is closed
			}
			id := streams.StreamID(raw[:streams.StreamIDBytes])
			if running[id] == nil && id != idOf(3) {
				t.Fatalf("%x is of a stream that never was", raw)
			}
			if raw[streams.StreamIDBytes] == byte(streams.KindCredit) {
				credit[id] += int64(min(binary.BigEndian.Uint64(raw[streams.FrameHeaderBytes:]),
					1<<63-1-uint64(credit[id])))
			} else if running[id] != nil && cancelled[id] == 0 {
				t.Fatalf("%x cancelled nothing", raw)
			}
		}
		for id, stream := range running {
			if stream.credit < streamWindow || stream.credit > streamWindow && credit[id] == 0 || credit[id] < 1<<62 &&
				stream.credit != streamWindow+credit[id] {
				t.Errorf("a credit of %d became %d", credit[id], stream.credit)
			}
		}
	})
}

func TestEndedStreamsAreForgottenAtLast(t *testing.T) {
	s := newSocketStreams(time.Second, unsent)
	id := func(n int) streams.StreamID {
		id := idOf(byte(n))
		id[3] = byte(n >> 8)
		return id
	}
	const all = endedStreams + 10
	for n := range all {
		s.open(id(n), func(error) {}).Close()
	}
	for n := range all {
		known := s.receive(streams.CreditFrame(id(n), 5, 1).Append(nil)) == nil
		if known != (n >= all-endedStreams) {
			t.Errorf("stream %d of %d: known %v", n, all, known)
		}
	}
	if len(s.running) > 0 || len(s.ended) != endedStreams {
		t.Errorf("%d run, %d are remembered", len(s.running), len(s.ended))
	}
}

func TestControlFramesAreCountedByTime(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for name, c := range map[string]struct {
		every time.Duration
		count int
		most  int // that are allowed; 0: all
	}{
		"at once": {0, 200, controlBurst}, "ten in a second": {100 * time.Millisecond, 10_000, 0},
		"twelve in a second": {83 * time.Millisecond, 10_000, 600},
	} {
		var control controlFrames
		allowed, firsts := 0, 0
		for i := range c.count {
			ok, first := control.take(now.Add(time.Duration(i) * c.every))
			if ok {
				allowed++
			}
			if first {
				firsts++
			}
		}
		if c.most == 0 && (allowed != c.count || firsts != 0) || c.most > 0 &&
			(allowed > c.most || allowed < controlBurst/2 || firsts != 1) {
			t.Errorf("%s: %d of %d, %d times the first", name, allowed, c.count, firsts)
		}
	}
}
