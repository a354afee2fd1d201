package main

import "strings"

// table is a table of Markdown. The first column holds words, the others
// figures, but those whose head ends in a space.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "--:"
		if i == 0 || strings.HasSuffix(t.head[i], " ") {
			rule[i] = "---"
		}
	}
	line(rule)
	for _, cells := range t.rows {
		line(cells)
	}
	return b.String()
}
