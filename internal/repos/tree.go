package repos

import (
	"bytes"
	"fmt"
	"strings"
)

// maxTreeBytes bounds one tree object: some two million entries in a single
// folder.
const maxTreeBytes = 64 << 20

// Mode is the type and permission of a tree entry, as git stores it.
type Mode uint32

// The modes that git writes. Older ones exist (100664): see [Mode.IsRegular].
const (
	ModeDir        Mode = 0o040000
	ModeRegular    Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeGitlink    Mode = 0o160000

	modeTypeMask Mode = 0o170000
	modeRegular  Mode = 0o100000
)

// IsDir reports whether the entry is a folder.
func (m Mode) IsDir() bool { return m&modeTypeMask == ModeDir }

// IsRegular reports whether the entry is a file, executable or not.
func (m Mode) IsRegular() bool { return m&modeTypeMask == modeRegular }

// IsExecutable reports whether the entry is a file that its owner may run: the
// only permission that git looks at.
func (m Mode) IsExecutable() bool { return m.IsRegular() && m&0o100 != 0 }

// IsSymlink reports whether the entry's content is a link target.
func (m Mode) IsSymlink() bool { return m&modeTypeMask == ModeSymlink }

// IsGitlink reports whether the entry is a commit of another repository.
func (m Mode) IsGitlink() bool { return m&modeTypeMask == ModeGitlink }

// String is the mode in octal as git prints it: six digits.
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// TreeEntry is one name in a folder. A name is any sequence of bytes without
// NUL and slash, not always UTF-8.
type TreeEntry struct {
	Name string
	Mode Mode
	ID   ID
}

// averageEntryBytes is a guess that spares the list from growing.
const averageEntryBytes = 36

// parseTree reads the format of tree objects (gitformat in git's
// tree-walk.c): "MODE NAME\0" followed by the 20 bytes of the id.
//
// Names that would leave a folder when unpacked are damage: git refuses to
// write them, so only an attacker does.
func parseTree(id ID, content []byte) ([]TreeEntry, error) {
	entries := make([]TreeEntry, 0, len(content)/averageEntryBytes)
	text := string(content) // the names are parts of it
	for len(content) > 0 {
		space := bytes.IndexByte(content, ' ')
		nul := bytes.IndexByte(content, 0)
		if space < 0 || nul < space || len(content) < nul+1+len(ID{}) {
			return nil, damage(id, fmt.Errorf("tree is cut short"))
		}
		mode, err := parseMode(content[:space])
		if err != nil {
			return nil, damage(id, err)
		}
		entry := TreeEntry{Name: text[space+1 : nul], Mode: mode, ID: ID(content[nul+1 : nul+1+len(ID{})])}
		if !validEntryName(entry.Name) {
			return nil, damage(id, fmt.Errorf("tree has an entry named %q", entry.Name))
		}
		entries = append(entries, entry)
		content, text = content[nul+1+len(ID{}):], text[nul+1+len(ID{}):]
	}
	return entries, nil
}

func parseMode(digits []byte) (Mode, error) {
	if len(digits) == 0 || len(digits) > 6 {
		return 0, fmt.Errorf("tree has a mode of %d digits", len(digits))
	}
	var mode Mode
	for _, d := range digits {
		if d < '0' || d > '7' {
			return 0, fmt.Errorf("tree has the mode %q", digits)
		}
		mode = mode<<3 | Mode(d-'0')
	}
	if !mode.IsDir() && !mode.IsRegular() && !mode.IsSymlink() && !mode.IsGitlink() {
		return 0, fmt.Errorf("tree has the mode %q", digits)
	}
	return mode, nil
}

// validEntryName refuses the names that git's verify_path (read-cache.c)
// refuses on every system: they would write outside the folder, or into the
// repository's own .git, where hooks live.
func validEntryName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && !strings.EqualFold(name, ".git")
}
