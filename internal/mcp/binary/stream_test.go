package binary_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

// uuid is a random UUID with the first bit set, in small letters.
var uuid = regexp.MustCompile(`^[89a-f][0-9a-f]{7}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestStreamIDsAreRandomUUIDs(t *testing.T) {
	seen := make(map[binary.StreamID]bool)
	for range 1000 {
		id := binary.NewStreamID()
		back, err := binary.ParseStreamID(id.String())
		if !uuid.MatchString(id.String()) || seen[id] || err != nil || back != id || !binary.IsChunk(id[0]) {
			t.Fatalf("%s, read back as %s, %v", id, back, err)
		}
		seen[id] = true
	}
}

func TestStreamIDsHaveOneSpelling(t *testing.T) {
	const good = "d50e8400-e29b-41d4-a716-446655440000"
	if _, err := binary.ParseStreamID(good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"capitals": strings.ToUpper(good), "braces": "{" + good + "}", "no hyphens": strings.ReplaceAll(good, "-", ""),
		"other marks": strings.ReplaceAll(good, "-", "_"), "first bit not set": "5" + good[1:], "version 1": good[:14] +
			"1" + good[15:],
		"other variant": good[:19] + "c" + good[20:], "empty": "", "short": good[:35], "long": good + "0",
		"no digit": "g" + good[1:], "space": " " + good[1:],
	} {
		if _, err := binary.ParseStreamID(text); !errors.Is(err, binary.ErrStreamID) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefsAreThoseOfTheRFC(t *testing.T) {
	tally := binary.NewTally()
	_, _ = tally.Write([]byte("abc"))
	id, err := binary.ParseStreamID("d50e8400-e29b-41d4-a716-446655440000")
	if err != nil {
		t.Fatal(err)
	}
	whole := tally.Ref(id)
	// The example of FIPS 180-4.
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for want, ref := range map[string]binary.Ref{
		`{"streamId":"d50e8400-e29b-41d4-a716-446655440000","size":3,"checksum":"` + abc + `"}`: whole,
		`{"streamId":"d50e8400-e29b-41d4-a716-446655440000","size":-1}`: {Stream: id,
			Size: binary.UnknownSize},
	} {
		got, err := json.Marshal(ref)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		var back binary.Ref
		if err := json.Unmarshal(got, &back); err != nil || back.Stream != ref.Stream || back.Size != ref.Size ||
			back.Ends() != ref.Ends() {
			t.Errorf("%s was read as %v, %v", got, back, err)
		}
	}
	for _, bad := range []string{strings.ToUpper(abc), abc[1:], abc + "00", "", "xyz"} {
		var sum binary.Checksum
		if err := sum.UnmarshalText([]byte(bad)); !errors.Is(err, binary.ErrChecksum) {
			t.Errorf("checksum %q: %v", bad, err)
		}
	}
}

func TestTalliesCompareWithWhatWasDeclared(t *testing.T) {
	tally := binary.NewTally()
	_, _ = tally.Write([]byte("ab"))
	_, _ = tally.Write([]byte("c"))
	id := binary.NewStreamID()
	sum := tally.Ref(id).Checksum
	for _, c := range []struct {
		declared binary.Ref
		want     error
	}{
		{binary.Ref{Stream: id, Size: 3, Checksum: sum}, nil}, {binary.Ref{Stream: id, Size: binary.UnknownSize}, nil},
		{binary.Ref{Stream: id, Size: 2, Checksum: sum}, binary.ErrSize},
		{binary.Ref{Stream: id, Size: 4}, binary.ErrSize},
		{binary.Ref{Stream: id, Size: 3, Checksum: new(binary.Checksum)}, binary.ErrSum},
		{binary.Ref{Stream: id, Size: binary.UnknownSize, Checksum: new(binary.Checksum)}, binary.ErrSum},
	} {
		if err := tally.Compare(c.declared); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.declared, err, c.want)
		}
	}
}
