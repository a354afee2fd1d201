// Package rank orders files by the words of a query, and chooses their best lines.
//
//	query := rank.Parse(words, rank.Options{})
//	tally := scanner.Tally(query, text)              // of each file, in any order and place
//	statistics.Add(tally)                            // of all files
//	score := query.Score(statistics, path, tally)    // sorts the files
//	reading := scanner.Read(query, statistics, text) // of the first files: nearness and lines
//
// A tally depends on the query and on one text alone, so it may be remembered by the id of a blob and
// its language, or come from an index. Scores depend on tallies and statistics alone, so they are the same for
// any number of workers.
//
// # Words
//
// An identifier counts as a whole, without its underscores, and by its parts: parseURL is parseurl,
// pars and url. Letters are folded and endings cut (Porter's English stemmer), so parse_urls has the same
// forms. Words that only join others (the, of, how) do not count beside other words.
//
// # Scores
//
// The score is BM25F: a term's occurrences, weighted by where they stand, saturate, and are multiplied with the
// term's rarity ln(1 + (N-n+0.5)/(n+0.5)), where n of N files have it. The weights follow from what
// the places mean; none was fitted to a repository.
//
//	weight            value  reason
//	weightWhole       1      the word as it was written
//	weightSpecific    2      a whole identifier of several parts names one thing, a word of prose many
//	weightPart        0.4    a part of an identifier is half meant at most, and there are two or more
//	weightName        3      a definition of the very word is what most questions want; counts once
//	weightInName      2      names are chosen to tell what the code does
//	weightPath        3      so are the names of files and folders; counts once
//	weightStem        2      a file that is called by the word and nothing else is about it: up to two fifths more
//	                         than the most that occurrences can count, however many these are
//	saturation        4      BM25's k1. 1.2 suits queries of two or three words; a question has ten and
//	                         more, and a file that says one of them once is hardly about it
//	lengthShare       0.75   BM25's b, its usual value
//	typicalBytes      8 KiB  the length that counts as normal: the mean of source files. A constant
//	                         keeps scores of repositories comparable
//	repeatedWord      0.5    exponent of a word's number in the query: it is meant more, but not twice
//	weightTogether    2      words in one passage are about one thing: up to three times the score
//	passageBytes      800    about a function or a paragraph
//	tests             0.7    tests repeat the words of what they test, and are read after it
//	documentation     0.3    prose and data repeat words, and code was asked for
//	generated         0.3    hardly read; what it was made from says the same
//	vendored          0.3    foreign code, which was copied
//
// Where some file has an identifier of several parts as a whole, the parts alone are not the word; a query that is one
// such identifier has all files with it first, also documentation and data.
//
// Files whose names are words of the query, as "eval.c" or "src/eval.c", come first: who writes a name means the file.
// Code and tests that have all words come before other files, whatever their scores are, and among these the ones that
// define the only word of the query or what its pattern matches. Documentation, data and generated code do not: the
// longest of them have all words of most queries. A folder of examples, generated or foreign code is taken for code if
// its name is in the query.
package rank

const (
	weightWhole    = 1
	weightSpecific = 2
	weightPart     = 0.4
	weightName     = 3
	weightInName   = 2
	weightPath     = 3
	weightStem     = 2
	saturation     = 4
	lengthShare    = 0.75
	typicalBytes   = 8 << 10
	repeatedWord   = 0.5
	weightTogether = 2
	passageBytes   = 800
)
