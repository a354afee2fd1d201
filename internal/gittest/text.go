package gittest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Text makes files of many kinds that a comparison of lines has to do with:
// prose, code with indents and blank lines, few different lines again and again,
// CRLF, white space only, no newline at the end, long lines, nothing at all.
func Text(r *rand.Rand, lines int) string {
	kind := textKinds[r.IntN(len(textKinds))]
	var b strings.Builder
	depth := 0
	for range lines {
		b.WriteString(kind(r, &depth))
	}
	return ending(r, b.String())
}

// Edit changes some places of a text: lines go, come, move, are said twice, are
// put deeper, or change a little.
func Edit(r *rand.Rand, text string, edits int) string {
	lines := strings.SplitAfter(text, "\n")
	for range edits {
		if len(lines) == 0 {
			lines = []string{Text(r, 5)}
		}
		from := r.IntN(len(lines))
		to := min(from+1+r.IntN(8), len(lines))
		block := append([]string(nil), lines[from:to]...)
		switch r.IntN(8) {
		case 0:
			lines = append(lines[:from], lines[to:]...)
		case 1:
			lines = insert(lines, from, strings.SplitAfter(Text(r, 1+r.IntN(6)), "\n"))
		case 2:
			lines = append(lines[:from], lines[to:]...)
			lines = insert(lines, r.IntN(len(lines)+1), block)
		case 3:
			lines = insert(lines, r.IntN(len(lines)+1), block)
		case 4:
			for i := from; i < to; i++ {
				lines[i] = "\t" + lines[i]
			}
		case 5:
			lines[from] = fmt.Sprintf("%d%s", r.IntN(10), lines[from])
		case 6:
			lines = insert(lines, from, []string{"\n"})
		case 7:
			lines[from] = strings.Replace(lines[from], "\n", "\r\n", 1)
		}
	}
	return ending(r, strings.Join(lines, ""))
}

func insert(lines []string, at int, more []string) []string {
	return append(lines[:at:at], append(more, lines[at:]...)...)
}

// ending sometimes takes the last newline away, or adds blank lines.
func ending(r *rand.Rand, text string) string {
	switch r.IntN(6) {
	case 0:
		return strings.TrimSuffix(text, "\n")
	case 1:
		return text + strings.Repeat("\n", r.IntN(3))
	default:
		return text
	}
}

var textKinds = []func(r *rand.Rand, depth *int) string{
	func(r *rand.Rand, _ *int) string { return fmt.Sprintf("%c\n", 'a'+r.IntN(3)) },
	func(r *rand.Rand, _ *int) string { return fmt.Sprintf("%c\n", 'a'+r.IntN(12)) },
	func(r *rand.Rand, _ *int) string { return fmt.Sprintf("word %d\n", r.IntN(100)) },
	func(r *rand.Rand, _ *int) string { return fmt.Sprintf("line %d\n", r.Uint64()) },
	func(r *rand.Rand, _ *int) string { return fmt.Sprintf("%d\r\n", r.IntN(30)) },
	func(r *rand.Rand, _ *int) string { return blanks[r.IntN(len(blanks))] },
	func(r *rand.Rand, _ *int) string {
		return strings.Repeat(fmt.Sprintf("%x é \x80", r.IntN(20)), r.IntN(60)) + "\n"
	},
	codeLine, codeLine, codeLine,
}

var blanks = []string{"\n", " \n", "\t\n", "\r\n", "\v\n", "\f \n", "  x\n", "\tx\n", " \t y\n", "_z\n", "$\n"}

// codeLine goes on with a program in braces.
func codeLine(r *rand.Rand, depth *int) string {
	indent := strings.Repeat("\t", *depth)
	switch r.IntN(7) {
	case 0:
		*depth++
		return fmt.Sprintf("%sfunc f%d() {\n", indent, r.IntN(4))
	case 1, 2:
		if *depth > 0 {
			*depth--
			return strings.Repeat("\t", *depth) + "}\n"
		}
		return "\n"
	case 3:
		return "\n"
	default:
		return fmt.Sprintf("%scall%d()\n", indent, r.IntN(5))
	}
}

// Lines is compressible content that is different for each seed.
func Lines(seed, lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d line %d of %x\n", i, seed, (i*7919+seed*104729)%1000003)
	}
	return b.String()
}

// SeededNoise is content that does not compress, and different for each seed.
func SeededNoise(seed uint64, size int) string {
	b := make([]byte, size)
	for i := range b {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		b[i] = byte(seed >> 24 & 0xff)
	}
	return string(b)
}

var payloads = regexp.MustCompile(
	`(?m)^(GIT binary patch\n)(?:(?:literal|delta) [0-9]+\n(?:[A-Za-z][!-~]{5,65}\n)+\n){2}`)

// WithoutPayloads returns a patch without the payloads of its binary files: git's deltas and compression, which other
// programs need not have.
func WithoutPayloads(patch string) string { return payloads.ReplaceAllString(patch, "$1") }
