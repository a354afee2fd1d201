package git

import "strings"

// IsDotGit reports whether the name of a tree's entry may mean the folder .git on some file system, so that git checks
// out no such entry: .git itself in any case, its short name on NTFS, and the variants that NTFS takes for either (with
// blanks and dots behind the name, or the name of a stream). These are the names that git refuses with its defaults, in
// which core.protectNTFS is set and core.protectHFS is not (git-config(1)).
func IsDotGit(name string) bool {
	for part := range strings.SplitSeq(name, `\`) { // a separator of folders on NTFS
		for _, reserved := range []string{".git", "git~1"} {
			if len(part) < len(reserved) || !strings.EqualFold(part[:len(reserved)], reserved) {
				continue
			}
			rest, _, _ := strings.Cut(part[len(reserved):], ":")
			if strings.Trim(rest, " .") == "" {
				return true
			}
		}
	}
	return false
}
