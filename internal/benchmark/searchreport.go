package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// searchReport is the Markdown of the searches.
func searchReport(s settings, machine []fact, r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Search beside git grep\n\nTo repeat it: `%s`\n\n", s.command)
	for _, f := range machine {
		fmt.Fprintf(&b, "* %s: %s\n", f.name, f.value)
	}
	fmt.Fprintf(&b, "* git: %s; the run took %s\n", strings.TrimPrefix(r.git, "git version "), r.took.Round(time.Second))
	found, _ := r.find(keyTree)
	fmt.Fprintf(&b, `
HEAD of %s, %d files, a bare repository with a warm page cache; all lines
are wanted and written. git is a process; repomcp is one too, or a part of a server
whose packs are open: with an empty cache of answers, and then once more. × is the ratio
to the first row, the median of the ratios of %d rounds, in which all take turns.
`, strings.TrimPrefix(found.corpus.title, "(a) "), found.facts.files, s.scale.rounds)
	if s.scale.name != fullScale().name {
		b.WriteString("\n**A trial on small repositories: the verdicts mean nothing.**\n")
	}
	for _, one := range found.searches {
		writeSearch(&b, one)
	}
	b.WriteString("\n### Wanted and measured\n\n")
	t := table{head: []string{"", "wanted ", "measured ", "verdict "}}
	for _, wish := range searchTargets(found) {
		t.add(wish.what, wish.wanted, wish.measured(), wish.verdict())
	}
	b.WriteString(t.String())
	return b.String()
}

func writeSearch(b *strings.Builder, one searched) {
	same := "the same as git's"
	if !one.same {
		same = "**not those of git**"
	}
	fmt.Fprintf(b, "\n### For %s\n\n%d lines, %s.\n\n", one.title, one.lines, same)
	t := table{head: []string{"", "wall s", "×", "CPU s", "×", "rounds"}}
	for _, name := range one.series.order {
		if note := one.series.notes[name]; note != "" {
			t.add(name, note, "", "", "", "")
			continue
		}
		t.add(name, fineSeconds(one.series.median(name, wallOf)), fineRatio(one.series.ratio(name, gitGrep, wallOf)),
			fineSeconds(one.series.median(name, cpuOf)), fineRatio(one.series.ratio(name, gitGrep, cpuOf)), strconv.Itoa(len(one.series.runs[name])))
	}
	b.WriteString(t.String())
}

// fineSeconds and fineRatio show warm searches too, which take microseconds.
func fineSeconds(v float64) string { return shown(v, "%.4g") }
func fineRatio(v float64) string   { return shown(v, "%.3g") }

// searchTargets are the wishes, with what was measured for each.
func searchTargets(found repository) []target {
	readings := func(name string, limit float64) []reading {
		var list []reading
		for _, one := range found.searches {
			list = append(list, reading{one.key, one.series.ratio(name, gitGrep, wallOf), limit, fineRatio})
		}
		return list
	}
	return []target{
		{"nothing remembered, against `git grep -n -I`, wall", "1.0", readings(ownCold, 1)},
		{"searched before, wall", "0.2", readings(ownWarm, 0.2)},
	}
}
