package main

import (
	"fmt"
	"math"
	"strings"
)

// target is a row of what is wanted.
type target struct {
	what, wanted string
	readings     []reading
}

// reading is one figure that a target asks for. The value is NaN when it was
// not measured.
type reading struct {
	label string // of the repository, or "" when the row names it
	value float64
	limit float64
	show  func(float64) string
}

const (
	holds       = "holds"
	doesNotHold = "**does not hold**"
	incomplete  = "not measured in full"
)

// verdict of all readings: one too great decides, a missing one prevents.
func (t target) verdict() string {
	result := holds
	for _, r := range t.readings {
		if r.value > r.limit {
			return doesNotHold
		}
		if math.IsNaN(r.value) {
			result = incomplete
		}
	}
	return result
}

func (t target) measured() string {
	var parts []string
	for _, r := range t.readings {
		parts = append(parts, strings.TrimSpace(r.label+" "+r.show(r.value)))
	}
	return strings.Join(parts, ", ")
}

// targets are what is wanted, with what was measured for each.
func targets(r results) []target {
	ab, all := []string{keyTree, keyHistory}, everyKey(r)
	return []target{
		{"wall, (a), (b)", "0.25", r.ratios(ab, ownCommand, gitTarGz, wallOf, 0.25)},
		{"wall, small repositories of about 5 MB of tar, and (d)", "0.35", r.ratios([]string{keySmall, keyLoose}, ownCommand, gitTarGz, wallOf, 0.35)},
		{"wall, (c)", "0.40", r.ratios([]string{keyFiles}, ownCommand, gitTarGz, wallOf, 0.40)},
		{"wall, (e)", "0.15", r.ratios([]string{keyBig}, ownCommand, gitTarGz, wallOf, 0.15)},
		{"CPU, (a), (b)", "0.50", r.ratios(ab, ownCommand, gitTarGz, cpuOf, 0.50)},
		{"size (c: 1.10)", "1.05", r.sizes(all)},
		{"plain tar against `git archive --format=tar`, wall, (a)–(c)", "0.60", r.ratios([]string{keyTree, keyHistory, keyFiles}, ownTar, gitTar, wallOf, 0.60)},
		{"anonymous memory, one archive, any repository including (e)", "64 MiB", r.worsts(all, anonymousOf, 64<<20, mebibytes, ownCommand, ownTar, ownHTTP)},
		{"50 concurrent archives of (a): anonymous memory", "300 MiB", r.crowd(anonymousOfServer, 300<<20, mebibytes)},
		{"50 concurrent archives of (a): wall of all, against 50 git processes", "0.35", r.crowd(wallOfServer, 0.35, exactRatio)},
		{"time to first byte, (a), (b) warm; (c) against git's", "20 ms; 0.7", r.firstBytes(ab)},
		{"reading all blobs of a commit, against go-git, wall; neither compares ids", "0.15", r.reads(ownAlike, goGitBlobs, 0.15)},
		{"sizes of all blobs of a commit, against `git ls-tree -r -l`", "1.0", r.reads(ownSizes, gitSizes, 1)},
		{"tar.zst against `git archive` \\| `zstd -T2`, wall, (a), (b)", "1.0", r.ratios(ab, ownZstd, gitZstd, wallOf, 1)},
		{"the same, size", "1.0", r.ratios(ab, ownZstd, gitZstd, bytesOf, 1)},
		{"zip against `git archive --format=zip`, wall, (a), (b)", "0.35", r.ratios(ab, ownZip, gitZip, wallOf, 0.35)},
		{"an archive through HTTP, against the command", "1.10", r.ratios(all, ownHTTP, ownCommand, wallOf, 1.10)},
	}
}

// everyKey of a repository that a wish without names is about.
func everyKey(r results) []string {
	all := []string{keyTree, keyHistory, keySmall, keyFiles, keyLoose, keyBig}
	if _, ok := r.find(keyMirror); ok {
		all = append(all, keyMirror)
	}
	return all
}

// label is how the report names a repository in few letters.
func label(key string) string {
	if len(key) == 1 {
		return "(" + key + ")"
	}
	return key
}

func (r results) ratios(keys []string, own, peer string, of func(usage) float64, limit float64) []reading {
	var list []reading
	for _, key := range keys {
		found, _ := r.find(key)
		list = append(list, reading{label(key), found.archives.ratio(own, peer, of), limit, exactRatio})
	}
	return list
}

func (r results) sizes(keys []string) []reading {
	list := r.ratios(keys, ownCommand, gitTarGz, bytesOf, 1.05)
	for i, key := range keys {
		if key == keyFiles {
			list[i].limit = 1.10
		}
	}
	return list
}

func (r results) worsts(keys []string, of func(usage) float64, limit float64, show func(float64) string, names ...string) []reading {
	var list []reading
	for _, key := range keys {
		found, _ := r.find(key)
		list = append(list, reading{label(key), found.archives.worst(of, names...), limit, show})
	}
	return list
}

// firstBytes takes the later of the command, which has to start, and the server.
func (r results) firstBytes(keys []string) []reading {
	list := r.worsts(keys, firstOf, 0.020, milliseconds, ownCommand, ownHTTP)
	files, _ := r.find(keyFiles)
	ratio := files.archives.ratio(ownCommand, gitTarGz, firstOf)
	return append(list, reading{label(keyFiles), ratio, 0.7, exactRatio})
}

func (r results) reads(own, peer string, limit float64) []reading {
	keys := []string{keyTree, keyHistory, keyFiles}
	if _, ok := r.find(keyMirror); ok {
		keys = append(keys, keyMirror)
	}
	var list []reading
	for _, key := range keys {
		found, _ := r.find(key)
		list = append(list, reading{label(key), found.readers.ratio(own, peer, wallOf), limit, exactRatio})
	}
	return list
}

// crowdWanted is how many archives at once the wishes are about.
const crowdWanted = 50

func (r results) crowd(of func(series) float64, limit float64, show func(float64) string) []reading {
	found, _ := r.find(keyTree)
	return []reading{{"", of(found.crowds[crowdWanted]), limit, show}}
}

func anonymousOfServer(s series) float64 { return s.median(ownHTTP, anonymousOf) }
func wallOfServer(s series) float64      { return s.ratio(ownHTTP, gitTarGz, wallOf) }

// exactRatio has a digit more than the wishes, so that the verdict can be seen.
func exactRatio(v float64) string { return shown(v, "%.3f") }

func shown(v float64, format string) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}
