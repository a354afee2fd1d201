// Package lfs reads the pointer files that git-lfs stores in a repository in
// the place of large files, as its specification (docs/spec.md of git-lfs)
// says.
//
// [Parse] looks at the whole content of a file. It never fails: what is not a
// pointer is an ordinary file. A caller reads only files shorter than
// [MaxBytes]; their number of bytes alone rules out all others.
//
// Like git-lfs it is lenient about blanks around the whole, empty lines and
// carriage returns at the ends of lines, for checkouts on Windows have made
// such pointers. It is strict about what can end up in a path or a length: an
// oid is 64 lower-case hexadecimal digits, a size has digits only.
package lfs

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxBytes is what a pointer has to be shorter than.
	MaxBytes = 1024

	// MinBytes is the length of the shortest pointer: the oldest version, and a
	// size of one digit. Like [MaxBytes] it rules files out by their size.
	MinBytes = len("version http://git-media.io/v/2\n") + len("oid "+oidPrefix) + oidDigits + len("\nsize 0")
)

// Pointer names the object that a file stands for.
type Pointer struct {
	// OID is the SHA-256 of the object, 64 lower-case hexadecimal digits.
	OID string
	// Size is the object's, in bytes. It is not below 0.
	Size int64
	// Extended says that programs of the user's made the object out of the
	// file ("ext-" lines): its bytes are not those of the file.
	Extended bool
}

// versions begin a pointer: the URL of the specification, and those of the
// time when git-lfs had other names, which it still reads.
var versions = []string{
	"https://git-lfs.github.com/spec/v1",
	"https://hawser.github.com/spec/v1",
	"http://git-media.io/v/2",
}

const (
	oidPrefix = "sha256:"
	oidDigits = 64
)

// Parse reads a pointer. It reports false for everything else.
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
	size, err := strconv.ParseUint(value, 10, sizeBits) // takes no sign
	p.Size = int64(size)
	return err == nil
}

// isExtension reports whether a key is "ext-", a digit, "-" and a name.
func isExtension(key string) bool {
	rest, ok := strings.CutPrefix(key, "ext-")
	return ok && len(rest) > 2 && rest[0] >= '0' && rest[0] <= '9' && rest[1] == '-'
}
