// Package filenames tells which names are one name to some file system. Folders are shared between
// systems, so the rules of all of them hold everywhere.
package filenames

import "strings"

// StandsFor reports whether some file system treats a name as equal to another one: HFS+ ignores
// code points, NTFS ignores dots and spaces at the end and everything after a colon, and both
// ignore case; NTFS also has short names, which begin with short and end with a number.
func StandsFor(name, word, short string) bool {
	name = Visible(name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	if strings.EqualFold(name, word) {
		return true
	}
	if len(name) <= len(short) || !strings.EqualFold(name[:len(short)], short) {
		return false
	}
	return strings.Trim(name[len(short):], "0123456789") == ""
}

// StandsForGit is [StandsFor] for git's own folder.
func StandsForGit(name string) bool { return StandsFor(name, ".git", "git~") }

// Visible drops the code points that HFS+ ignores.
func Visible(name string) string { return strings.Map(visible, name) }

func visible(r rune) rune {
	switch {
	case r >= 0x200C && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x206A && r <= 0x206F, r == 0xFEFF:
		return -1
	}
	return r
}
