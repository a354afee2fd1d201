package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The report stands between these lines of its document.
const (
	reportBegin = "<!-- benchmark:begin -->\n"
	reportEnd   = "<!-- benchmark:end -->\n"
)

// reportFile is a document cut at the markers, or standard output.
type reportFile struct{ name, before, after string }

// openReport looks before the long run whether the report can be written.
func openReport(name string) (reportFile, error) {
	if name == "-" {
		return reportFile{}, nil
	}
	document, err := os.ReadFile(name)
	if err != nil {
		return reportFile{}, err
	}
	before, rest, ok := strings.Cut(string(document), reportBegin)
	_, after, closed := strings.Cut(rest, reportEnd)
	if !ok || !closed {
		return reportFile{}, fmt.Errorf("%s needs the lines %s and %s", name, strings.TrimSpace(reportBegin),
			strings.TrimSpace(reportEnd))
	}
	return reportFile{name, before, after}, nil
}

func (f reportFile) write(text string) error {
	if f.name == "" {
		_, err := fmt.Println(text)
		return err
	}
	document := f.before + reportBegin + "\n" + text + "\n" + reportEnd + f.after
	return os.WriteFile(f.name, []byte(document), 0o644) //nolint:gosec // a document
}

// markdown is the report.
func (b *bench) markdown(ctx context.Context) string {
	var text strings.Builder
	text.WriteString("## Beside git, compressors and go-git\n\nTo repeat it: `make bench`\n\n")
	machine, _ := shell(ctx, nil, commands+"facts 2> /dev/null") // what cannot be found is left empty
	for line := range strings.Lines(machine) {
		text.WriteString("* " + strings.TrimSpace(line) + "\n")
	}
	fmt.Fprintf(&text, "* the run took %s\n", time.Since(b.start).Round(time.Second))
	text.WriteString("\nFigures are medians of the rounds; " +
		"× is the median of the rounds' own ratios to the first row.\n")
	if b.quick {
		text.WriteString("\n**A trial on small repositories: the verdicts mean nothing.**\n")
	}
	for _, r := range b.results {
		fmt.Fprintf(&text, "\n### %s: %s\n\n%s", r.corpus.title, r.heading(), columns[r.updates])
		for _, one := range r.contestants {
			row := []string{one.name, "failed"}
			if r.failures[one.name] == nil {
				row = r.row(one.name)
			}
			text.WriteString("| " + strings.Join(row, " | ") + " |\n")
		}
	}
	text.WriteString("\n### Wanted and measured\n\n| | wanted | measured | verdict |\n|---|---|---|---|\n")
	for _, t := range b.tables.targets {
		text.WriteString(t.row(b.results))
	}
	return text.String()
}

// columns of a comparison, and of one of updates.
var columns = map[bool]string{
	false: "| | wall s | × | CPU s | × | first byte ms | MiB | × | anonymous MiB | mapped MiB | rounds |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
	true: "| | median | × | × in nine of ten | all |\n|---|--:|--:|--:|--:|\n",
}

// heading counts the steps of updates: a short history has fewer than are asked for.
func (r result) heading() string {
	if base := r.contestants[0].name; r.updates {
		return fmt.Sprintf(r.title, len(r.ratios(base, base, size)))
	}
	return r.title
}

// row of one contestant, as the columns have it.
func (r result) row(name string) []string {
	base := r.contestants[0].name
	if r.updates {
		bytes, sum := []float64{}, 0.0
		for _, mebibytes := range r.values(name, size) {
			if mebibytes > 0 { // there was such a step
				bytes, sum = append(bytes, mebibytes*mebibyte), sum+mebibytes*mebibyte
			}
		}
		ratios := slices.Sorted(slices.Values(r.ratios(name, base, size)))
		ninth := math.NaN()
		if n := len(ratios); n > 0 {
			ninth = ratios[(9*n+9)/10-1]
		}
		return []string{name, fmt.Sprintf("%.0f", median(bytes)), figure(median(ratios)), figure(ninth), fmt.Sprintf("%.0f", sum)}
	}
	cells := []string{name}
	for of := wall; of <= mapped; of++ {
		cells = append(cells, figure(median(r.values(name, of))))
		if of == wall || of == cpu || of == size {
			cells = append(cells, figure(median(r.ratios(name, base, of))))
		}
	}
	return append(cells, strconv.Itoa(len(r.usages[name])))
}

// figure shows three digits; "–" stands for what was not measured.
func figure(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
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
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
