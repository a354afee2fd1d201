package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is the Markdown of a run: what it was made on, a table for each
// repository, and at the end what was wanted.
func report(s settings, machine []fact, r results) string {
	var b strings.Builder
	b.WriteString("## Beside git, compressors and go-git\n\n")
	writeFacts(&b, s, machine, r)
	for _, found := range r.repositories {
		if !found.corpus.curve && len(found.archives.order) > 0 {
			writeArchives(&b, found)
		}
	}
	writeReaders(&b, r)
	writeCrowds(&b, r)
	writeCurve(&b, r)
	writeTargets(&b, r)
	return b.String()
}

func writeFacts(b *strings.Builder, s settings, machine []fact, r results) {
	fmt.Fprintf(b, "To repeat it: `%s`\n\n", s.command)
	for _, f := range machine {
		fmt.Fprintf(b, "* %s: %s\n", f.name, f.value)
	}
	fmt.Fprintf(b, "* git: %s; the run took %s\n", strings.TrimPrefix(r.git, "git version "), r.took.Round(time.Second))
	fmt.Fprintf(b, `
All contestants are whole processes, run in turn, in alternating order, with a warm
page cache. Figures are medians of at most %d rounds; of %d for (e) and for archives at once,
and from one round for the slow compressors and go-git on (e). × is the ratio to
`+"`git archive --format=tar.gz`"+`, the median of the rounds' own ratios. CPU is user and system
time of all processes. Memory is the peak of samples, anonymous and file-mapped pages
apart: mapped packs belong to the page cache. The server was warmed by one request, and
the client's work is in the wall time only.
`, s.scale.rounds, s.scale.longRounds)
	if s.scale.name != fullScale().name {
		b.WriteString("\n**A trial on small repositories: the verdicts mean nothing.**\n")
	}
}

func writeArchives(b *strings.Builder, found repository) {
	same := "the same tar as git's, to the byte"
	if !found.facts.same {
		same = "**not the same tar as git's**"
	}
	fmt.Fprintf(b, "\n### %s\n\n%d files, %d objects, %s of tar; %s.\n\n", found.corpus.title,
		found.facts.files, found.facts.objects, mebibytes(float64(found.facts.tarBytes)), same)
	t := table{head: []string{"", "wall s", "×", "CPU s", "×", "first byte ms", "×", "size MiB", "×", "anonymous MiB", "mapped MiB", "rounds"}}
	for _, name := range found.archives.order {
		t.rows = append(t.rows, archiveRow(found.archives, name, len(t.head)))
	}
	b.WriteString(t.String())
}

func archiveRow(s series, name string, columns int) []string {
	if note := s.notes[name]; note != "" {
		row := make([]string, columns)
		row[0], row[1] = name, note
		return row
	}
	row := []string{name}
	row = append(row, compared(s, name, wallOf, seconds)...)
	row = append(row, compared(s, name, cpuOf, seconds)...)
	row = append(row, compared(s, name, firstOf, bareMilliseconds)...)
	row = append(row, compared(s, name, bytesOf, bareMebibytes)...)
	return append(row, bareMebibytes(s.median(name, anonymousOf)), bareMebibytes(s.median(name, mappedOf)), strconv.Itoa(len(s.runs[name])))
}

// compared is a figure and its ratio to git's.
func compared(s series, name string, of func(usage) float64, show func(float64) string) []string {
	return []string{show(s.median(name, of)), ratio(s.ratio(name, gitTarGz, of))}
}

func writeReaders(b *strings.Builder, r results) {
	t := table{head: []string{"", "of ", "wall s", "×", "CPU s", "×", "anonymous MiB", "mapped MiB"}}
	for _, found := range r.repositories {
		s := found.readers
		for _, name := range s.order {
			to := goGitBlobs
			if name == gitSizes || name == ownSizes {
				to = gitSizes
			}
			if note := s.notes[name]; note != "" {
				t.add(label(found.corpus.key), name, note, "", "", "", "", "")
				continue
			}
			t.add(label(found.corpus.key), name, seconds(s.median(name, wallOf)), ratio(s.ratio(name, to, wallOf)),
				seconds(s.median(name, cpuOf)), ratio(s.ratio(name, to, cpuOf)),
				bareMebibytes(s.median(name, anonymousOf)), bareMebibytes(s.median(name, mappedOf)))
		}
	}
	if len(t.rows) > 0 {
		fmt.Fprintf(b, "\n### Reading the objects of a commit\n\n× is to go-git for blobs, to `git ls-tree -r -l` for sizes.\n\n%s", &t)
	}
}

func writeCrowds(b *strings.Builder, r results) {
	found, _ := r.find(keyTree)
	if len(found.crowds) == 0 {
		return
	}
	t := table{head: []string{"at once", "of ", "wall of all s", "×", "CPU s", "×", "latest first byte ms", "anonymous MiB", "mapped MiB", "rounds"}}
	for _, n := range slices.Sorted(maps.Keys(found.crowds)) {
		s := found.crowds[n]
		for _, name := range s.order {
			row := append([]string{strconv.Itoa(n), name}, compared(s, name, wallOf, seconds)...)
			row = append(row, compared(s, name, cpuOf, seconds)...)
			row = append(row, bareMilliseconds(s.median(name, firstOf)), bareMebibytes(s.median(name, anonymousOf)),
				bareMebibytes(s.median(name, mappedOf)), strconv.Itoa(len(s.runs[name])))
			t.rows = append(t.rows, row)
		}
	}
	fmt.Fprintf(b, "\n### Archives of (a) at once\n\nProcesses of git started together, beside requests to one server; memory is the sum.\n\n%s", &t)
}

// writeCurve shows how the cost grows with the number of files.
func writeCurve(b *strings.Builder, r results) {
	t := table{head: []string{"files", "of ", "wall s", "×", "µs per file", "CPU s", "×", "first byte ms", "anonymous MiB", "size MiB", "×"}}
	for _, found := range r.repositories {
		if found.corpus.files == 0 || len(found.archives.order) == 0 {
			continue
		}
		s := found.archives
		for _, name := range []string{gitTarGz, ownCommand, ownHTTP} {
			row := append([]string{strconv.Itoa(found.corpus.files), name}, compared(s, name, wallOf, seconds)...)
			row = append(row, shown(s.median(name, wallOf)*1e6/float64(found.corpus.files), "%.1f"))
			row = append(row, compared(s, name, cpuOf, seconds)...)
			row = append(row, bareMilliseconds(s.median(name, firstOf)), bareMebibytes(s.median(name, anonymousOf)))
			t.rows = append(t.rows, append(row, compared(s, name, bytesOf, bareMebibytes)...))
		}
	}
	if len(t.rows) > 0 {
		fmt.Fprintf(b, "\n### Cost by the number of files\n\n%s", &t)
	}
}

func writeTargets(b *strings.Builder, r results) {
	b.WriteString("\n### Wanted and measured\n\nOn two cores, against `git archive --format=tar.gz` of the same commit, whole processes.\n\n")
	t := table{head: []string{"", "wanted ", "measured ", "verdict "}}
	for _, wish := range targets(r) {
		t.add(wish.what, wish.wanted, wish.measured(), wish.verdict())
	}
	b.WriteString(t.String())
}
