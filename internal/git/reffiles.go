package git

import (
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

	"github.com/repomcp/repomcp/internal/base/filenames"
	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// refFiles is the [refStore] of gitrepository-layout(5): loose files, which are read first, and then packed-refs, the
// order that stays right while git packs refs. A ref with a broken file still exists: its value is unknown, and
// packed-refs may have an outdated one.
type refFiles struct {
	root    *os.Root
	dir     string
	lookUps *lookUps
	folds   func() bool            // that of the Repository
	hides   func(name string) bool // that of the refSet
}

func (f refFiles) holder(name string) string { return name }

func (f refFiles) lookup(name string) (rawRef, bool, error) {
	ref, ok, err := f.loose(name)
	if ok || err != nil {
		return ref, ok, err
	}
	found, ref, err := f.lookUpPacked(name)
	return ref, found != "", err
}

func (f refFiles) lookupFirst(names []string) (string, error) {
	for _, name := range names {
		if _, ok, err := f.loose(name); ok || err != nil {
			return name, err
		}
	}
	name, _, err := f.lookUpPacked(names...)
	return name, err
}

func (f refFiles) list(prefixes ...string) (names []string, refs map[string]rawRef, err error) {
	if refs, err = f.looseBelow(prefixes...); err != nil {
		return nil, nil, err
	}
	names, _, err = f.addPacked(refs, prefixes...)
	return names, refs, err
}

func (f refFiles) all() (names []string, refs map[string]rawRef, state storeState, err error) {
	head, ok, err := f.loose("HEAD")
	if err != nil {
		return nil, nil, state, err
	}
	if refs, err = f.looseBelow(allRefs); err != nil {
		return nil, nil, state, err
	}
	state.read = digestOf(head, refs)
	if names, state.packed, err = f.addPacked(refs, allRefs); ok {
		refs["HEAD"] = head
	}
	return names, refs, state, err
}

func (f refFiles) isStill(then storeState) bool {
	head, _, err := f.loose("HEAD")
	if err != nil {
		return false
	}
	loose, err := f.looseBelow(allRefs)
	if err != nil || digestOf(head, loose) != then.read {
		return false
	}
	packed, err := f.lookAtPacked()
	return err == nil && then.packed.IsStill(packed)
}

// digestOf is of HEAD and the loose refs.
func digestOf(head rawRef, loose map[string]rawRef) string {
	var sum stateSum
	sum.add("HEAD", head.symbolic, head.id)
	for _, name := range slices.Sorted(maps.Keys(loose)) {
		sum.add(name, loose[name].symbolic, loose[name].id)
	}
	return sum.String()
}

// looseBelow reads the folders that can have refs with the prefixes, each once.
func (f refFiles) looseBelow(prefixes ...string) (map[string]rawRef, error) {
	refs := make(map[string]rawRef)
	folders := make([]string, 0, len(prefixes))
	for _, prefix := range prefixes {
		if folder := prefix[:strings.LastIndexByte(prefix, '/')+1]; validRefName(folder + "name") {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	last := ""
	for _, folder := range folders {
		if last != "" && strings.HasPrefix(folder, last) {
			continue
		}
		alias, err := f.isAlias(strings.TrimSuffix(folder, "/"))
		if err == nil && !alias {
			err = f.walkLoose(f.root, path.Join(f.dir, folder), folder, refs)
		}
		if err != nil {
			return refs, err
		}
		last = folder
	}
	maps.DeleteFunc(refs, func(name string, _ rawRef) bool { return !hasPrefix(name, prefixes) })
	return refs, nil
}

// hasPrefix reports whether a name has one of the prefixes.
func hasPrefix[T string | []byte](name T, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix
	})
}

// addPacked adds the packed refs to the loose ones, and returns the names of all in order.
func (f refFiles) addPacked(
	refs map[string]rawRef, prefixes ...string,
) (names []string, packed files.Seen, err error) {
	wanted := func(name []byte) bool { return hasPrefix(name, prefixes) }
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
	ref, ok, err := readLoose(f.root, path.Join(f.dir, name))
	if !ok || err != nil || f.folding(name) == (filenames.Folding{}) {
		return ref, ok, err
	}
	spelled, err := f.spelled(name)
	if err != nil || spelled == "" || f.hides(spelled) { // the file is that of another ref
		return rawRef{}, false, err
	}
	return ref, true, nil
}

// folding says which names the file system can take for a name. Whether it tells letters apart that are composed
// otherwise is not known: a mirror has no file that shows it.
func (f refFiles) folding(name string) filenames.Folding {
	return filenames.Folding{Letters: f.folds(), Forms: !filenames.IsASCII(name)}
}

// isAlias reports whether a folder of refs exists by another name only.
func (f refFiles) isAlias(name string) (bool, error) {
	if f.folding(name) == (filenames.Folding{}) {
		return false, nil
	}
	spelled, err := f.spelled(name)
	return spelled != "" && spelled != name, err
}

// spelled returns a name of a loose ref as the folders have it, or "" if they do not.
func (f refFiles) spelled(name string) (string, error) {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		var names []string
		err := files.Names(f.root, path.Join(f.dir, at), func(other string) { names = append(names, other) })
		found := f.folding(name).Spelling(part, names)
		if err != nil || found == "" {
			return "", domainError(err)
		}
		at = path.Join(at, found)
	}
	return at, nil
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

// absent reports whether a ref's file does not exist: it is gone, a leading part of the name is a file, or no file can
// have the name.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
