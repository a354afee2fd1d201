package git

import "strings"

// maxRefNameBytes bounds the name of a ref: PATH_MAX of Linux, so that every file that can exist
// below a repository's folder fits.
const maxRefNameBytes = 4096

// validRefName applies the rules of git-check-ref-format(1) to full names such as
// refs/heads/main.
func validRefName(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > maxRefNameBytes {
		return false
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for component := range strings.SplitSeq(name, "/") {
		if component == "" || component[0] == '.' || strings.HasSuffix(component, ".lock") {
			return false
		}
	}
	for i := range len(name) {
		if notInRefNames[name[i]] {
			return false
		}
	}
	return true
}

// notInRefNames are the bytes that no name of a ref has.
var notInRefNames = func() (refused [256]bool) {
	for c := range 0x20 {
		refused[c] = true
	}
	for _, c := range []byte(" ~^:?*[\\\x7f") {
		refused[c] = true
	}
	return refused
}()
