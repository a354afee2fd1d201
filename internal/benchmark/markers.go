package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// part is a part of a document, between two lines that name it, that belongs to
// the benchmark.
type part string

// The parts: a run without searches leaves theirs as it is, and one of searches
// alone the other.
const (
	archivesPart part = "benchmark"
	searchPart   part = "search"
)

func (p part) begin() string { return "<!-- " + string(p) + ":begin -->\n" }
func (p part) end() string   { return "<!-- " + string(p) + ":end -->\n" }

// replace puts text between the part's markers in a document.
func (p part) replace(document, text string) (string, error) {
	before, rest, ok := strings.Cut(document, p.begin())
	_, after, closed := strings.Cut(rest, p.end())
	if !ok || !closed || strings.Contains(after, p.begin()) || strings.Contains(after, p.end()) {
		return "", fmt.Errorf("needs the lines %s and %s, once each and in this order", strings.TrimSpace(p.begin()), strings.TrimSpace(p.end()))
	}
	return before + p.begin() + "\n" + strings.TrimSpace(text) + "\n\n" + p.end() + after, nil
}

// destination is where the report goes.
type destination struct {
	name   string // of a document with markers, or ""
	stdout io.Writer
}

// openDestination looks before the long run whether the report can be written
// after it.
func openDestination(name string, stdout io.Writer, parts ...part) (destination, error) {
	if name == "-" {
		return destination{stdout: stdout}, nil
	}
	d := destination{name: name}
	for _, p := range parts {
		if _, err := d.replaced(p, ""); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (d destination) replaced(p part, text string) (string, error) {
	document, err := os.ReadFile(d.name)
	if err != nil {
		return "", err
	}
	replaced, err := p.replace(string(document), text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", d.name, err)
	}
	return replaced, nil
}

func (d destination) write(p part, text string) error {
	if d.name == "" {
		_, err := io.WriteString(d.stdout, text+"\n")
		return err
	}
	replaced, err := d.replaced(p, text)
	if err != nil {
		return err
	}
	return os.WriteFile(d.name, []byte(replaced), 0o644) //nolint:gosec // a document
}
