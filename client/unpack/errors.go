package unpack

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrDamaged matches all errors of a damaged stream: one that is not in the format of a tar, of
// gzip or of zstd, or has wrong checksums. [ErrCut] and [ErrTrailing] are two of them. A refused
// member is no damage.
var ErrDamaged = errors.New("unpack: the archive is damaged")

// ErrCut says that the stream ends before the archive does.
var ErrCut error = damaged{errors.New("unpack: the archive is cut: it ends without the two blocks of zeros")}

// ErrTrailing says that other bytes follow the end of the archive.
var ErrTrailing error = damaged{errors.New("unpack: bytes that are not zero come after the end of the archive")}

// ErrNoSpace says that a file or the whole archive is larger than the free disk space, before
// anything of it is written. A disk that becomes full later is an error of the system.
var ErrNoSpace = errors.New("unpack: the disk has too little free space")

// damaged makes an error match ErrDamaged, and keeps its message.
type damaged struct{ error }

func (d damaged) Is(target error) bool { return target == ErrDamaged }
func (d damaged) Unwrap() error        { return d.error }

// ErrContent is returned, wrapped with the path, if [Choice].Content has another length or id than
// the [Choice] says. The old file stays.
var ErrContent = errors.New("the content is not what was announced")

// Reason says why a member is refused. It is the end of a sentence.
type Reason string

// The reasons of a [RefusedError].
const (
	Absolute     Reason = "its path is absolute"
	EmptyName    Reason = "its path has an empty component"
	Dots         Reason = `its path has a component "." or ".."`
	NULByte      Reason = "its path has a NUL byte"
	GitFolder    Reason = "its path has a component that some system takes for .git"
	ReservedName Reason = "its path has a name of this program's own, .repomcp"
	Separator    Reason = "its path has a backslash or a colon"    // on Windows
	DeviceName   Reason = "its path has the name of a device"      // on Windows
	InvalidName  Reason = "its path has a name that Windows lacks" // on Windows
	NotUnicode   Reason = "its path is not UTF-8"                  // on Windows and macOS

	NotAllowed   Reason = "the file system does not allow its name"
	Clash        Reason = "both are one name on this file system"
	Twice        Reason = "it is given twice"
	TwoKinds     Reason = "it is given as a folder and as something else"
	Scattered    Reason = "the archive returns to this folder after it left it"
	ThroughLink  Reason = "a symbolic link is where it needs a folder"
	InTheWay     Reason = "a file is where it needs a folder, or a folder where it needs a file"
	Outside      Reason = "it is a symbolic link that can lead out of the folder"
	HardLink     Reason = "it is a hard link"
	Special      Reason = "it is a device, a pipe or of a type that is not known"
	Sparse       Reason = "it is a sparse file"
	BadPatch     Reason = "it is a patch that does not say of what"
	NotPatched   Reason = "it is a patch, and no content is given in its place"
	GlobalHeader Reason = "it is a global header with more than a comment and a time"
)

// RefusedError says that a member is not unpacked, whatever the [Options].
type RefusedError struct {
	Reason Reason
	Paths  []string // of the member; of both that clash; of all links that lead outside
}

func (e *RefusedError) Error() string {
	quoted := make([]string, 0, shownPaths)
	quote := strconv.Quote
	if e.Reason == Clash {
		quote = strconv.QuoteToASCII // both may look alike
	}
	for _, path := range e.Paths[:min(len(e.Paths), shownPaths)] {
		quoted = append(quoted, quote(path))
	}
	names := strings.Join(quoted, ", ")
	if more := len(e.Paths) - len(quoted); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("unpack: %s: refused, %s", names, e.Reason)
}

// shownPaths bounds an error's message to what a terminal shows.
const shownPaths = 10

func refuse(reason Reason, paths ...string) error { return &RefusedError{Reason: reason, Paths: paths} }

// LimitError says that an archive is larger than [Limits] allow.
type LimitError struct {
	// Limit is the exceeded bound: "entries", "bytes", "bytes of a file", "ratio", "depth", "bytes
	// of a path", "bytes that make nothing" of a compressed stream, or "names" for the memory of
	// names.
	Limit string
	Path  string // of the member, or ""
	Most  int64
}

func (e *LimitError) Error() string {
	at := ""
	if e.Path != "" {
		at = fmt.Sprintf(" at %q", e.Path)
	}
	return fmt.Sprintf("unpack: the archive exceeds the limit for %s (%d)%s", e.Limit, e.Most, at)
}
