package tree

import (
	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/archive/convert"
	"github.com/repomcp/repomcp/internal/git"
)

// filterLFS is the value of the attribute filter that git lfs track writes.
const filterLFS = "lfs"

// Treatment is how attributes change a file; nil, which is nearly always the case, means not at
// all.
type Treatment struct {
	Conversion  convert.Conversion
	Converts    bool
	Substitutes bool // export-subst
	LFS         bool // may be a Git LFS pointer to replace
	Diff        attributes.Value
	// Generated is the content of a file that is in no tree.
	Generated []byte
}

// mayBePointer is the treatment of all files if pointers are replaced and attributes are ignored.
var mayBePointer = &Treatment{LFS: true}

// treat returns the treatment by an entry's attributes. Only the content of regular files is
// changed; lfs means that pointers are replaced.
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
		allocated := t // allocates only here: most files have no treatment
		return &allocated
	}
	return marks[t.Diff.State]
}

// marks are the treatments of files that are only marked for zip, where a named driver has no
// meaning.
var marks = map[attributes.State]*Treatment{
	attributes.Set:   {Diff: attributes.Value{State: attributes.Set}},
	attributes.Unset: {Diff: attributes.Value{State: attributes.Unset}},
}

// ConvertsAs reports whether two treatments convert the same content equally.
func (t *Treatment) ConvertsAs(other *Treatment) bool { return t.conversion() == other.conversion() }

func (t *Treatment) conversion() convert.Conversion {
	if t == nil {
		return convert.Conversion{}
	}
	return t.Conversion
}

// InOrder reports whether a file can only be generated after those before it, by the writing
// goroutine: only the first %(describe) is expanded.
func (t *Treatment) InOrder() bool { return t != nil && t.Substitutes }

// UnknownEncoding returns the unknown encoding that attributes name for a file, so that its content
// stays UTF-8; else "".
func (t *Treatment) UnknownEncoding() string {
	if t == nil {
		return ""
	}
	return t.Conversion.UnknownEncoding
}

// MayBePointer reports whether a file may be a pointer to replace.
func (t *Treatment) MayBePointer() bool { return t != nil && t.LFS }

// IsGenerated reports whether a file is in no tree.
func (t *Treatment) IsGenerated() bool { return t != nil && t.Generated != nil }

// Changes reports whether the content differs from the stored one, other than by replacing a
// pointer.
func (t *Treatment) Changes() bool {
	return t != nil && (t.Converts || t.Substitutes || t.Generated != nil)
}
