package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
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
	machine, _ := exec.CommandContext(ctx, "sh", "-c", facts).Output() // what cannot be found is left empty
	for line := range strings.Lines(string(machine)) {
		text.WriteString("* " + strings.TrimSpace(line) + "\n")
	}
	fmt.Fprintf(&text, "* the run took %s\n", time.Since(b.start).Round(time.Second))
	text.WriteString("\nFigures are medians of the rounds; " +
		"× is the median of the rounds' own ratios to the first row.\n")
	if b.quick {
		text.WriteString("\n**A trial on small repositories: the verdicts mean nothing.**\n")
	}
	for _, r := range b.results {
		fmt.Fprintf(&text, "\n### %s: %s\n\n", r.corpus.title, r.comparison.title)
		text.WriteString("| | wall s | × | CPU s | × | first byte ms | MiB | × " +
			"| anonymous MiB | mapped MiB | rounds |\n")
		text.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, one := range r.comparison.contestants {
			text.WriteString(r.row(one.name))
		}
	}
	text.WriteString(b.updates)
	text.WriteString("\n### Wanted and measured\n\n| | wanted | measured | verdict |\n|---|---|---|---|\n")
	for _, t := range targets() {
		text.WriteString(t.row(b.results))
	}
	return text.String()
}

func (r result) row(name string) string {
	if r.failures[name] != nil {
		return "| " + name + " | failed |\n"
	}
	const mebibyte = 1 << 20
	base := r.comparison.contestants[0].name
	cells := []string{
		name,
		figure(r.median(name, wall)), figure(r.ratio(name, base, wall)),
		figure(r.median(name, cpu)), figure(r.ratio(name, base, cpu)),
		figure(r.median(name, first) * 1000),
		figure(r.median(name, size) / mebibyte), figure(r.ratio(name, base, size)),
		figure(r.median(name, anonymous) / mebibyte), figure(r.median(name, mapped) / mebibyte),
		strconv.Itoa(len(r.usages[name])),
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
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

func (r result) values(name string, of func(usage) float64) []float64 {
	var values []float64
	for _, u := range r.usages[name] {
		values = append(values, of(u))
	}
	return values
}

func (r result) median(name string, of func(usage) float64) float64 {
	return median(r.values(name, of))
}

// ratio of one contestant to another. Both of one pair were measured in the same
// round, so that what slowed the machine in that round slowed both.
func (r result) ratio(name, to string, of func(usage) float64) float64 {
	ours, theirs := r.values(name, of), r.values(to, of)
	var ratios []float64
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] != 0 {
			ratios = append(ratios, ours[i]/theirs[i])
		}
	}
	return median(ratios)
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

// facts are those of the machine and of the programs, a line each.
const facts = `
echo "date: $(date -u +%F)"
echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors, Linux $(uname -r)"
echo "load at the end, of 1, 5 and 15 minutes, the run's own included: $(cut -d ' ' -f 1-3 /proc/loadavg)"
echo "repomcp $(git describe --always --dirty), $(git version), $(go env GOVERSION), zstd $(zstd --version | grep -o 'v[0-9.]*')"`
