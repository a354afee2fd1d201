package unpack

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/repomcp/repomcp/internal/gittest"
)

var oldContent = []byte(strings.Repeat("a line of the old content\n", 100))

// patchTo makes a patch, and what a member says of it.
func patchTo(t testing.TB, base []byte, content string, options ...zstd.EOption) ([]byte, Patch) {
	t.Helper()
	options = append([]zstd.EOption{zstd.WithEncoderDictRaw(0, base), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(2 * MaxPatched)}, options...)
	encoder, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll([]byte(content), nil), Patch{Base: IDOf(base), ID: IDOf([]byte(content)),
		Size: int64(len(content))}
}

func recordOf(p Patch) map[string]string {
	return map[string]string{patchRecord: fmt.Sprint(p.Base, " ", p.ID, " ", p.Size)}
}

func TestPatchesAreApplied(t *testing.T) {
	noise := gittest.Noise(2 * MaxPatched)
	for i, pair := range [][2]string{
		{string(oldContent), string(oldContent[:700]) + "one more\n" + string(oldContent[700:])},
		{string(oldContent), "x"},
		{string(oldContent), ""},
		{noise[:MaxPatched], noise[MaxPatched/2:][:MaxPatched]},
		{noise[:MaxPatched], noise[MaxPatched:]},
	} {
		change, p := patchTo(t, []byte(pair[0]), pair[1])
		content, err := p.Apply([]byte(pair[0]), change)
		if err != nil || string(content) != pair[1] {
			t.Errorf("pair %d: %d bytes, %v", i, len(content), err)
		}
	}
}

func TestHostilePatches(t *testing.T) {
	content := string(oldContent[:1500]) + "something else\n" + string(oldContent[1500:])
	good, says := patchTo(t, oldContent, content)
	bomb, _ := patchTo(t, oldContent, strings.Repeat("\x00", 64<<20), zstd.WithSingleSegment(true))
	unsized := new(bytes.Buffer)
	stream, err := zstd.NewWriter(unsized, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(stream, io.LimitReader(zeros{}, 256<<20)); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	named, _ := patchTo(t, oldContent, content, zstd.WithEncoderDictRaw(7, oldContent))
	large := says
	large.Size = 1 << 40
	negative := says
	negative.Size = -1
	longer, shorter := says, says
	longer.Size++
	shorter.Size--
	other := says
	other.ID[3]++
	for name, c := range map[string]struct {
		Patch
		base, patch []byte
		want        error
	}{
		"good":                           {says, oldContent, good, nil},
		"another base":                   {says, oldContent[1:], good, ErrBase},
		"no base":                        {says, nil, good, ErrBase},
		"nothing":                        {says, oldContent, nil, ErrPatch},
		"no zstd":                        {says, oldContent, []byte("no zstd at all"), ErrPatch},
		"cut":                            {says, oldContent, good[:len(good)-1], ErrPatch},
		"more behind it":                 {says, oldContent, append(bytes.Clone(good), "more"...), ErrPatch},
		"twice":                          {says, oldContent, append(bytes.Clone(good), good...), ErrPatch},
		"another id":                     {other, oldContent, good, ErrPatch},
		"it makes less than it says":     {longer, oldContent, good, ErrPatch},
		"it makes more than it says":     {shorter, oldContent, good, ErrPatch},
		"it says too much":               {large, oldContent, good, ErrPatch},
		"it says less than nothing":      {negative, oldContent, good, ErrPatch},
		"bomb":                           {says, oldContent, bomb, ErrPatch},
		"bomb that does not say so":      {says, oldContent, unsized.Bytes(), ErrPatch},
		"a dictionary of another number": {says, oldContent, named, ErrPatch},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		made, err := c.Apply(c.base, c.patch)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) || err == nil && string(made) != content || err != nil && made != nil {
			t.Errorf("%s: %d bytes, %v", name, len(made), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestArchivesWithPatches(t *testing.T) {
	content := string(oldContent) + "more\n"
	change, says := patchTo(t, oldContent, content)
	member := func(kind byte, record map[string]string) hostile {
		e := entry{name: "f", kind: kind, content: string(change), pax: record}
		if kind != 0 {
			e.content, e.target = "", "x"
		}
		return hostile{archive: of(e), paths: []string{"f"}}
	}
	bad := func(kind byte, record string) hostile {
		h := member(kind, map[string]string{patchRecord: record})
		h.name, h.reason = fmt.Sprintf("%c %q", kind, record), BadPatch
		return h
	}
	unanswered := member(0, recordOf(says))
	unanswered.name, unanswered.reason = "no content for the caller", NotPatched
	large := says
	large.Size = MaxPatched + 1
	tooLarge := member(0, recordOf(large))
	tooLarge.name, tooLarge.limit = "too large", "bytes of a patched file"
	tooLong := hostile{
		name: "a patch that is too large", limit: "bytes of a patched file",
		archive: of(entry{name: "f", content: gittest.Noise(MaxPatched + 1), pax: recordOf(says)}),
	}
	ids := strings.Repeat("a", 40) + " " + strings.Repeat("b", 40)
	for _, h := range []hostile{
		unanswered, tooLarge, tooLong, bad(0, ids), bad(0, ids+" -1"), bad(0, ids+" x"), bad(0, ids+" 1 "),
		bad(0, ids[1:]+" 1"), bad(0, "1"),
		bad(0, strings.Repeat("g", 40)+" "+ids[41:]+" 1"), bad(0, ids+" 99999999999999999999"),
		bad(tar.TypeSymlink, ids+" 1"), bad(tar.TypeDir, ids+" 1"),
	} {
		t.Run(h.name, func(t *testing.T) {
			p := newPlace(t)
			_, err := p.unpack(t, h.archive(t), h.options)
			h.check(t, err)
			p.has(t)
		})
	}
	p := newPlace(t)
	applies := Options{Choose: func(m Member, in io.Reader) (Choice, error) {
		patch, err := ReadPatch(m, in)
		if err != nil || m.Patch == nil || *m.Patch != says {
			t.Errorf("%+v, %v", m.Patch, err)
		}
		made, err := m.Patch.Apply(oldContent, patch)
		return Choice{Content: bytes.NewReader(made), Size: says.Size, ID: says.ID}, err
	}}
	if _, err := p.unpack(t, member(0, recordOf(says)).archive(t), applies); err != nil {
		t.Error(err)
	}
	p.has(t, fmt.Sprintf("f %.40q", content))
}

// FuzzApply gives any bytes for a patch: what is made has the id and is not longer
// than it may be.
func FuzzApply(f *testing.F) {
	content := string(oldContent[:500]) + "new" + string(oldContent[520:])
	good, says := patchTo(f, oldContent, content)
	bomb, _ := patchTo(f, oldContent, strings.Repeat("\x00", 16<<20))
	plain, _ := patchTo(f, nil, content)
	for _, seed := range [][]byte{good, bomb, plain, nil, []byte("x"), good[:9]} {
		f.Add(seed, says.Size)
	}
	f.Fuzz(func(t *testing.T, patch []byte, size int64) {
		p := says
		p.Size = size
		made, err := p.Apply(oldContent, patch)
		if err != nil && made != nil || err == nil && (string(made) != content || size != says.Size) {
			t.Errorf("%d bytes, %v", len(made), err)
		}
	})
}
