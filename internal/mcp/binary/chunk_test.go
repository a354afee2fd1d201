package binary_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// chunks are one of each kind, with the bytes that they are.
func chunks(t testing.TB) map[string]binary.Chunk {
	id := sample(t).Stream
	return map[string]binary.Chunk{
		sampleID + "0000000000000003" + "616263": {Stream: id, Data: []byte("abc")},
		sampleID + "0000000000000000":            {Stream: id},
		sampleID + "ffffffffffffffff":            {Stream: id, Aborted: true},
	}
}

func TestChunksAreTheseBytes(t *testing.T) {
	for want, chunk := range chunks(t) {
		raw := chunk.Append(nil)
		if got := hex.EncodeToString(raw); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		back, err := binary.ReadChunk(iotest.OneByteReader(bytes.NewReader(raw)), nil)
		if err != nil || back.Stream != chunk.Stream || !bytes.Equal(back.Data, chunk.Data) ||
			back.Aborted != chunk.Aborted || back.Ends() != chunk.Ends() {
			t.Errorf("%s was read as %v, %v", want, back, err)
		}
		for cut := range raw {
			want := io.ErrUnexpectedEOF
			if cut == 0 {
				want = io.EOF
			}
			if _, err := binary.ReadChunk(bytes.NewReader(raw[:cut]), nil); err != want { //nolint:errorlint // the one must not wrap the other
				t.Errorf("%d bytes of %x: %v, want %v", cut, raw, err, want)
			}
		}
	}
}

// A pipe has messages in lines and chunks between them: the first byte tells which
// comes.
func TestChunksStandBetweenMessages(t *testing.T) {
	first := binary.Chunk{Stream: binary.NewStreamID(), Data: bytes.Repeat([]byte("{\n"), 1000)}
	var pipe bytes.Buffer
	for _, piece := range [][]byte{[]byte("{\"a\":1}\n"), first.Append(nil), []byte("[1]\n"),
		binary.Chunk{Stream: first.Stream}.Append(nil), []byte("{\"b\":\"é\"}\n")} {
		pipe.Write(piece)
	}
	var messages, data string
	r := bufio.NewReader(&pipe)
	for {
		next, err := r.Peek(1)
		if errors.Is(err, io.EOF) {
			break
		}
		if !binary.IsChunk(next[0]) {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			messages += line
			continue
		}
		chunk, err := binary.ReadChunk(r, make([]byte, 0, 16))
		if err != nil || chunk.Stream != first.Stream {
			t.Fatal(chunk, err)
		}
		data += string(chunk.Data)
	}
	if messages != "{\"a\":1}\n[1]\n{\"b\":\"é\"}\n" || data != string(first.Data) {
		t.Errorf("%q and %d bytes", messages, len(data))
	}
}

func TestChunksThatNobodyWritesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no id":     strings.Repeat("00", 24),
		"a message": hex.EncodeToString([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)),
		"too long":  sampleID + "0000000000100001", "almost an abort": sampleID + "fffffffffffffffe",
		"negative": sampleID + "8000000000000000",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(name, err)
		}
		if c, err := binary.ReadChunk(bytes.NewReader(raw), nil); !errors.Is(err, binary.ErrChunk) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

func FuzzReadChunk(f *testing.F) {
	for _, chunk := range chunks(f) {
		f.Add(chunk.Append(nil))
	}
	f.Add([]byte(`{"jsonrpc":"2.0"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bytes.NewReader(raw)
		chunk, err := binary.ReadChunk(r, make([]byte, 0, 8))
		if err != nil {
			if !errors.Is(err, binary.ErrChunk) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			return
		}
		again := chunk.Append(nil)
		if !bytes.Equal(again, raw[:len(raw)-r.Len()]) {
			t.Fatalf("%x was read and written as %x", raw, again)
		}
		if len(chunk.Data) > binary.MaxChunkAccepted || !binary.IsChunk(again[0]) {
			t.Fatalf("a chunk of %d bytes that begins with %#x", len(chunk.Data), again[0])
		}
	})
}
