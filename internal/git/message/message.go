// Package message divides the message of a commit as git does when it shows
// one: a subject, which is the first paragraph, and the rest.
package message

import "strings"

// Blanks are the characters that git takes for white space.
const Blanks = " \t\n\r"

// SSHSignature begins a signature with a key of SSH, as one of [Signatures].
const SSHSignature = "-----BEGIN SSH SIGNATURE-----"

// Signatures are how signatures begin, each at the beginning of a line
// (gitformat-signature(5)).
var Signatures = []string{"-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----",
	"-----BEGIN SIGNED MESSAGE-----", SSHSignature}

// SkipBlankLines removes lines of nothing but blanks from the beginning.
func SkipBlankLines(s string) string {
	for s != "" {
		line, rest, _ := strings.Cut(s, "\n")
		if strings.Trim(line, Blanks) != "" {
			break
		}
		s = rest
	}
	return s
}

// CutSubject returns the first paragraph as one line, which is the subject (%s of
// git-log(1), "PRETTY FORMATS"), and what is after it.
func CutSubject(s string) (subject, rest string) {
	var lines []string
	for s != "" {
		line, after, _ := strings.Cut(s, "\n")
		s = after
		line = strings.TrimRight(line, Blanks)
		if line == "" {
			break
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " "), s
}

// FoldCase makes texts equal that differ in the case of ASCII letters only, which
// is all that git looks at in keys, addresses, and names of people and of encodings.
func FoldCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
