// Package lfs parses the pointer files that Git LFS stores in a repository in place of large files,
// by its specification (docs/spec.md of git-lfs).
//
// [Parse] takes the whole content of a file. It never fails: a file that is no pointer is an
// ordinary file. A caller reads only files shorter than [MaxBytes]; longer ones are no pointers.
//
// Like Git LFS it is lenient about blanks around the content, empty lines and carriage returns at
// line ends, because checkouts on Windows have made such pointers. It is strict about values that
// become part of a path or a length: an oid is 64 lower-case hexadecimal digits, a size has digits
// only.
package lfs

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxBytes is the length that every pointer stays below.
	MaxBytes = 1024

	// MinBytes is the length of the shortest pointer: the oldest version, and a size of one digit.
	// Like [MaxBytes] it rules out files by their size.
	MinBytes = len("version http://git-media.io/v/2\n") + len("oid "+oidPrefix) + oidDigits + len("\nsize 0")
)

// Pointer names the object that a file stands for.
type Pointer struct {
	// OID is the SHA-256 of the object, 64 lower-case hexadecimal digits.
	OID string
	// Size of the object in bytes. It is not negative.
	Size int64
	// Extended reports that the user's programs have transformed the file ("ext-" lines): the
	// object differs from the file.
	Extended bool
}

// versions are the URL of the specification, and those of its earlier names, which Git LFS still
// accepts.
var versions = []string{
	"https://git-lfs.github.com/spec/v1",
	"https://hawser.github.com/spec/v1",
	"http://git-media.io/v/2",
}

const (
	oidPrefix = "sha256:"
	oidDigits = 64
)

// Parse parses a pointer. It returns false for anything else.
func Parse(content []byte) (Pointer, bool) {
	var p Pointer
	if len(content) >= MaxBytes || !bytes.HasPrefix(bytes.TrimSpace(content), []byte("version ")) {
		return p, false
	}
	keys := [...]struct {
		name string
		read func(p *Pointer, value string) bool
	}{
		{"version", func(_ *Pointer, v string) bool { return slices.Contains(versions, v) }},
		{"oid", (*Pointer).readOID},
		{"size", (*Pointer).readSize},
	}
	next := 0
	for line := range strings.SplitSeq(string(bytes.TrimSpace(content)), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		switch {
		case next > 0 && isExtension(key):
			p.Extended = true
		case next == len(keys) || key != keys[next].name || !keys[next].read(&p, value):
			return Pointer{}, false
		default:
			next++
		}
	}
	if next < len(keys) {
		return Pointer{}, false
	}
	return p, true
}

func (p *Pointer) readOID(value string) bool {
	var ok bool
	p.OID, ok = strings.CutPrefix(value, oidPrefix)
	return ok && len(p.OID) == oidDigits && strings.Trim(p.OID, "0123456789abcdef") == ""
}

func (p *Pointer) readSize(value string) bool {
	const sizeBits = 63
	size, err := strconv.ParseUint(value, 10, sizeBits) // accepts no sign
	p.Size = int64(size)
	return err == nil
}

// isExtension reports whether a key is "ext-", a digit, "-" and a name.
func isExtension(key string) bool {
	rest, ok := strings.CutPrefix(key, "ext-")
	return ok && len(rest) > 2 && rest[0] >= '0' && rest[0] <= '9' && rest[1] == '-'
}
