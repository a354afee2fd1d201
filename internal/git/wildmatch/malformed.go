package wildmatch

import "strings"

// Malformed reports a pattern that matches nothing: one with an unclosed set, or with a final
// backslash. A bracket at the start of a set is a member of it, and one within a class such as
// [:alpha:] does not end it.
func Malformed(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
			if i == len(pattern) {
				return true
			}
		case '[':
			size := setSize(pattern[i:])
			if size == 0 {
				return true
			}
			i += size - 1
		}
	}
	return false
}

// setSize returns the length of the set at the start of a pattern; 0 if it is unclosed.
func setSize(pattern string) int {
	i := len("[")
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	for first := i; i < len(pattern); i++ {
		switch {
		case pattern[i] == ']' && i > first:
			return i + 1
		case pattern[i] == '\\':
			i++
		case strings.HasPrefix(pattern[i:], "[:"):
			if end := strings.Index(pattern[i+len("[:"):], ":]"); end >= 0 {
				i += len("[:") + end + len(":]") - 1
			}
		}
	}
	return 0
}
