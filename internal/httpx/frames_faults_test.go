package httpx_test

import (
	"context"
	wire "encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/httpx"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

func TestBadFramesCloseTheirConnection(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	bystander := receive(t, s.url, modernVersion, supported)
	bystander.grants = false
	kept := bystander.begin(1, "repo://repo/contents/large")
	header := func(kind byte, sequence uint32) string {
		return string(wire.BigEndian.AppendUint32([]byte{kind}, sequence))
	}
	after := func(kind byte, sequence uint32, rest string) func(id string) string {
		return func(id string) string { return id + header(kind, sequence) + rest }
	}
	credit := string(wire.BigEndian.AppendUint64(nil, 1<<20))
	unknown := binary.NewStreamID()
	const malformed, others = "malformed", "credit and cancel frames alone"
	for name, c := range map[string]struct {
		frame  func(id string) string
		reason string
	}{
		"nothing":               {func(string) string { return "" }, malformed},
		"a message":             {func(string) string { return rpc(modernVersion, 1, "ping", nil) }, malformed},
		"cut in its id":         {func(id string) string { return id[:9] }, malformed},
		"cut in its credit":     {after(4, 0, credit[:7]), malformed},
		"a credit of nothing":   {after(4, 0, strings.Repeat("\x00", 8)), malformed},
		"a credit below zero":   {after(4, 0, strings.Repeat("\xff", 8)), malformed},
		"a cancel with words":   {after(8, 0, "why"), malformed},
		"flags that nobody has": {after(12, 0, credit), malformed},
		"too long":              {after(0, 0, strings.Repeat("x", 32<<10+1)), malformed},
		"half a megabyte":       {after(0, 0, strings.Repeat("x", 1<<19)), malformed},
		"data":                  {after(0, 0, "x"), others},
		"an end":                {after(1, 0, strings.Repeat("\x00", 40)), others},
		"an abort":              {after(2, 0, "oh"), others},
		"a number left out":     {after(4, 1, credit), "number 1 instead of 0"},
		"an unknown stream":     {func(string) string { return string(unknown[:]) + header(4, 0) + credit }, "never had"},
		"the stream of another": {func(string) string { return string(kept.id[:]) + header(8, 0) }, "never had"},
	} {
		r := receive(t, s.url, modernVersion, supported)
		r.grants = false
		stream := r.begin(1, "repo://repo/contents/large")
		r.write([]byte(c.frame(string(stream.id[:]))))
		status, reason := r.refused()
		if status != websocket.StatusProtocolError || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %d %q, want %q", name, status, reason, c.reason)
		}
		if stream.over() {
			t.Errorf("%s: the stream ended: %+v", name, stream)
		}
	}
	// Before the first stream they have no meaning at all.
	r := receive(t, s.url, modernVersion, supported)
	r.write(binary.CreditFrame(binary.NewStreamID(), 0, 1).Append(nil))
	if status, reason := r.refused(); status != websocket.StatusUnsupportedData ||
		!strings.Contains(reason, "text frames") {
		t.Errorf("before the first stream: %d %q", status, reason)
	}
	// Nothing is lost elsewhere.
	bystander.grant(kept, bulk)
	if bystander.whole(kept); kept.end.Size != bulk {
		t.Errorf("%+v", kept.end)
	}
}

// What was on its way when a stream ended is passed over.
func TestLateFramesArePassedOver(t *testing.T) {
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	r := receive(t, s.url, modernVersion, supported)
	for id := range 40 {
		stream := r.whole(r.begin(id, "repo://repo/contents/a"))
		r.grant(stream, window)
		r.grant(stream, window)
		r.cancel(stream)
	}
	r.answers(100)
}

func TestFloodsCloseTheirConnection(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	s, _ := serveCopy(t, bulky)
	for name, flood := range map[string]func(r *receiving, s *inbound, i int) error{
		"credit byte by byte": func(r *receiving, s *inbound, i int) error {
			return r.conn.Write(t.Context(), websocket.MessageBinary,
				binary.CreditFrame(s.id, uint32(i), 1).Append(nil))
		},
		"cancelling": func(r *receiving, s *inbound, i int) error {
			return r.conn.Write(t.Context(), websocket.MessageBinary,
				binary.Frame{Stream: s.id, Kind: binary.KindCancel, Sequence: uint32(i)}.Append(nil))
		},
	} {
		r := receive(t, s.url, modernVersion, supported)
		r.grants = false
		stream := r.begin(1, "repo://repo/contents/large")
		r.until(func() bool { return stream.tally.Size() == window })
		for i := range 2000 {
			if flood(r, stream, i) != nil {
				break
			}
			stream.credit++
		}
		if status, reason := r.refused(); status != websocket.StatusPolicyViolation ||
			!strings.Contains(reason, "Grant more bytes at once") {
			t.Errorf("%s: %d %q", name, status, reason)
		}
	}
	// One that is within the bounds: a grant for each KiB.
	r := receive(t, s.url, modernVersion, supported)
	r.grants = false
	stream := r.begin(1, "repo://repo/contents/large")
	for granted := int64(window); granted < bulk; granted += 1 << 10 {
		r.until(func() bool { return stream.tally.Size() >= granted-window/2 })
		r.grant(stream, 1<<10)
	}
	if r.whole(stream); stream.end.Size != bulk {
		t.Errorf("%+v", stream.end)
	}
}

// A client that grants nothing for long loses the stream, and nothing else.
func TestStreamWithoutCreditIsAborted(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{WriteTimeout: 200 * time.Millisecond}, build: copyBulky(t)})
	r := receive(t, s.url, modernVersion, supported)
	r.grants = false
	stream := r.begin(1, "repo://repo/contents/large")
	r.until(stream.over)
	if stream.end != nil || stream.tally.Size() != window ||
		!strings.Contains(stream.aborted, "No credit came for 200ms") {
		t.Errorf("%d bytes, then %q", stream.tally.Size(), stream.aborted)
	}
	r.answers(2)
}

// One that takes nothing at all is dropped, whatever it has granted.
func TestClientThatTakesNoFramesIsDropped(t *testing.T) {
	t.Parallel()
	s := newTarget(t, targetOptions{http: httpx.Options{WriteTimeout: 100 * time.Millisecond, Sockets: 1},
		build: copyBulky(t)})
	r := receive(t, s.url, modernVersion, supported)
	stream := r.begin(1, "repo://repo/contents/large")
	r.grant(stream, bulk)
	awaitPlace(t, s.url)
}

// A drain lets a stream finish, which needs credit meanwhile, and cuts it off visibly
// at its end.
func TestDrainLetsStreamsFinish(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	for name, patience := range map[string]time.Duration{"in time": gittest.Patience, "too late": 50 * time.Millisecond} {
		s := newTarget(t, targetOptions{build: copyBulky(t)})
		r := receive(t, s.url, modernVersion, supported)
		r.grants = name == "in time"
		r.grants = false
		another := r.begin(2, "repo://repo/contents/large")
		r.until(func() bool { return another.tally.Size() == window })
		r.grants = name == "in time"
		stream := r.begin(1, "repo://repo/contents/large")
		drain, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.server.Shutdown(drain) }()
		if name == "too late" {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown: %v, although a stream was cut off", err)
			}
			for r.step() == nil {
			}
			if stream.end != nil {
				t.Errorf("%+v", stream.end)
			}
			continue
		}
		r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		if r.until(another.over); !another.isAborted {
			t.Errorf("%+v", another.end)
		}
		if r.whole(stream); stream.end.Size != bulk {
			t.Errorf("%+v", stream.end)
		}
		if status, _ := r.refused(); status != websocket.StatusGoingAway {
			t.Errorf("status %d", status)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A file of 64 MiB costs less than a thousandth more on the wire, and as much memory
// as any: what the streams of slow clients hold does not grow with it.
func TestFramesCostLittle(t *testing.T) {
	gittest.Long(t)
	const size, clients, each, perStream = 64 << 20, 3, 8, 1 << 20
	s := newTarget(t, targetOptions{build: func(root string) {
		repo := gittest.At(t, filepath.Join(root, "repo.git"))
		repo.Git("config", "core.compression", "0")
		repo.Commit("main", gittest.Regular("large", gittest.Noise(size)))
	}})
	r := receive(t, s.url, modernVersion, supported)
	before := r.wire.Load()
	r.grain = 1 << 20
	stream := r.whole(r.begin(1, "repo://repo/contents/large"))
	overhead := r.wire.Load() - before - size
	t.Logf("%d bytes beside %d, %.4f %%, in %d frames", overhead, int64(size), float64(overhead)/size*100,
		stream.frames)
	if stream.end.Size != size || overhead <= 0 || overhead > size/1000 {
		t.Errorf("%d bytes beside %+v", overhead, stream.end)
	}
	stream.body = nil
	held := gittest.LiveHeap()
	var slow []*receiving
	for range clients {
		r := receive(t, s.url, modernVersion, supported)
		r.grants = false
		for id := range each {
			r.begin(id, "repo://repo/contents/large")
		}
		r.until(func() bool {
			for _, stream := range r.streams {
				if stream.tally.Size() < window {
					return false
				}
			}
			return true
		})
		for _, stream := range r.streams {
			stream.body = nil // of the client
		}
		slow = append(slow, r)
	}
	if grown := gittest.LiveHeap() - held; grown > clients*each*perStream {
		t.Errorf("%d streams hold %d KiB, want at most %d each", clients*each, grown>>10, perStream>>10)
	} else {
		t.Logf("%d KiB for each of %d streams", grown>>10/(clients*each), clients*each)
	}
	for _, r := range slow {
		r.answers(100)
	}
}
