package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	table := table{head: []string{"", "words ", "figure"}}
	table.add("row", "some", "1")
	want := "|  | words  | figure |\n| --- | --- | --: |\n| row | some | 1 |\n"
	if got := table.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestUnits(t *testing.T) {
	for got, want := range map[string]string{
		seconds(0.1234):        "0.123",
		seconds(12.345):        "12.35",
		seconds(math.NaN()):    "–",
		milliseconds(0.0123):   "12.3 ms",
		mebibytes(3 << 19):     "1.5 MiB",
		exactRatio(math.NaN()): "–",
		binarySize(1 << 30):    "1 GiB",
		binarySize(1500):       "1500 bytes",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReplaceMarked(t *testing.T) {
	p, other := archivesPart, searchPart.begin()+"kept\n"+searchPart.end()
	document := "# Title\n" + p.begin() + "old\n" + p.end() + "after\n" + other
	got, err := p.replace(document, "\nnew\n")
	if want := "# Title\n" + p.begin() + "\nnew\n\n" + p.end() + "after\n" + other; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if again, err := p.replace(got, "new"); err != nil || again != got {
		t.Errorf("the second time gives %q, %v", again, err)
	}
	for _, bad := range []string{"", p.begin(), p.end() + p.begin(), document + document, other} {
		if _, err := p.replace(bad, "new"); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestVerdict(t *testing.T) {
	for want, values := range map[string][]float64{
		holds: {0.1, 0.25}, doesNotHold: {0.1, 0.26, math.NaN()}, incomplete: {0.1, math.NaN()},
	} {
		wish := target{}
		for _, v := range values {
			wish.readings = append(wish.readings, reading{"(a)", v, 0.25, exactRatio})
		}
		if got := wish.verdict(); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

// of makes the runs of one contestant, by their wall times and sizes.
func of(name string, wall time.Duration, bytes int64) series {
	return series{order: []string{name}, runs: map[string][]usage{name: {{wall: wall, cpu: wall, first: wall, bytes: bytes}}}}
}

func merged(list ...series) series {
	all := series{runs: map[string][]usage{}}
	for _, s := range list {
		all.order = append(all.order, s.order...)
		for name, runs := range s.runs {
			all.runs[name] = runs
		}
	}
	return all
}

func TestTargetsReadTheRightFigures(t *testing.T) {
	measured := merged(of(gitTarGz, 10*time.Second, 100), of(ownCommand, 2*time.Second, 108), of(ownHTTP, 3*time.Second, 108))
	r := results{repositories: []repository{
		{corpus: corpus{key: keyFiles, files: 100}, archives: measured},
		{corpus: corpus{key: keyTree}, archives: measured, crowds: map[int]series{crowdWanted: measured}},
	}}
	got := map[string]target{}
	for _, wish := range targets(r) {
		got[wish.what] = wish
	}
	for what, want := range map[string]struct{ measured, verdict string }{
		"wall, (a), (b)": {"(a) 0.200, (b) –", incomplete},
		"wall, (c)":      {"(c) 0.200", holds},
		"size (c: 1.10)": {"(a) 1.080, (b) –, small –, (c) 1.080, (d) –, (e) –", doesNotHold},
		"50 concurrent archives of (a): wall of all, against 50 git processes": {"0.300", holds},
		"time to first byte, (a), (b) warm; (c) against git's":                 {"(a) 3000.0 ms, (b) –, (c) 0.200", doesNotHold},
	} {
		if wish := got[what]; wish.measured() != want.measured || wish.verdict() != want.verdict {
			t.Errorf("%s: %q, %s; want %q, %s", what, wish.measured(), wish.verdict(), want.measured, want.verdict)
		}
	}
}

func TestReportEndsWithWhatIsWanted(t *testing.T) {
	text := report(settings{scale: fullScale(), command: "go run ./internal/benchmark"}, []fact{{"machine", "an abacus"}}, results{})
	_, last, ok := strings.Cut(text, "### Wanted and measured\n")
	if !ok || strings.Count(last, "\n| ") != 2+len(targets(results{})) {
		t.Errorf("the report ends with\n%s", last)
	}
	if !strings.Contains(text, "an abacus") || !strings.Contains(text, "`go run ./internal/benchmark`") {
		t.Error("the report does not say how and where it was made")
	}
}
