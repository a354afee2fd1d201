package git

import (
	"fmt"
	"slices"
	"strings"
)

// The prefixes of the full names of branches and tags.
const (
	BranchPrefix = "refs/heads/"
	TagPrefix    = "refs/tags/"
)

const (
	remotePrefix = "refs/remotes/"

	// maxSymrefDepth is how many symbolic refs in a row git follows.
	maxSymrefDepth = 5
	// maxLooseRefBytes bounds a loose ref file: a symbolic ref to the longest
	// name.
	maxLooseRefBytes = maxRefNameBytes + 64
)

// Ref is a reference and its target.
type Ref struct {
	// Name is the full name, such as refs/heads/main.
	Name string
	// Target is the object that the ref holds: a commit, or an annotated tag.
	Target ID
	// Commit is the target with annotated tags followed to their commit. It is zero if they lead to
	// another kind of object.
	Commit ID
	// Damage is why Commit is unknown although the ref exists, or nil. Target is zero as well if
	// the ref itself cannot be read.
	Damage error
}

// Branch is the short name of a branch, and "" for other refs.
func (r Ref) Branch() string { return cutPrefix(r.Name, BranchPrefix) }

// Tag is the short name of a tag, and "" for other refs.
func (r Ref) Tag() string { return cutPrefix(r.Name, TagPrefix) }

func cutPrefix(s, prefix string) string {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return ""
	}
	return rest
}

// refSet reads the refs of one repository, with the rule that hides some of them.
type refSet struct {
	refStore

	// hides reports whether a ref is hidden, by its full name, and rules are the values of the
	// configuration that it depends on.
	hides func(name string) bool
	rules []string
}

// refStore is where refs are stored: in files, or in tables.
type refStore interface {
	// lookup reads one ref, or HEAD, without following it.
	lookup(name string) (rawRef, bool, error)
	// lookupFirst returns which of the names is a ref; "" if none is. All names begin with the first, so that git
	// allows only one of them.
	lookupFirst(names []string) (string, error)
	// list reads the refs whose names have one of the prefixes, with their names in order.
	list(prefixes ...string) (names []string, refs map[string]rawRef, err error)
	// all is list for all refs, and has HEAD among the refs but not among the names.
	all() (names []string, refs map[string]rawRef, state storeState, err error)
	// isStill reports whether the refs are those of a state. It may be false although they are.
	isStill(then storeState) bool
	// holder is the file in a repository that is replaced when a ref changes, unless the ref is packed.
	holder(name string) string
}

// rawRef is a ref as it is stored.
type rawRef struct {
	symbolic string // the ref that it points to, or ""
	id       ID
	peeled   ID // as packed-refs notes it, zero when unknown
	fault    error
}

// first returns which of the names is a visible ref. All names begin with the first.
func (f refSet) first(names []string) (string, error) {
	visible := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !validRefName(name) || f.hides(name)
	})
	name, err := f.lookupFirst(visible)
	if err == nil && name == "" {
		err = fmt.Errorf("ref: %w", ErrNotFound)
	}
	return name, err
}

// follow reads a ref through symbolic ones.
func (f refSet) follow(name string) (final string, ref rawRef, ok bool, err error) {
	for range maxSymrefDepth {
		ref, ok, err = f.lookup(name)
		if err == nil {
			err = ref.fault
		}
		if !ok || err != nil || ref.symbolic == "" {
			return name, ref, ok, err
		}
		// The target of a hidden ref is not shown under another name.
		if name = ref.symbolic; !validRefName(name) || f.hides(name) {
			break
		}
	}
	return name, rawRef{}, false, nil
}

// allRefs is the prefix of all refs but HEAD.
const allRefs = "refs/"

// below returns the refs whose names have one of the prefixes, including hidden ones, with their names in order. The
// refs to which symbolic ones lead are in refs as well.
func (f refSet) below(prefixes ...string) (names []string, refs map[string]rawRef, err error) {
	if names, refs, err = f.list(prefixes...); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if target := refs[name].symbolic; target != "" {
			if err := f.addTarget(refs, target); err != nil {
				return nil, nil, err
			}
		}
	}
	return names, refs, nil
}

// addTarget adds the ref to which a symbolic one leads, unless a hostile one names another file.
func (f refSet) addTarget(refs map[string]rawRef, name string) error {
	if _, known := refs[name]; known || !validRefName(name) {
		return nil
	}
	_, ref, ok, err := f.follow(name)
	if isDamage(err) {
		ref, ok, err = rawRef{fault: err}, true, nil
	}
	if ok {
		refs[name] = ref
	}
	return err
}

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
