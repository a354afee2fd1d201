package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The part of a document between these lines belongs to the benchmark.
const (
	beginMarker = "<!-- benchmark:begin -->\n"
	endMarker   = "<!-- benchmark:end -->\n"
)

var errMarkers = errors.New("needs the lines " + strings.TrimSpace(beginMarker) + " and " + strings.TrimSpace(endMarker) + ", once each and in this order")

// replaceMarked puts text between the markers of a document.
func replaceMarked(document, text string) (string, error) {
	before, rest, ok := strings.Cut(document, beginMarker)
	_, after, closed := strings.Cut(rest, endMarker)
	if !ok || !closed || strings.Contains(after, beginMarker) || strings.Contains(after, endMarker) {
		return "", errMarkers
	}
	return before + beginMarker + "\n" + strings.TrimSpace(text) + "\n\n" + endMarker + after, nil
}

// destination is where the report goes.
type destination struct {
	name   string // of a document with markers, or ""
	stdout io.Writer
}

// openDestination looks before the long run whether the report can be written
// after it.
func openDestination(name string, stdout io.Writer) (destination, error) {
	if name == "-" {
		return destination{stdout: stdout}, nil
	}
	d := destination{name: name}
	_, err := d.replaced("")
	return d, err
}

func (d destination) replaced(text string) (string, error) {
	document, err := os.ReadFile(d.name)
	if err != nil {
		return "", err
	}
	replaced, err := replaceMarked(string(document), text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", d.name, err)
	}
	return replaced, nil
}

func (d destination) write(text string) error {
	if d.name == "" {
		_, err := io.WriteString(d.stdout, text)
		return err
	}
	replaced, err := d.replaced(text)
	if err != nil {
		return err
	}
	return os.WriteFile(d.name, []byte(replaced), 0o644) //nolint:gosec // a document
}
