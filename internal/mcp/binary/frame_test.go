package binary_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// sample is a stream of three bytes.
func sample(t testing.TB) binary.Ref {
	t.Helper()
	id, err := binary.ParseStreamID("d50e8400-e29b-41d4-a716-446655440000")
	if err != nil {
		t.Fatal(err)
	}
	tally := binary.NewTally()
	_, _ = tally.Write([]byte("abc"))
	return tally.Ref(id)
}

const sampleID = "d50e8400e29b41d4a716446655440000"

// frames are one of each kind, with the bytes that they are.
func frames(t testing.TB) map[string]binary.Frame {
	whole := sample(t)
	return map[string]binary.Frame{
		sampleID + "00" + "00000000" +
			"616263": {Stream: whole.Stream, Kind: binary.KindData,
			Payload: []byte("abc")},
		sampleID + "01" + "00000001" + "0000000000000003" +
			hex.EncodeToString(whole.Checksum[:]): binary.EndFrame(whole, 1),
		sampleID + "02" + "01020304" + "6f68": binary.AbortFrame(
			whole.Stream, 0x01020304, "oh"),
		sampleID + "04" + "ffffffff" + "0000000000040000": binary.CreditFrame(
			whole.Stream, math.MaxUint32, 256<<10),
		sampleID + "08" +
			"00000000": {Stream: whole.Stream,
			Kind: binary.KindCancel},
	}
}

func TestFramesAreTheseBytes(t *testing.T) {
	for want, frame := range frames(t) {
		raw := frame.Append(nil)
		if got := hex.EncodeToString(raw); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		back, err := binary.ParseFrame(raw)
		if err != nil || back.Stream != frame.Stream || back.Kind != frame.Kind || back.Sequence != frame.Sequence ||
			!bytes.Equal(back.Payload, frame.Payload) {
			t.Errorf("%s was read as %v, %v", want, back, err)
		}
		switch back.Kind {
		case binary.KindCredit:
			if back.Credit() != 256<<10 {
				t.Errorf("a credit of %d", back.Credit())
			}
		case binary.KindEnd:
			if end := back.End(); end.Size != 3 || *end.Checksum != *sample(t).Checksum || end.Stream != frame.Stream {
				t.Errorf("the end says %v", end)
			}
		}
	}
}

// The page shows the bytes that are written.
func TestThePageHasTheBytes(t *testing.T) {
	page, err := os.ReadFile("../../../docs/binary-transfer.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ReplaceAll(string(page), " ", "")
	wanted := slices.Concat(slices.Collect(maps.Keys(frames(t))), slices.Collect(maps.Keys(chunks(t))))
	for _, want := range wanted {
		if !strings.Contains(shown, "\n"+want+"\n") {
			t.Errorf("docs/binary-transfer.md lacks %s", want)
		}
	}
	if len(wanted) != 8 {
		t.Errorf("%d were looked for", len(wanted))
	}
}

func TestFramesThatNobodyWritesAreRefused(t *testing.T) {
	id, none := sampleID, strings.Repeat("00", 16)
	cases := map[string]string{
		"nothing": "", "cut in the id": id[:20], "cut before the number": id + "00", "cut in the number": id +
			"00000000",
		"no id": none + "00" + "00000000" + "61", "data without any": id + "00" + "00000000",
		"data too long": id + "00" + "00000000" + strings.Repeat("61", binary.MaxFrameData+1),
		"end and data":  id + "03" + "00000000" + "61", "unknown flags": id + "10" + "00000000", "all flags": id +
			"ff" + "00000000",
		"end too short": id + "01" + "00000000" + strings.Repeat("00", 39), "end too long": id + "01" + "00000000" +
			strings.Repeat("00", 41),
		"end of a negative size": id + "01" + "00000000" + strings.Repeat("ff", 8) + strings.Repeat("00", 32),
		"credit of nothing":      id + "04" + "00000000" + strings.Repeat("00", 8), "credit of too much": id + "04" +
			"00000000" + "8000000000000000",
		"credit too short": id + "04" + "00000000" + "00000001", "cancel with words": id + "08" + "00000000" + "61",
		"abort with bytes": id + "02" + "00000000" + "ff", "abort with a book": id + "02" + "00000000" +
			strings.Repeat("61", binary.MaxAbortWords+1),
	}
	for name, text := range cases {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(name, err)
		}
		if f, err := binary.ParseFrame(raw); !errors.Is(err, binary.ErrFrame) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func TestAbortsKeepTheWordsThatThereIsRoomFor(t *testing.T) {
	for _, words := range []string{"", "short", strings.Repeat("é", binary.MaxAbortWords),
		"x" + strings.Repeat("é", binary.MaxAbortWords)} {
		frame := binary.AbortFrame(sample(t).Stream, 0, words)
		back, err := binary.ParseFrame(frame.Append(nil))
		if err != nil || !strings.HasPrefix(words, string(back.Payload)) ||
			len(back.Payload) < min(len(words), binary.MaxAbortWords-utf8.UTFMax) {
			t.Errorf("%d bytes became %d: %v", len(words), len(back.Payload), err)
		}
	}
}

func FuzzParseFrame(f *testing.F) {
	for _, frame := range frames(f) {
		f.Add(frame.Append(nil))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, err := binary.ParseFrame(raw)
		if err != nil {
			if !errors.Is(err, binary.ErrFrame) {
				t.Fatal(err)
			}
			return
		}
		if again := frame.Append(nil); !bytes.Equal(again, raw) {
			t.Fatalf("%x was read and written as %x", raw, again)
		}
		if len(frame.Payload) > binary.MaxFrameData {
			t.Fatalf("a payload of %d bytes", len(frame.Payload))
		}
		if frame.Kind == binary.KindCredit && frame.Credit() <= 0 || frame.Kind == binary.KindEnd &&
			frame.End().Size < 0 {
			t.Fatalf("%x has a number that is none", raw)
		}
	})
}
