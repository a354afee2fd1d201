package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// target is a row of what is wanted: on each of the repositories the quantity
// of one contestant is at most limit times that of another, or at most limit
// where there is no other.
type target struct {
	what, title string // of the row, and the beginning of the comparison's title
	corpora     []string
	own, peer   string
	of          func(usage) float64
	limit       float64
	unit        float64 // what the limit counts, where there is no peer
	worst       bool    // the worst round counts, where there is no peer
}

// targets are all that is wanted.
func targets() []target {
	const (
		mebibyte    = 1 << 20
		millisecond = 1e-3
	)
	a, ab, abc := []string{"a"}, []string{"a", "b"}, []string{"a", "b", "c"}
	f := []string{"sync"}
	one, own := "archives of HEAD", ownTarGz
	all := []string{"a", "b", "small", "c", "d", "e"}
	return []target{
		{"tar.gz against git's, wall", one, ab, own, gitTarGz, wall, 0.23, 0, false},
		{"the same", one, []string{"small", "d"}, own, gitTarGz, wall, 0.33, 0, false},
		{"the same", one, []string{"c"}, own, gitTarGz, wall, 0.36, 0, false},
		{"the same", one, []string{"e"}, own, gitTarGz, wall, 0.15, 0, false},
		{"tar.gz, CPU", one, ab, own, gitTarGz, cpu, 0.50, 0, false},
		{"tar.gz, size", one, all, own, gitTarGz, size, 1.05, 0, false},
		{"plain tar against git's, wall", one, abc, ownTar, gitTar, wall, 0.60, 0, false},
		{"tar.gz over HTTP against the command, wall", one, all, httpTarGz, own, wall, 1.10, 0, false},
		{"anonymous memory of the command, MiB", one, all, own, "", anonymous, 64, mebibyte, false},
		{"anonymous memory of the server, MiB", one, all, httpTarGz, "", anonymous, 64, mebibyte, false},
		{"first byte of the command, ms", one, ab, own, "", first, 20, millisecond, false},
		{"tar.zst against git and zstd, wall", "other formats", ab, ownZstd, gitZstd, wall, 1.1, 0, false},
		{"tar.zst, size", "other formats", ab, ownZstd, gitZstd, size, 1.0, 0, false},
		{"zip against git's, wall", "other formats", ab, ownZip, gitZip, wall, 0.35, 0, false},
		{"fifty archives at once, wall", "50 archives", a, httpTarGz, gitTarGz, wall, 0.36, 0, false},
		{"fifty archives at once, anonymous MiB", "50 archives", a, httpTarGz, "", anonymous, 300, mebibyte, false},
		{"all blobs against go-git, wall", "reading all blobs", abc, ownRead, goGitRead, wall, 0.15, 0, false},
		{"all sizes against git ls-tree, wall", "sizes of all", abc, ownSizes, gitSizes, wall, 1.0, 0, false},
		{"search against git grep, wall", "lines with", a, ownCold, gitGrep, wall, 1.0, 0, false},
		{"the same search again", "lines with", a, ownWarm, gitGrep, wall, 0.2, 0, false},
		{"first sync against a clone over HTTP, wall", "first sync", f, syncFirst, cloneHTTP, wall, 0.5, 0, false},
		{"the same, CPU of the client", "first sync", f, syncFirst, cloneHTTP, cpu, 0.4, 0, false},
		{"first sync against a clone of a file, wall", "first sync", f, syncFirst, cloneFile, wall, 0.5, 0, false},
		{"first sync against curl and tar, wall", "first sync", f, syncFirst, curlTar, wall, 1.0, 0, false},
		{"nothing new against git fetch, wall", "nothing new", f, syncFirst, gitFetch, wall, 0.5, 0, false},
		{"changed files against fetch and reset, wall", "changed", f, syncFirst, gitReset, wall, 0.5, 0, false},
		{"the same against git pull", "changed", f, syncFirst, gitPull, wall, 0.5, 0, false},
		{"the same against rsync", "changed", f, syncFirst, rsyncDelete, wall, 1.0, 0, false},
		{"push to file, s", "push to file", f, syncFirst, "", wall, 0.3, 1, false},
		{"push to file, worst of 50, s", "push to file", f, syncFirst, "", wall, 1, 1, true},
		{"anonymous memory of a first sync, MiB", "first sync", f, syncFirst, "", anonymous, 64, mebibyte, false},
	}
}

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
	return fmt.Sprintf("| %s, %s | %v | %s | %s |\n", t.what, strings.Join(t.corpora, " "), t.limit,
		strings.Join(measured, ", "), verdict)
}

// values on one repository: one of each comparison that the target is about.
func (t target) values(results []result, key string) []float64 {
	var values []float64
	for _, r := range results {
		if r.corpus.key != key || !strings.HasPrefix(r.comparison.title, t.title) {
			continue
		}
		v := r.ratio(t.own, t.peer, t.of)
		if t.peer == "" {
			v = r.median(t.own, t.of) / t.unit
			if t.worst {
				v = slices.Max(append(r.values(t.own, t.of), math.Inf(-1))) / t.unit
			}
		}
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}
