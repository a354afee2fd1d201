package index

import (
	"bytes"
	"io"
	"math/bits"
	"slices"

	"github.com/repomcp/repomcp/internal/git/definitions"
	"github.com/repomcp/repomcp/internal/git/diff"
	"github.com/repomcp/repomcp/internal/search/language"
	"github.com/repomcp/repomcp/internal/search/pattern"
	"github.com/repomcp/repomcp/internal/search/rank"
)

// maxWords bounds the different words of a document that are counted: a file with more is data. It is read when
// files are ranked.
const maxWords = 50_000

// NamerOf returns the namer of the language that a file's name tells, or nil. The file is a document in the
// language of the namer.
func NamerOf(path string) *definitions.Namer { return definitions.NamerOf(language.Of(path)...) }

// analyzer finds what the index has of texts. One goroutine uses it at a time.
type analyzer struct {
	content []byte
	grams   gramSet
	words   *rank.Indexer
	// What is found in a text is collected here, so that its analysis has no room to spare.
	foundGrams []uint32
	foundWords []wordCount
}

func newAnalyzer() *analyzer { return &analyzer{words: rank.NewIndexer()} }

// analysis is what the index has of a document.
type analysis struct {
	document
	grams    []uint32
	words    []wordCount
	beyond   bool
	wordless bool
}

// wordCount is how often a word is in one document.
type wordCount struct {
	form  string
	count rank.Count
}

// analyze analyzes a file. namer is that of the document's language.
func (a *analyzer) analyze(d document, namer *definitions.Namer, content []byte) *analysis {
	d.size = uint32(len(content))
	if d.kind = text; diff.Binary(content) {
		d.kind, d.size = binaryFile, 0
		return &analysis{document: d}
	}
	if rank.IsGenerated(content) {
		d.kind |= generated
	}
	result := &analysis{
		document: d,
		beyond:   bytes.Contains(content, []byte(pattern.Kelvin)) || bytes.Contains(content, []byte(pattern.LongS)),
	}
	a.grams.add(content)
	a.foundGrams = a.foundGrams[:0]
	for i, set := range a.grams {
		for ; set != 0; set &= set - 1 {
			a.foundGrams = append(a.foundGrams, uint32(64*i+bits.TrailingZeros64(set)))
		}
	}
	clear(a.grams[:])
	result.grams = slices.Clone(a.foundGrams)
	named := rank.Text{Content: content}
	if namer != nil {
		named.Name = namer.Name
	}
	a.foundWords = a.foundWords[:0]
	a.words.Count(named, func(form string, c rank.Count) {
		if len(a.foundWords) <= maxWords {
			a.foundWords = append(a.foundWords, wordCount{form, c})
		}
	})
	if result.wordless = len(a.foundWords) > maxWords; !result.wordless {
		result.words = slices.Clone(a.foundWords)
	}
	return result
}

// cost is the memory of an analysis in a draft.
func (a *analysis) cost() int64 {
	const word, other = 40, 200
	return int64(4*len(a.grams) + word*len(a.words) + other)
}

// draft is a segment that is being made.
type draft struct {
	documents []document
	text      int64
	cost      int64
	grams     [][]uint32 // by document
	words     map[string][]occurrence
	beyond    []uint32
	wordless  []uint32
}

func newDraft() *draft { return &draft{words: make(map[string][]occurrence)} }

func (d *draft) add(a *analysis) {
	doc := uint32(len(d.documents))
	d.documents = append(d.documents, a.document)
	d.grams = append(d.grams, a.grams)
	d.text += int64(a.size)
	d.cost += a.cost()
	for _, w := range a.words {
		d.words[w.form] = append(d.words[w.form], occurrenceOf(doc, w.count))
	}
	if a.beyond {
		d.beyond = append(d.beyond, doc)
	}
	if a.wordless {
		d.wordless = append(d.wordless, doc)
	}
}

// writeTo writes the segment, and returns its name.
func (d *draft) writeTo(to io.Writer, version string) (name string, err error) {
	w := newWriter(to)
	var list []byte
	docs := func(key string, docs []uint32) {
		if len(docs) > 0 {
			list = appendDocs(list[:0], docs, len(d.documents))
			w.add(key, list)
		}
	}
	docs(keyBeyond, d.beyond)
	d.eachGram(func(gram uint32, found []uint32) { docs(gramKey(gram), found) })
	forms := make([]string, 0, len(d.words))
	for form := range d.words {
		forms = append(forms, form)
	}
	slices.Sort(forms)
	for _, form := range forms {
		list = appendOccurrences(list[:0], d.words[form])
		w.add(keyWord+form, list)
	}
	docs(keyWordless, d.wordless)
	return w.finish(version, d.text, d.documents)
}

// eachGram calls do for each trigram in order, with its documents in order.
func (d *draft) eachGram(do func(gram uint32, docs []uint32)) {
	ends, total := make([]uint32, grams), uint32(0)
	for _, of := range d.grams {
		for _, gram := range of {
			ends[gram]++
		}
	}
	for gram, n := range ends {
		ends[gram] = total // the start, until documents are added
		total += n
	}
	all := make([]uint32, total)
	for doc, of := range d.grams {
		for _, gram := range of {
			all[ends[gram]] = uint32(doc)
			ends[gram]++
		}
	}
	start := uint32(0)
	for gram, end := range ends {
		if end > start {
			do(uint32(gram), all[start:end])
		}
		start = end
	}
}
