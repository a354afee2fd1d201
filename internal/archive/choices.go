package archive

import (
	"github.com/repomcp/repomcp/internal/archive/tree"
)

// Profile selects how stored files are transformed.
type Profile string

// The profiles. The zero value is [ProfileArchive].
const (
	// ProfileArchive applies .gitattributes as git archive does: export-ignore,
	// export-subst, end-of-line conversion, ident and encodings.
	ProfileArchive Profile = "archive"
	// ProfileFull is the complete tree with the stored bytes.
	ProfileFull Profile = "full"
	// ProfileWorktree is the complete tree as git checkout writes it, with core.autocrlf=false and
	// core.eol=lf: end-of-line conversion, ident and encodings of the tree's own .gitattributes. It
	// ignores info/attributes, which belong to the mirror and are not in a clone.
	ProfileWorktree Profile = "worktree"
	// ProfileCheckout is [ProfileWorktree] with a .git: a clone of the commit, in a state in which
	// git status has nothing to read.
	ProfileCheckout Profile = "checkout"
)

// profiles maps profiles to uses of attributes.
var profiles = map[Profile]tree.Use{
	ProfileArchive: tree.ForArchive, ProfileFull: tree.ForNothing, ProfileWorktree: tree.ForCheckout,
	ProfileCheckout: tree.ForCheckout,
}

// Objects selects the objects in the pack of a checkout.
type Objects string

// The zero value means [ObjectsAll].
const (
	// ObjectsAll are the commits with all their folders and files.
	ObjectsAll Objects = "all"
	// ObjectsBlobless are no files: git fetches those from the origin when it needs them.
	ObjectsBlobless Objects = "blobless"
	// ObjectsConverted are the files that are not in the working tree as they are stored. A client
	// makes the others from the working tree.
	ObjectsConverted Objects = "converted"
)

// OriginNone is the origin of a checkout without a remote.
const OriginNone = "none"

// LFS selects the handling of the pointers that Git LFS stores in place of large files.
type LFS string

// The zero value means [LFSPointers].
const (
	// LFSPointers leaves pointers unchanged.
	LFSPointers LFS = "pointers"
	// LFSContent replaces pointers by their objects: for files with filter=lfs, as Git LFS does,
	// and under [ProfileFull] for all files. An object is not converted, because git converts
	// before it runs a filter. A pointer stays if the repository lacks its object, or if it has
	// extensions, which only the user's programs can process. A damaged object, or one of another
	// size than its pointer declares, ends the archive: git.ErrLFS.
	LFSContent LFS = "content"
)

// Submodules selects the content of submodule folders.
type Submodules string

// The zero value means [SubmodulesOmit].
const (
	// SubmodulesOmit leaves the folders of submodules empty, as git archive does.
	SubmodulesOmit Submodules = "omit"
	// SubmodulesContent fills them recursively with what an archive of the submodule's commit
	// contains: its own attributes apply, and its $Format$ refers to that commit. All members have
	// the time of the archive's commit. A submodule that is not in .gitmodules, or not served,
	// stays empty.
	SubmodulesContent Submodules = "content"
)

// Delta selects the form of modified files in a delta.
type Delta string

// The zero value means [DeltaFiles].
const (
	// DeltaFiles sends whole files.
	DeltaFiles Delta = "files"
	// DeltaPatch sends a patch for a file whose old and new content are stored bytes of 1 KiB to 1
	// MiB, if that makes its member smaller. A pax record marks patches: see
	// docs/archive-format.md.
	DeltaPatch Delta = "patch"
)
