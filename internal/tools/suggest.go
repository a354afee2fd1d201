package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxSuggested is how many names an error suggests.
	maxSuggested = 3
	// minPart is the shortest beginning or end of a name that suggests it.
	minPart = 2
	// oneIn is the share of its letters that may be wrong in a misspelt name.
	oneIn = 3
)

// Unknown says that there is no such tool or prompt, which one is likely meant,
// and which there are. kind is the word for what it is.
func Unknown(kind, name string, offered []string) string {
	near := closest(name, offered, 1)
	if len(near) == 0 {
		near = meant(name, offered)
	}
	return fmt.Sprintf("There is no %s %s.%s There are: %s.", kind, quote(clip(name)), didYouMean(near),
		strings.Join(offered, ", "))
}

// subjects are words in the names of other servers' tools, with the tool that is
// about the same here. The first that a name has counts.
var subjects = []struct{ word, tool string }{
	{"release", "list_tags"}, {"get_tag", "get_tag"}, {"tag", "list_tags"}, {"branch", "list_branches"},
	{"blame", "get_file_blame"}, {"annotate", "get_file_blame"},
	{"diff", "compare_commits"}, {"compare", "compare_commits"}, {"changes", "compare_commits"},
	{"log", "list_commits"}, {"history", "list_commits"}, {"commits", "list_commits"}, {"show", "get_commit"},
	{"commit", "get_commit"},
	{"archive", "get_archive_link"}, {"download", "get_archive_link"}, {"zip", "get_archive_link"},
	{"clone", "get_archive_link"},
	{"grep", "search_code"}, {"symbol", "search_code"}, {"definition", "search_code"}, {"reference", "search_code"},
	{"code", "search_code"},
	{"glob", "find_files"}, {"find", "find_files"}, {"search_file", "find_files"}, {"list_file", "find_files"},
	{"tree", "get_repository_tree"}, {"dir", "get_repository_tree"}, {"folder", "get_repository_tree"},
	{"read", "get_file_contents"}, {"file", "get_file_contents"}, {"content", "get_file_contents"},
	{"cat", "get_file_contents"}, {"view", "get_file_contents"}, {"open", "get_file_contents"},
	{"search", "search_code"}, {"list_repo", "search_repositories"}, {"project", "search_repositories"},
	{"repo", "get_repository"},
}

// meant finds the tool that a name of another server is about.
func meant(name string, offered []string) []string {
	name = strings.ToLower(clip(name))
	for _, s := range subjects {
		if strings.Contains(name, s.word) && slices.Contains(offered, s.tool) {
			return []string{s.tool}
		}
	}
	return nil
}

// didYouMean suggests names, as a sentence with a blank before it.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(clip(name))
	}
	last := len(quoted) - 1
	if last > 0 {
		quoted = []string{strings.Join(quoted[:last], ", "), quoted[last]}
	}
	return " Did you mean " + strings.Join(quoted, " or ") + "?"
}

// closest are the known names that a wrong one is likely to mean, the likeliest
// first.
func closest(name string, known []string, most int) []string {
	type candidate struct {
		name string
		likeness
	}
	var found []candidate
	wanted := folded(clip(name))
	for _, k := range known {
		if like, ok := compareNames(wanted, folded(k)); ok {
			found = append(found, candidate{k, like})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.distance, b.distance),
			cmp.Compare(len(a.name), len(b.name)))
	})
	var names []string
	for _, c := range found[:min(len(found), most)] {
		if c.class > found[0].class {
			break // what is alike in a better way was meant
		}
		names = append(names, c.name)
	}
	return names
}

// folded makes names that differ in capitals and in what stands between words
// the same: agents mix per_page and perPage up.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// likeness of two names: class is how they are alike, the best first.
type likeness struct{ class, distance int }

func compareNames(wanted, known string) (like likeness, ok bool) {
	apart := max(len(wanted)-len(known), len(known)-len(wanted))
	switch {
	case wanted == known:
		return likeness{0, 0}, true
	case strings.HasSuffix(known, "/"+wanted), strings.HasSuffix(wanted, "/"+known):
		return likeness{1, apart}, true
	case len(wanted) >= minPart && (strings.HasPrefix(known, wanted) || strings.HasSuffix(known, wanted)):
		return likeness{2, apart}, true
	}
	if wrong := len(wanted)/oneIn + 1; apart < wrong {
		distance := editDistance(wanted, known)
		return likeness{3, distance}, distance < wrong
	}
	return likeness{}, false
}

// editDistance is how many bytes to insert, delete, replace or exchange with the
// next one (the optimal string alignment distance).
func editDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
