package skills

import (
	"encoding/json"
	"regexp"

	"github.com/repomcp/repomcp/internal/git"
)

// These are the limits of SEP-2640 for one skill.
const (
	MaxFiles = 512
	MaxBytes = 16 << 20
)

// FileName is the name of the file that makes a folder a skill.
const FileName = "SKILL.md"

// Skill is a folder that conforms to the Agent Skills specification. It does not change.
type Skill struct {
	// Name and Description are those of the frontmatter.
	Name, Description string
	// Frontmatter is a JSON object with all members of the frontmatter, in their order.
	Frontmatter json.RawMessage
	// Files are all regular files below the folder, in git's order.
	Files []File
	// Omitted are the paths of symbolic links and submodules below the folder.
	Omitted []string
}

// File is one file of a skill.
type File struct {
	// Path is relative to the folder of the skill, in raw bytes.
	Path   string
	Digest [32]byte // SHA-256
	Size   int64
	// Pointer says that the file is a pointer of Git LFS, which stands for content that is not in the
	// commit.
	Pointer bool
}

// Listed is a skill with the path of its folder; "" is the root of the repository.
type Listed struct {
	*Skill
	Path string
	tree git.ID
}

// Listing is what [Library.List] found in a commit.
type Listing struct {
	// Commit is zero for a repository without commits.
	Commit git.ID
	// Skills and Refused are ordered by path.
	Skills  []Listed
	Refused []Refusal
}

// Refusal is a folder that has a SKILL.md and is no skill.
type Refusal struct{ Path, Reason string }

// RefusedError says why a folder is no skill, in words for its author.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "no skill: " + e.Reason }

// nameForm is that of the Agent Skills specification: 1 to 64 lower-case letters, digits and
// hyphens, none of which is at an end or beside another one.
var nameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const (
	maxName        = 64
	maxDescription = 1024 // characters
)

// IsName reports whether a string can be the name of a skill.
func IsName(name string) bool { return len(name) <= maxName && nameForm.MatchString(name) }
