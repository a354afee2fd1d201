// Package spelling finds the names that a misspelt name is likely to mean.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// minPart is the minimal length of a prefix or suffix that suggests a name.
	minPart = 2
	// oneIn is the share of wrong letters in a misspelt name.
	oneIn = 3
)

// Closest returns the known names that a misspelt one is likely to mean, likeliest first. Its time
// is proportional to the length of the names.
func Closest(name string, known []string, most int) []string {
	type candidate struct {
		name string
		likeness
	}
	var found []candidate
	wanted := Fold(name)
	for _, k := range known {
		if like, ok := compareNames(wanted, Fold(k)); ok {
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
			break // a closer class was meant
		}
		names = append(names, c.name)
	}
	return names
}

// Fold makes names equal that differ only in case and in separators between words: agents confuse
// per_page and perPage.
func Fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}

// likeness of two names: class is the kind of similarity, best first.
type likeness struct{ class, distance int }

func compareNames(wanted, known string) (like likeness, ok bool) {
	difference := max(len(wanted)-len(known), len(known)-len(wanted))
	switch {
	case wanted == known:
		return likeness{0, 0}, true
	case strings.HasSuffix(known, "/"+wanted), strings.HasSuffix(wanted, "/"+known):
		return likeness{1, difference}, true
	case len(wanted) >= minPart && (strings.HasPrefix(known, wanted) || strings.HasSuffix(known, wanted)):
		return likeness{2, difference}, true
	}
	if wrong := len(wanted)/oneIn + 1; difference < wrong {
		distance := editDistance(wanted, known)
		return likeness{3, distance}, distance < wrong
	}
	return likeness{}, false
}

// editDistance returns the number of bytes to insert, delete, replace or exchange with their
// neighbour (the optimal string alignment distance).
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
