// Package message divides the message of a commit as git does for display: into a subject, which is
// the first paragraph, and the rest.
package message

import "strings"

// Blanks are the characters that git treats as white space.
const Blanks = " \t\n\r"

// SSHSignature is the first line of a signature with an SSH key, one of [Signatures].
const SSHSignature = "-----BEGIN SSH SIGNATURE-----"

// Signatures are the first lines of signatures (gitformat-signature(5)).
var Signatures = []string{"-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----",
	"-----BEGIN SIGNED MESSAGE-----", SSHSignature}

// SkipBlankLines removes leading blank lines.
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

// CutSubject returns the first paragraph as one line, the subject (%s of git-log(1), "PRETTY
// FORMATS"), and the rest.
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

// FoldCase makes strings equal that differ only in the case of ASCII letters, as git does for keys,
// addresses, and names of people and of encodings.
func FoldCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
