package tree

import (
	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/git"
)

// filterLFS is the value of the attribute filter in what git lfs track writes.
const filterLFS = "lfs"

// Treatment is what attributes ask for a file besides copying it; nil is
// nothing, which is nearly always.
type Treatment struct {
	Conversion  convert.Conversion
	Converts    bool
	Substitutes bool // it has export-subst
	LFS         bool // it may be a pointer of git-lfs, to be replaced
	Diff        attributes.Value
	// Generated is the content of a file that no tree has.
	Generated []byte
}

// mayBePointer is the treatment of all files where pointers are replaced and
// attributes do not count.
var mayBePointer = &Treatment{LFS: true}

// treat says what the attributes of an entry ask for. Only the content of
// regular files is changed; lfs says that pointers stand for their objects.
func treat(mode git.Mode, a attributes.Attributes, use Use, lfs bool) *Treatment {
	t := Treatment{Diff: a[attributes.Diff]}
	if mode.IsRegular() {
		if use == ForCheckout {
			t.Conversion, t.Converts = convert.DecideCheckout(a)
		} else {
			t.Conversion, t.Converts = convert.Decide(a)
			t.Substitutes = a[attributes.ExportSubst].IsSet()
		}
		t.LFS = lfs && a[attributes.Filter].Is(filterLFS)
	}
	if t.Changes() || t.LFS || t.Conversion.UnknownEncoding != "" {
		allocated := t // only here: most files have no treatment
		return &allocated
	}
	return marks[t.Diff.State]
}

// marks are the treatments of files that are only marked for zip: a driver that
// is named says nothing there.
var marks = map[attributes.State]*Treatment{
	attributes.Set:   {Diff: attributes.Value{State: attributes.Set}},
	attributes.Unset: {Diff: attributes.Value{State: attributes.Unset}},
}

// ConvertsAs reports whether two treatments make the same of the same content, by the
// conversion of attributes.
func (t *Treatment) ConvertsAs(other *Treatment) bool { return t.conversion() == other.conversion() }

func (t *Treatment) conversion() convert.Conversion {
	if t == nil {
		return convert.Conversion{}
	}
	return t.Conversion
}

// InOrder reports whether a file can only be made after those before it, by the
// goroutine that writes the archive: %(describe) is expanded in the first file
// that asks for it only.
func (t *Treatment) InOrder() bool { return t != nil && t.Substitutes }

// UnknownEncoding is the encoding that attributes name for a file and that is not known,
// so that the content stays UTF-8; or "".
func (t *Treatment) UnknownEncoding() string {
	if t == nil {
		return ""
	}
	return t.Conversion.UnknownEncoding
}

// MayBePointer reports whether a file may be a pointer that is to be replaced.
func (t *Treatment) MayBePointer() bool { return t != nil && t.LFS }

// Changes reports whether the content is not the one that is stored, by more
// than being a pointer.
func (t *Treatment) Changes() bool {
	return t != nil && (t.Converts || t.Substitutes || t.Generated != nil)
}
