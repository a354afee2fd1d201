package rank

import (
	"slices"
	"strings"
)

// inPath is what the path of a file has of a query.
type inPath struct {
	terms []place // of each term
	// folders are those whose whole name is a term, in lower case.
	folders []string
}

// place is where a term stands in a path.
type place uint8

const (
	notInPath place = iota
	withinPath
	isStem // the whole name of the file without its extension
)

// inPath looks the terms of a query up in a path.
func (s *Scanner) inPath(q *Query, path string) inPath {
	in := inPath{terms: make([]place, len(q.terms))}
	first, last := stemOf(path)
	s.each(q, []byte(path), func(term, start, end int) {
		in.terms[term] = max(in.terms[term], withinPath)
		if start <= first && end >= last {
			in.terms[term] = isStem
		}
		if (start == 0 || path[start-1] == '/') && end < len(path) && path[end] == '/' {
			in.folders = append(in.folders, strings.ToLower(path[start:end]))
		}
	})
	return in
}

// stemOf returns where the name of a file stands in its path, without its extension and without the dots and
// underscores that it begins and ends with.
func stemOf(path string) (start, end int) {
	const around = "._"
	name := path[strings.LastIndexByte(path, '/')+1:]
	trimmed := strings.TrimLeft(name, around)
	start = len(path) - len(trimmed)
	stem, _, _ := strings.Cut(trimmed, ".")
	return start, start + len(strings.TrimRight(stem, around))
}

// fileName returns a word of a query as it may end a path, in lower case, or "" if it is not written as the name of a
// file: with a dot or a slash. A line number behind it is left out, as in src/eval.c:120.
func fileName(word string) string {
	const around = "`'\"()[]{}<>,;:!?"
	name, _, _ := strings.Cut(strings.Trim(word, around), ":")
	name = strings.TrimLeft(strings.TrimPrefix(strings.TrimRight(name, around+"."), "./"), "/")
	if !strings.ContainsAny(name, "./") {
		return ""
	}
	return strings.ToLower(name)
}

// addFileName notes a word that may be the name of a file.
func (q *Query) addFileName(word string) {
	if name := fileName(word); name != "" && len(q.fileNames) < MaxWords {
		q.fileNames = append(q.fileNames, name)
	}
}

// names reports whether a word of the query is the name of a file, with or without folders.
func (q *Query) names(path string) bool {
	if len(q.fileNames) == 0 {
		return false
	}
	path = strings.ToLower(path)
	return slices.ContainsFunc(q.fileNames, func(name string) bool {
		folders, ok := strings.CutSuffix(path, name)
		return ok && (folders == "" || strings.HasSuffix(folders, "/"))
	})
}
