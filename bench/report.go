//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is all that was measured, as Markdown.
func (b *bench) report(ctx context.Context) string {
	w := new(strings.Builder)
	machine, _ := shell(ctx, nil, commands+"facts 2> /dev/null") // what cannot be found is left empty
	for line := range strings.Lines(machine) {
		fmt.Fprintf(w, "* %s\n", strings.TrimSpace(line))
	}
	fmt.Fprintf(w, "* the run took %s\n\nFigures are medians of the rounds; × is the median of the rounds' own "+
		"ratios to the first row.\n", time.Since(b.start).Round(time.Second))
	if b.quick {
		w.WriteString("\n**A trial on small repositories: the verdicts mean nothing.**\n")
	}
	for _, r := range b.results {
		fmt.Fprintf(w, "\n### %s: %s\n\n%s", r.corpus.title, r.title, columns)
		for _, one := range r.contestants {
			fmt.Fprintf(w, "| %s |\n", strings.Join(r.row(one.name), " | "))
		}
	}
	w.WriteString("\n### Wanted and measured\n\n| | wanted | measured | verdict |\n|---|---|---|---|\n")
	for _, t := range b.tables.targets {
		w.WriteString(t.row(b.results))
	}
	return w.String()
}

// columns of a comparison.
const columns = "| | wall s | × | CPU s | × | first byte ms | MiB | × | anonymous MiB | mapped MiB | rounds |\n" +
	"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"

// row of one contestant, as the columns have it.
func (r result) row(name string) []string {
	cells := []string{name}
	for of := wall; of <= mapped; of++ {
		cells = append(cells, figure(median(r.values(name, of))))
		if of == wall || of == cpu || of == size {
			cells = append(cells, figure(median(r.ratios(name, r.contestants[0].name, of))))
		}
	}
	return append(cells, strconv.Itoa(len(r.usages[name])))
}

// figure shows three digits; "–" stands for what was not measured.
func figure(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (r result) values(name string, of quantity) (values []float64) {
	for _, u := range r.usages[name] {
		values = append(values, u[of])
	}
	return values
}

// ratios of one contestant to another. Both of one pair were measured in the same
// round, so that what slowed the machine in that round slowed both.
func (r result) ratios(name, to string, of quantity) (ratios []float64) {
	ours, theirs := r.values(name, of), r.values(to, of)
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] != 0 {
			ratios = append(ratios, ours[i]/theirs[i])
		}
	}
	return ratios
}

// median of the values; NaN when there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
