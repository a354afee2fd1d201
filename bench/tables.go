//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// commands has the functions that commands of contestants call, and prints the tables.
//
//go:embed contestants.sh
var commands string

// tables are what is measured.
type tables struct {
	corpora     []corpus
	comparisons []comparison
	targets     []target
}

// corpus is a repository to be measured.
type corpus struct {
	key, title string
	rounds     int    // 0: as many as of others; few where one takes minutes
	root       string // the folder that holds the repository alone
}

// comparison is a set of contestants with the repositories that they are
// compared on. The first contestant is what the others are measured against.
type comparison struct {
	key, title  string
	corpora     []string
	contestants []contestant
	rounds      int    // 0: as many as of others
	far         bool   // all is far away
	change      string // a command that pushes, after the setups of a round, not measured
}

// contestant is one way of getting the same thing: a command of the shell.
type contestant struct {
	name, command string
	server        bool   // the work is done in the server: its time and memory count
	setup, end    string // commands before each round and after the last, not measured
}

// target is a row of what is wanted: on each of the repositories the quantity
// of one contestant is at most limit times that of another, or at most limit
// where there is no other.
type target struct {
	what, title string // of the row, and the beginning of the comparison's title
	corpora     []string
	own, peer   string
	of          quantity
	limit       float64
	worst       bool // the worst round counts, where there is no peer
}

// readTables has the script print its rows, whose words are what contestants.sh says.
func readTables(ctx context.Context) (t tables, err error) {
	text, err := shell(ctx, nil, commands+"tables")
	for line := range strings.Lines(text) {
		// What is left out is "".
		row := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), make([]string, 6)...)
		switch row[0] {
		case "corpus":
			rounds, _ := strconv.Atoi(row[3])
			t.corpora = append(t.corpora, corpus{key: row[1], title: row[2], rounds: rounds})
		case "comparison":
			rounds, _ := strconv.Atoi(row[4])
			t.comparisons = append(t.comparisons, comparison{key: row[1], corpora: strings.Fields(row[2]),
				title: row[3], rounds: rounds, far: row[5] == "far", change: row[6]})
		case "contestant":
			k := &t.comparisons[len(t.comparisons)-1]
			k.contestants = append(k.contestants, contestant{row[1], row[2], row[3] == "server", row[4], row[5]})
		case "target":
			of := slices.Index(quantities, row[6])
			limit, failed := strconv.ParseFloat(row[7], 64)
			if of < 0 || failed != nil {
				return t, fmt.Errorf("contestants.sh: there is no target %q", line)
			}
			t.targets = append(t.targets, target{row[1], row[2], strings.Fields(row[3]), row[4], row[5], quantity(of),
				limit, row[8] == "worst"})
		}
	}
	return t, err
}

// row is empty where nothing was measured that the target is about.
func (t target) row(results []result) string {
	verdict, measured := "holds", []string{}
	for _, key := range t.corpora {
		values := t.values(results, key)
		if len(values) == 0 && verdict == "holds" {
			verdict = "not measured in full"
		}
		for _, v := range values {
			measured = append(measured, key+" "+figure(v))
			if v > t.limit {
				verdict = "**does not hold**"
			}
		}
	}
	if len(measured) == 0 {
		return ""
	}
	return fmt.Sprintf("| %s, %s | %v | %s | %s |\n", t.what, strings.Join(t.corpora, " "), t.limit,
		strings.Join(measured, ", "), verdict)
}

// values on one repository: one of each comparison that the target is about.
func (t target) values(results []result, key string) (values []float64) {
	for _, r := range results {
		if r.corpus.key != key || !strings.HasPrefix(r.title, t.title) {
			continue
		}
		of := r.values(t.own, t.of)
		if t.peer != "" {
			of = r.ratios(t.own, t.peer, t.of)
		}
		if v := median(of); t.worst && len(of) > 0 {
			values = append(values, slices.Max(of))
		} else if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}
