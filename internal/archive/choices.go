package archive

import (
	"github.com/repomcp/repomcp/internal/archive/tree"
)

// Profile says what is made of the files that are stored.
type Profile string

// The profiles. The zero value is [ProfileArchive].
const (
	// ProfileArchive applies .gitattributes as git archive does: export-ignore,
	// export-subst, end-of-line conversion, ident and encodings.
	ProfileArchive Profile = "archive"
	// ProfileFull is the complete tree with the bytes that are stored.
	ProfileFull Profile = "full"
	// ProfileWorktree is the complete tree as git checkout writes it, with
	// core.autocrlf=false and core.eol=lf: end-of-line conversion, ident and encodings
	// of the tree's own .gitattributes. info/attributes are the mirror's, and a clone
	// does not have them.
	ProfileWorktree Profile = "worktree"
)

// profiles say what attributes are for in each.
var profiles = map[Profile]tree.Use{
	ProfileArchive: tree.ForArchive, ProfileFull: tree.ForNothing, ProfileWorktree: tree.ForCheckout,
}

// LFS says what becomes of the pointers that git-lfs stores in the place of
// large files.
type LFS string

// The choices. The zero value means [LFSPointers].
const (
	// LFSPointers leaves them as they are.
	LFSPointers LFS = "pointers"
	// LFSContent puts the objects of git-lfs in their place: those of files with
	// filter=lfs, as git-lfs does, and under [ProfileFull] those of all. An object is not converted, for git
	// does that before a filter runs. Where the repository does not have it the
	// pointer stays, and so does one with extensions, which only programs of the
	// user's could make a file of. One that is damaged, or has another size than its
	// pointer says, ends the archive: git.ErrLFS.
	LFSContent LFS = "content"
)

// Submodules says what is in the folder of a submodule.
type Submodules string

// The choices. The zero value means [SubmodulesOmit].
const (
	// SubmodulesOmit leaves the folders of submodules empty, as git archive
	// does.
	SubmodulesOmit Submodules = "omit"
	// SubmodulesContent fills them, as deep as they go, with what an archive of
	// the submodule's commit has: its own attributes apply, and its $Format$
	// speaks of that commit. All members have the time of the archive's commit.
	// A submodule that .gitmodules does not tell, or that is not served, stays
	// empty.
	SubmodulesContent Submodules = "content"
)

// Delta says how a delta has the files that are modified.
type Delta string

// The choices. The zero value means [DeltaFiles].
const (
	// DeltaFiles has them whole.
	DeltaFiles Delta = "files"
	// DeltaPatch has a patch in the place of each whose old and new content are as
	// they are stored and have 1 KiB to 1 MiB, if its member is then smaller. A pax
	// record says so: see docs/archive-format.md.
	DeltaPatch Delta = "patch"
)
