package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
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

// refFiles reads the refs of one repository as gitrepository-layout(5) describes them: loose files
// first and then packed-refs, the order that stays right while git packs refs. A ref with a broken
// file still exists: its value is unknown, and packed-refs may have an outdated one.
type refFiles struct {
	root *os.Root
	dir  string
	// hides reports whether a ref is hidden, by its full name, and rules are the values of the
	// configuration that it depends on.
	hides   func(name string) bool
	rules   []string
	lookUps *lookUps
}

// rawRef is a ref as it is stored.
type rawRef struct {
	symbolic string // the ref that it points to, or ""
	id       ID
	peeled   ID // as packed-refs notes it, zero when unknown
	fault    error
}

// lookup reads one ref without following it.
func (f refFiles) lookup(name string) (rawRef, bool, error) {
	ref, ok, err := f.loose(name)
	if ok || err != nil {
		return ref, ok, err
	}
	found, ref, err := f.lookUpPacked(name)
	return ref, found != "", err
}

// first returns which of the names is a visible ref. All names begin with the first, so that git allows only one of
// them.
func (f refFiles) first(names []string) (string, error) {
	var packed []string
	for _, name := range names {
		if !validRefName(name) || f.hides(name) {
			continue
		}
		_, ok, err := f.loose(name)
		if err != nil {
			return "", err
		}
		if ok {
			return name, nil
		}
		packed = append(packed, name)
	}
	name, _, err := f.lookUpPacked(packed...)
	if err == nil && name == "" {
		err = fmt.Errorf("ref: %w", ErrNotFound)
	}
	return name, err
}

// follow reads a ref through symbolic ones.
func (f refFiles) follow(name string) (final string, ref rawRef, ok bool, err error) {
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
func (f refFiles) below(prefixes ...string) (names []string, refs map[string]rawRef, err error) {
	refs, err = f.looseBelow(prefixes...)
	if err != nil {
		return nil, nil, err
	}
	if names, _, err = f.addPacked(refs, prefixes...); err != nil {
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
func (f refFiles) addTarget(refs map[string]rawRef, name string) error {
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

func (f refFiles) looseBelow(prefixes ...string) (map[string]rawRef, error) {
	refs := make(map[string]rawRef)
	for _, prefix := range prefixes {
		if err := f.walkLoose(f.root, path.Join(f.dir, prefix), prefix, refs); err != nil {
			return refs, err
		}
	}
	return refs, nil
}

// addPacked adds the packed refs to the loose ones, and returns the names of all in order.
func (f refFiles) addPacked(
	refs map[string]rawRef, prefixes ...string,
) (names []string, packed files.Seen, err error) {
	wanted := func(name []byte) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) })
	}
	p, err := f.openPacked()
	if err != nil {
		return nil, packed, err
	}
	defer p.close()
	names = slices.Collect(maps.Keys(refs))
	err = p.read(wanted, func(name string, ref rawRef) bool {
		if _, ok := refs[name]; !ok {
			refs[name] = ref
			names = append(names, name) // mostly in order
		}
		return true
	})
	slices.Sort(names)
	return names, p.seen, err
}

// walkLoose reads the refs in a folder, whose names begin with the prefix. Each folder is opened once, as the way from
// the root to each of thousands of files takes longer than reading them.
func (f refFiles) walkLoose(parent *os.Root, folder, prefix string, refs map[string]rawRef) (err error) {
	own, err := parent.OpenRoot(folder)
	if absent(err) {
		return nil
	}
	if err != nil {
		return readError("refs", err)
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	entries, err := files.ReadDir(own, ".")
	if err != nil {
		return readError("refs", err)
	}
	for _, entry := range entries {
		name := prefix + entry.Name()
		if entry.IsDir() {
			if err := f.walkLoose(own, entry.Name(), name+"/", refs); err != nil {
				return err
			}
			continue
		}
		if !validRefName(name) {
			continue
		}
		root, file := own, entry.Name()
		if entry.Type()&fs.ModeSymlink != 0 { // it may lead to another folder below the root
			root, file = f.root, path.Join(f.dir, name)
		}
		ref, ok, err := readLoose(root, file)
		if err != nil {
			return err
		}
		if ok {
			refs[name] = ref
		}
	}
	return nil
}

// errBadRef says that a loose ref is malformed.
var errBadRef = errors.New("is neither an object id nor a symbolic ref")

// loose reads one loose ref.
func (f refFiles) loose(name string) (rawRef, bool, error) {
	return readLoose(f.root, path.Join(f.dir, name))
}

// readLoose reads the file of a loose ref: "ref: NAME" or an object id. Like git it ignores everything after the id and
// a blank.
func readLoose(root *os.Root, file string) (rawRef, bool, error) {
	content, err := readRegular(root, file, maxLooseRefBytes)
	switch {
	case errors.Is(err, ErrNotFound):
		return rawRef{}, false, nil
	case isDamage(err):
		if info, err := root.Stat(file); absent(err) || err == nil && info.IsDir() {
			return rawRef{}, false, nil
		}
		return rawRef{fault: fmt.Errorf("ref: %w", err)}, true, nil
	case err != nil:
		return rawRef{}, false, fmt.Errorf("reading a ref: %w", err)
	}
	return parseLoose(string(content)), true, nil
}

// parseLoose returns a ref with a fault for malformed content.
func parseLoose(content string) rawRef {
	line := strings.TrimRight(content, " \t\r\n")
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		return rawRef{symbolic: strings.TrimLeft(target, " \t")}
	}
	digits, _, _ := strings.Cut(strings.Map(blank, line), " ")
	id, err := ParseID(strings.ToLower(digits))
	if err != nil || id.IsZero() {
		return rawRef{fault: fmt.Errorf("ref: %w: %w", ErrCorrupt, errBadRef)}
	}
	return rawRef{id: id}
}

// blank turns white space into spaces.
func blank(c rune) rune {
	if unicode.IsSpace(c) {
		return ' '
	}
	return c
}

// readRegular reads a small file of a repository whole: see [files.Read].
func readRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	content, err := files.Read(root, name, limit)
	if errors.Is(err, objects.ErrTooLarge) {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", path.Base(name), limit, ErrCorrupt)
	}
	return content, domainError(err)
}

// absent reports whether a ref's file does not exist: it is gone, or a leading part of the name is
// a file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
