package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// noise is more than two windows.
var noise = []byte(gittest.Noise(600_000))

// serveWhole answers with the bytes of the URI's name, or noise.
func serveWhole(p *peer, r asked) {
	content := noise
	if name, ok := strings.CutPrefix(r.Params.URI, "text://"); ok {
		content = []byte(name)
	}
	ref, known := refOf(content), !strings.Contains(r.Params.URI, "unknown")
	declared := ref
	if !known {
		declared = unknown(ref)
	}
	p.refer(r, declared)
	p.data(ref.Stream, content)
	p.end(ref, known)
}

func TestFetchReadsStreamsBesideMessages(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			c := connectPeer(t, mode, client.Options{}, serveWhole)
			for uri, want := range map[string]string{"text://abc": "abc", "text://": "", "noise://": string(noise),
				"noise://unknown": string(noise), "text://unknown": "unknown"} {
				got, err := fetch(t, c, uri)
				if err != nil || string(got) != want {
					t.Errorf("%s: %d bytes of %d, %v", uri, len(got), len(want), err)
				}
				d, err := c.Stream(t.Context(), uri)
				if err != nil {
					t.Errorf("stream of %s: %v", uri, err)
					continue
				}
				if got, err := io.ReadAll(d); err != nil || string(got) != want || d.Size != int64(len(want)) &&
					d.Size != -1 {
					t.Errorf("stream of %s: %d bytes of %d, %v; %+v", uri, len(got), len(want), err, d)
				}
			}
		})
	}
}

// faults are what a server may do wrong with one stream. None may take another with
// it, or end with io.EOF.
var streamFaults = []struct {
	name string
	only binary.Mode // "": both
	want []error
	do   func(p *peer, r asked)
}{
	{"wrong checksum before", "", []error{client.ErrDigest}, func(p *peer, r asked) {
		ref, other := refOf(noise), refOf([]byte("other"))
		ref.Checksum = other.Checksum
		p.refer(r, ref)
		p.data(ref.Stream, noise)
		p.end(ref, true)
	}},
	{"wrong checksum behind", "", []error{client.ErrDigest}, func(p *peer, r asked) {
		ref, other := refOf(noise), refOf([]byte("other"))
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		ref.Checksum = other.Checksum
		p.end(ref, false)
	}},
	{"two checksums", binary.ModeFrames, []error{client.ErrDigest}, func(p *peer, r asked) {
		ref, other := refOf(noise), refOf([]byte("other"))
		p.refer(r, ref)
		p.data(ref.Stream, noise)
		ref.Checksum = other.Checksum
		p.end(ref, true)
	}},
	{"too short", "", []error{client.ErrLength}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, ref)
		p.data(ref.Stream, noise[1:])
		p.end(ref, true)
	}},
	{"too long", "", []error{client.ErrLength}, func(p *peer, r asked) {
		ref := refOf(noise[1:])
		p.refer(r, ref)
		p.data(ref.Stream, noise)
		p.end(ref, true)
	}},
	{"wrong size behind", "", []error{client.ErrLength}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		ref.Size--
		p.end(ref, false)
	}},
	{"another size behind than before", binary.ModeFrames, []error{client.ErrLength}, func(p *peer, r asked) {
		ref := refOf(noise[:100])
		p.refer(r, ref)
		p.data(ref.Stream, noise[:99])
		p.end(refWith(ref.Stream, noise[:99]), true)
	}},
	{"end without a checksum", binary.ModeChunks, []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		ref.Checksum = nil
		p.end(ref, false)
	}},
	{"end that is said before it", binary.ModeChunks, []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		p.message(map[string]any{"method": "notifications/binary/end", "params": ref})
	}},
	{"bytes behind the end", binary.ModeChunks, []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		_ = p.send(true, binary.Chunk{Stream: ref.Stream}.Append(nil)) // clients may be gone
		p.data(ref.Stream, []byte("more"))
		p.end(ref, false)
	}},
	{"no end", binary.ModeChunks, []error{client.ErrNetwork, client.ErrNotResumed}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		_ = p.send(true, binary.Chunk{Stream: ref.Stream}.Append(nil)) // clients may be gone
	}},
	{"silence", "", []error{client.ErrNetwork, client.ErrNotResumed}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise[:1000])
	}},
	{"abort", "", []error{client.ErrNetwork, client.ErrNotResumed}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise[:1000])
		p.abort(ref.Stream, "the pack is damaged")
	}},
	{"abort before the first byte", "", []error{client.ErrNetwork}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.abort(ref.Stream, "")
	}},
	{"a frame that is missing", binary.ModeFrames, []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, ref)
		p.data(ref.Stream, noise[:1000])
		p.sequence(ref.Stream)
		p.data(ref.Stream, noise[1000:])
		p.end(ref, true)
	}},
	{"a frame that comes twice", binary.ModeFrames, []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, ref)
		for range 2 {
			p.piece(binary.Frame{Stream: ref.Stream, Payload: noise[:1000]})
		}
	}},
	{"a frame of clients", binary.ModeFrames, []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, ref)
		p.piece(binary.CreditFrame(ref.Stream, 0, 1))
	}},
	{"the bytes of a stream without a name", "", []error{client.ErrDamaged, client.ErrNetwork},
		func(p *peer, r asked) {
			ref := refOf(noise[:1000])
			p.refer(r, ref)
			other := refOf(noise[:1000])
			p.data(other.Stream, noise[:1000])
			p.end(refWith(ref.Stream, nil), true)
		}},
	{"one id for two", "", []error{client.ErrDamaged}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, ref, ref)
		p.data(ref.Stream, noise[:1000])
	}},
	{"no id", "", []error{client.ErrDamaged}, func(p *peer, r asked) {
		p.result(r,
			map[string]any{"contents": []any{map[string]any{"uri": "x", "binaryRef": map[string]any{"streamId": "1",
				"size": 3}}}})
	}},
	{"larger than is taken", "", []error{client.ErrTooLarge}, func(p *peer, r asked) {
		ref := refOf(noise)
		ref.Size = 1 << 40
		p.refer(r, ref)
		p.data(ref.Stream, noise)
	}},
	{"more than is taken", "", []error{client.ErrTooLarge}, func(p *peer, r asked) {
		ref := refOf(noise)
		p.refer(r, unknown(ref))
		p.data(ref.Stream, noise)
		p.data(ref.Stream, noise)
		p.end(ref, false)
	}},
}

// refWith describes bytes under an id.
func refWith(id binary.StreamID, content []byte) binary.Ref {
	ref := refOf(content)
	ref.Stream = id
	return ref
}

// TestFaultsEndOneStream has each fault happen between two halves of another stream,
// which is whole.
func TestFaultsEndOneStream(t *testing.T) {
	ran := 0
	for _, mode := range modes {
		for _, fault := range streamFaults {
			if fault.only != "" && fault.only != mode {
				continue
			}
			ran++
			t.Run(string(mode)+"/"+fault.name, func(t *testing.T) {
				happened := make(chan struct{})
				c := connectPeer(t, mode, client.Options{MaxStreamSize: 1_000_000, Retries: -1},
					func(p *peer, r asked) {
						if r.Params.URI != "other://" {
							fault.do(p, r)
							return
						}
						ref := refOf(noise)
						p.refer(r, ref)
						p.data(ref.Stream, noise[:1000])
						<-happened
						p.data(ref.Stream, noise[1000:])
						p.end(ref, true)
					})
				client.SetPatience(c, 300*time.Millisecond)
				other, err := c.Fetch(t.Context(), "other://")
				if err != nil {
					t.Fatal(err)
				}
				got, err := fetch(t, c, "fault://")
				if err == nil || !isAny(err, fault.want...) {
					t.Errorf("%d bytes, %v; want %v", len(got), err, fault.want)
				}
				if !bytes.HasPrefix(noise, got) && !errors.Is(err, client.ErrDamaged) &&
					fault.name != "more than is taken" {
					t.Error("other bytes were handed out")
				}
				close(happened)
				if got, err := io.ReadAll(other); err != nil || !bytes.Equal(got, noise) {
					t.Errorf("the other stream: %d bytes, %v", len(got), err)
				}
				if content, err := fetch(t, c, "other://"); err != nil || !bytes.Equal(content, noise) {
					t.Errorf("the next stream: %d bytes, %v", len(content), err)
				}
			})
		}
	}
	if ran < 35 {
		t.Errorf("%d faults were tried", ran)
	}
}

// Malformed frames and messages end the connection, and with it all waiting calls.
func TestWhatIsNoFrameEndsTheConnection(t *testing.T) {
	id := binary.NewStreamID()
	for name, raw := range map[string]struct {
		mode    binary.Mode
		isFrame bool
		raw     []byte
	}{
		"short frame":   {binary.ModeFrames, true, []byte("short")},
		"unknown flags": {binary.ModeFrames, true, binary.Frame{Stream: id, Kind: 3}.Append(nil)},
		"large frame": {binary.ModeFrames, true,
			binary.Frame{Stream: id, Payload: make([]byte, binary.MaxFrameData+1)}.Append(nil)},
		"larger frame": {binary.ModeFrames, true,
			binary.Frame{Stream: id, Payload: make([]byte, 1<<20)}.Append(nil)},
		"text over WebSocket": {binary.ModeFrames, false, []byte("hello")},
		"text over stdio":     {binary.ModeChunks, false, []byte("hello")},
		"large chunk":         {binary.ModeChunks, true, append(id[:], 0, 0, 0, 0, 0x10, 0, 0, 1)},
		"chunk without an id": {binary.ModeChunks, true, bytes.Repeat([]byte{0xff}, 24)},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			c := connectPeer(t, raw.mode, client.Options{}, func(p *peer, r asked) {
				requests++
				ref := refOf(noise)
				p.refer(r, ref)
				p.data(ref.Stream, noise[:1000])
				_ = p.send(raw.isFrame, raw.raw) // clients may be gone
			})
			if got, err := fetch(t, c, "fault://"); !errors.Is(err, client.ErrDamaged) || requests != 1 {
				t.Errorf("%d bytes, %v, after %d requests", len(got), err, requests)
			}
		})
	}
}

// A connection that breaks is made again, and bytes that are known to be the same go
// on where they were; over a pipe it is the end.
func TestBrokenConnections(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			var mu sync.Mutex
			requests := 0
			serve := func(p *peer, r asked) {
				mu.Lock()
				requests++
				cut := requests == 1
				mu.Unlock()
				ref := refOf(noise)
				p.refer(r, ref)
				if !cut {
					p.data(ref.Stream, noise)
					p.end(ref, true)
					return
				}
				p.data(ref.Stream, noise[:200_000])
				p.cut()
			}
			c := connectPeer(t, mode, client.Options{}, serve)
			got, err := fetch(t, c, "noise://")
			if mode == binary.ModeFrames {
				if err != nil || !bytes.Equal(got, noise) || requests != 2 {
					t.Errorf("%d bytes, %v, after %d requests", len(got), err, requests)
				}
				return
			}
			if !errors.Is(err, client.ErrNetwork) || len(got) > 200_000 || requests != 1 {
				t.Errorf("%d bytes, %v, after %d requests", len(got), err, requests)
			}
			if _, err := c.Read(t.Context(), "text://a"); !errors.Is(err, client.ErrNetwork) || requests != 1 {
				t.Errorf("afterwards: %v, %d requests", err, requests)
			}
		})
	}
}

// A stream without a reader holds up nothing else over WebSocket, and over a pipe
// what follows it until it is closed.
func TestSlowReaders(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			sent := make(chan struct{})
			c := connectPeer(t, mode, client.Options{}, func(p *peer, r asked) {
				if r.Params.URI == "text://abc" {
					<-sent // a pipe has one order
				}
				serveWhole(p, r)
				if r.Params.URI == "noise://" {
					close(sent)
				}
			})
			slow, err := c.Fetch(t.Context(), "noise://")
			if err != nil {
				t.Fatal(err)
			}
			if mode == binary.ModeFrames {
				for range 3 {
					if got, err := fetch(t, c, "noise://unknown"); err != nil || !bytes.Equal(got, noise) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				}
				if got, err := io.ReadAll(slow); err != nil || !bytes.Equal(got, noise) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := c.Fetch(ctx, "text://abc"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("beside a stream that is not read: %v", err)
			}
			if err := slow.Close(); err != nil {
				t.Error(err)
			}
			if got, err := fetch(t, c, "text://abc"); err != nil || string(got) != "abc" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A server that sends more than it was granted is not kept in memory.
func TestMoreThanWasGranted(t *testing.T) {
	sent := make(chan struct{})
	c := connectPeer(t, binary.ModeFrames, client.Options{}, func(p *peer, r asked) {
		if r.Params.URI != "fault://" {
			serveWhole(p, r)
			return
		}
		ref := refOf(noise)
		p.refer(r, ref)
		for at := range uint32(9) {
			p.piece(binary.Frame{Stream: ref.Stream, Sequence: at, Payload: noise[:binary.MaxFrameData]})
		}
		p.refer(asked{ID: []byte("0")}) // comes after them
		close(sent)
	})
	d, err := c.Fetch(t.Context(), "fault://")
	if err != nil {
		t.Fatal(err)
	}
	<-sent
	if got, err := fetch(t, c, "text://abc"); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := io.ReadAll(d); !errors.Is(err, client.ErrDamaged) || len(got) > 256<<10 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestInterleavedStreams reads many streams at a time.
func TestInterleavedStreams(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			c := connectPeer(t, mode, client.Options{}, serveWhole)
			var running sync.WaitGroup
			for range 6 {
				running.Go(func() {
					if got, err := fetch(t, c, "noise://unknown"); err != nil || !bytes.Equal(got, noise) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			}
			running.Wait()
		})
	}
}

// What is not wanted any more is cancelled.
func TestClosedStreamsAreCancelled(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			heard := make(chan bool, 2)
			c := connectPeer(t, mode, client.Options{}, func(p *peer, r asked) {
				ref := refOf(noise)
				p.refer(r, unknown(ref))
				p.data(ref.Stream, noise[:1000])
				what := string(r.ID)
				if mode == binary.ModeFrames {
					what = ref.Stream.String()
				}
				heard <- p.awaitCancel(what)
			})
			d, err := c.Fetch(t.Context(), "noise://")
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			d, err = c.Fetch(ctx, "noise://")
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if _, err := io.ReadAll(d); !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of the context: %v", err)
			}
			for range 2 {
				if !<-heard {
					t.Error("the server was not told")
				}
			}
		})
	}
}

// A server that knows nothing of bytes beside messages answers as ever.
func TestFetchTakesBase64(t *testing.T) {
	for _, mode := range modes {
		c := connectPeer(t, mode, client.Options{}, func(p *peer, r asked) {
			if r.Params.TransferMode != "binary" {
				t.Errorf("the mode %q was asked for", r.Params.TransferMode)
			}
			p.result(r,
				map[string]any{"contents": []any{map[string]any{"uri": "x", "mimeType": "application/x-test",
					"blob": noise}}})
		})
		if got, err := fetch(t, c, "noise://"); err != nil || !bytes.Equal(got, noise) {
			t.Errorf("%s: %d bytes, %v", mode, len(got), err)
		}
	}
}
