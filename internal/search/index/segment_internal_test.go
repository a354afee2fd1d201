package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// made is a segment with the texts that it was made of.
type made struct {
	content []byte
	texts   map[git.ID]string
}

// make writes a segment of random texts, with documents of all kinds.
func makeSegment(t testing.TB, r *rand.Rand, documents int) made {
	t.Helper()
	words := []string{"needle", "Parse", "parsing", "hay", "x", "\u212Aelvin", "日本", "\n", "def ", "(", "_", "\xff"}
	a, d, m := newAnalyzer(), newDraft(), made{texts: make(map[git.ID]string)}
	for i := range documents {
		var text []byte
		for range r.IntN(40) {
			text = append(text, words[r.IntN(len(words))]...)
		}
		if i%7 == 3 {
			text = append(text, 0)
		}
		var id git.ID
		binary.BigEndian.PutUint64(id[:], r.Uint64())
		m.texts[id] = string(text)
		path := []string{"a.py", "a.go", "a"}[i%3]
		namer := NamerOf(path)
		d.add(a.analyze(document{id: id, language: namer.Language()}, namer, text))
	}
	var b bytes.Buffer
	if _, err := d.writeTo(&b, "test"); err != nil {
		t.Fatal(err)
	}
	m.content = b.Bytes()
	return m
}

func (m made) open(t testing.TB) (*segment, []document) {
	t.Helper()
	s, documents, err := openSegment(bytes.NewReader(m.content), int64(len(m.content)))
	if err != nil {
		t.Fatal(err)
	}
	return s, documents
}

// asked is what a segment is asked in tests: the documents that may match some expressions, and the
// occurrences of some words.
func asked(s *segment) (answers []string, err error) {
	l := lookup{segment: s}
	for _, text := range []string{"needle", "parse", "hay[a-z]*x", "(?i)kelvin", "日本", "absent"} {
		p, err := pattern.Compile([]pattern.Term{{Text: text, Regexp: true}}, pattern.Smart)
		if err != nil {
			return nil, err
		}
		for _, a := range NeedOf(p) {
			docs, err := l.having(a)
			if err != nil {
				return nil, err
			}
			answers = append(answers, fmt.Sprint(text, docs))
		}
	}
	for _, form := range []string{"needl", "pars", "x", "absent"} {
		found, err := l.occurrences(form)
		if err != nil {
			return nil, err
		}
		answers = append(answers, fmt.Sprint(form, found))
	}
	return answers, nil
}

// A segment has the documents that it was made of, and names all that match an expression.
func TestSegmentsHaveTheirDocuments(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, documents := range []int{0, 1, 9, 300} {
		m := makeSegment(t, r, documents)
		s, list := m.open(t)
		if len(list) != documents || s.count != documents {
			t.Fatalf("%d documents, want %d", len(list), documents)
		}
		for _, text := range []string{"needle", "parse", "(?i)kelvin", "hay.*def"} {
			p, err := pattern.Compile([]pattern.Term{{Text: text, Regexp: true}}, pattern.Smart)
			if err != nil {
				t.Fatal(err)
			}
			docs, err := (&lookup{segment: s}).having(NeedOf(p)[0])
			if err != nil {
				t.Fatal(err)
			}
			var scanner pattern.Scanner
			for i := range list {
				content := m.texts[list[i].id]
				scanner.Reset(p, []byte(content), pattern.Start())
				matches := list[i].kind&^generated == plainText && scanner.Next()
				if matches && !slices.Contains(docs, uint32(i)) {
					t.Errorf("%q is not among those that may match %s", content, text)
				}
			}
		}
	}
}

// plainText is the kind, which variables of tests hide.
const plainText = text

// A merged segment answers as its parts do, and has each document once.
func TestMergedSegmentsAnswerAsTheirParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var parts []*segment
	want := make(map[git.ID]map[string][]rank.Count)
	for range 5 {
		s, documents := makeSegment(t, r, 60).open(t)
		parts = append(parts, s)
		for i := range documents {
			want[documents[i].id] = countsOf(t, s, uint32(i))
		}
	}
	parts = append(parts, parts[0]) // all of its documents come twice
	var b bytes.Buffer
	if _, err := merge(&b, "test", parts); err != nil {
		t.Fatal(err)
	}
	s, documents, err := openSegment(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != len(want) {
		t.Errorf("%d documents, want %d", len(documents), len(want))
	}
	for i := range documents {
		key := documents[i].id
		if got := countsOf(t, s, uint32(i)); fmt.Sprint(got) != fmt.Sprint(want[key]) {
			t.Errorf("%v has %v, want %v", key, got, want[key])
		}
	}
}

// countsOf returns all that a segment has of a document, by key.
func countsOf(t testing.TB, s *segment, doc uint32) map[string][]rank.Count {
	t.Helper()
	all := make(map[string][]rank.Count)
	for i := range s.blocks {
		in, err := s.read(&s.blocks[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		for in.next() {
			key := string(in.key)
			if key[:1] != keyWord {
				docs, err := decodeDocs(nil, in.list, s.count)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Contains(docs, doc) {
					all[key] = nil
				}
				continue
			}
			list, err := decodeOccurrences(nil, in.list, s.count)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range list {
				if o.doc == doc {
					all[key] = append(all[key], o.count())
				}
			}
		}
	}
	return all
}

// A byte that differs is noticed: at the opening, or when its block is read.
func TestDamageOfEachByteIsNoticed(t *testing.T) {
	t.Parallel()
	m := makeSegment(t, rand.New(rand.NewPCG(5, 6)), 40)
	s, _ := m.open(t)
	want, err := asked(s)
	if err != nil || len(want) < 8 {
		t.Fatalf("%q, %v", want, err)
	}
	for at := range m.content {
		broken := slices.Clone(m.content)
		broken[at] ^= 1 << (at % 8)
		s, _, err := openSegment(bytes.NewReader(broken), int64(len(broken)))
		if err == nil {
			var got []string
			if got, err = asked(s); err == nil && !slices.Equal(got, want) {
				t.Fatalf("with byte %d of %d: %q, want %q", at, len(broken), got, want)
			}
		}
		if err != nil && !errors.Is(err, errDamaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if _, _, err := openSegment(bytes.NewReader(m.content[:at]), int64(at)); err == nil {
			t.Fatalf("%d of %d bytes are a segment", at, len(m.content))
		}
	}
}

// FuzzSegment changes a segment: there is no panic, and no other answer than that of the sound one. Where the checksums
// are passed over there may be other answers, but no panic.
func FuzzSegment(f *testing.F) {
	m := makeSegment(f, rand.New(rand.NewPCG(7, 8)), 20)
	sound, _ := m.open(f)
	want, err := asked(sound)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{0xff})
	f.Add(uint32(len(m.content)-60), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		broken := slices.Clone(m.content)
		copy(broken[int(at)%len(broken):], patch)
		if s, _, err := openSegment(bytes.NewReader(broken), int64(len(broken))); err == nil {
			if got, err := asked(s); err == nil && !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		s := *sound
		list := broken[int(at)%len(broken):]
		in := entries{reader: reader{rest: list}}
		for in.next() {
			_, _ = decodeDocs(nil, in.list, s.count)
			_, _ = decodeOccurrences(nil, in.list, s.count)
		}
		_, _ = s.parseTable(list, int64(at))
	})
}
