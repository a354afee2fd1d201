package links

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/base/operatorfile"
)

const (
	// maxDenied bounds the patterns, each of which is tried on every link.
	maxDenied = 1000
	// maxFileBytes bounds the files of this package: a thousand lines.
	maxFileBytes = 256 << 10
)

// Revocations are what the operator has withdrawn. The zero value is nothing.
// Several goroutines may use it.
//
// A revocation file has one entry per line; empty lines and those that begin
// with # are skipped:
//
//	deny group/secret
//	deny customers/*/private
//	epoch 3 alice@example.com
//
// A pattern of deny is that of [path.Match] without the .git of the folder. It
// means the repositories that it matches and those below a folder that it
// matches. epoch gives a principal a number, which is 0 without a line: links
// that were made under a smaller one are void. What follows the number is the
// principal to the end of the line.
type Revocations struct {
	*operatorfile.File[revocationLists]
}

type revocationLists struct {
	denied []string
	epochs map[string]uint64
}

// LoadRevocations reads a revocation file.
func LoadRevocations(path string) (*Revocations, error) {
	file, err := operatorfile.Open(path, "link revocations", maxFileBytes, parseRevocations)
	if err != nil {
		return nil, err
	}
	return &Revocations{file}, nil
}

func parseRevocations(text []byte) (revocationLists, error) {
	lists := revocationLists{epochs: map[string]uint64{}}
	for number, line := range operatorfile.Lines(text) {
		word, rest := cutWord(line)
		add := map[string]func(string) error{"deny": lists.deny, "epoch": lists.epoch}[word]
		if add == nil {
			return revocationLists{}, fmt.Errorf("line %d: write deny PATTERN or epoch NUMBER PRINCIPAL", number)
		}
		if err := add(rest); err != nil {
			return revocationLists{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return lists, nil
}

// cutWord splits off what is before the first space or tab.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func (l *revocationLists) deny(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return fmt.Errorf("%q is no pattern; write *, ? and [a-z] for what varies within a name", pattern)
	}
	if pattern != strings.Trim(pattern, "/") || strings.Contains(pattern, "//") {
		return fmt.Errorf("%q can match no repository; write names with single slashes between them", pattern)
	}
	if l.denied = append(l.denied, pattern); len(l.denied) > maxDenied {
		return fmt.Errorf("there are more than %d patterns; deny folders instead", maxDenied)
	}
	return nil
}

func (l *revocationLists) epoch(rest string) error {
	number, principal := cutWord(rest)
	epoch, err := strconv.ParseUint(number, 10, 64)
	if err != nil || principal == "" {
		return errors.New("write epoch NUMBER PRINCIPAL")
	}
	if _, twice := l.epochs[principal]; twice {
		return errors.New("the principal has two epochs; leave the greater one")
	}
	l.epochs[principal] = epoch
	return nil
}

// Denied reports whether a repository is on the deny list.
func (r *Revocations) Denied(repository string) bool {
	return slices.ContainsFunc(r.Value().denied,
		func(pattern string) bool { return matchesFolder(pattern, repository) })
}

// Epoch returns the number of a principal that links are made under.
func (r *Revocations) Epoch(principal string) uint64 { return r.Value().epochs[principal] }

// matchesFolder reports whether a pattern matches a name or a folder above it.
func matchesFolder(pattern, name string) bool {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		// A pattern that turns out bad denies.
		if ok, err := path.Match(pattern, name[:i]); ok || err != nil {
			return true
		}
	}
	return false
}
