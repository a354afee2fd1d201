package repos

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

const (
	branchPrefix = "refs/heads/"
	tagPrefix    = "refs/tags/"

	// maxSymrefDepth is git's SYMREF_MAXDEPTH (refs/refs-internal.h).
	maxSymrefDepth = 5
	// maxLooseRefBytes bounds a loose ref file: a symbolic ref to the longest
	// name.
	maxLooseRefBytes = maxNameBytes + 64
	// maxPackedRefsBytes bounds packed-refs: some three million refs.
	maxPackedRefsBytes = 256 << 20
)

// hiddenRefs are namespaces that tools keep for themselves. What only they
// lead to was not published: GitLab's keep-around refs hold force-pushed
// commits for ever, a stash is a private draft, and replacements have no part in
// what is served.
var hiddenRefs = []string{"refs/stash", "refs/keep-around/", "refs/original/", "refs/bisect/", "refs/rewritten/", "refs/worktree/", "refs/replace/"}

func hidden(name string) bool {
	return slices.ContainsFunc(hiddenRefs, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Ref is a reference and what it stands for.
type Ref struct {
	// Name is the full name, such as refs/heads/main.
	Name string
	// Target is the object that the ref holds: a commit, or an annotated tag.
	Target ID
	// Commit is the target with annotated tags followed to their commit. It is
	// zero when they lead to something else.
	Commit ID
}

// Branch is the short name of a branch, and "" for other refs.
func (r Ref) Branch() string { return cutPrefix(r.Name, branchPrefix) }

// Tag is the short name of a tag, and "" for other refs.
func (r Ref) Tag() string { return cutPrefix(r.Name, tagPrefix) }

func cutPrefix(s, prefix string) string {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return ""
	}
	return rest
}

// refFiles reads the refs of one repository as gitrepository-layout(5)
// describes them: loose files first and then packed-refs, the order that stays
// right while git packs refs. Broken refs are passed over, as git does.
type refFiles struct {
	root *os.Root
	dir  string
}

// rawRef is a ref as it is stored.
type rawRef struct {
	symbolic string // the ref that it points to, or ""
	id       ID
	peeled   ID // as packed-refs notes it, zero when unknown
}

// lookup reads one ref without following it.
func (f refFiles) lookup(name string) (rawRef, bool, error) {
	ref, ok, err := f.loose(name)
	if ok || err != nil {
		return ref, ok, err
	}
	err = f.packed(func(n string, r rawRef) bool {
		if n == name {
			ref, ok = r, true
		}
		return !ok
	})
	return ref, ok, err
}

// first returns the first of the names that is a served ref. packed-refs is read
// once however many names there are: they come from a URI.
func (f refFiles) first(names []string) (string, error) {
	rank := make(map[string]int, len(names))
	for i, name := range names {
		if validRefName(name) && !hidden(name) {
			rank[name] = i
		}
	}
	best := len(names)
	for name, i := range rank {
		if i >= best {
			continue
		}
		_, ok, err := f.loose(name)
		if err != nil {
			return "", err
		}
		if ok {
			best = i
		}
	}
	err := f.packed(func(name string, _ rawRef) bool {
		if i, ok := rank[name]; ok && i < best {
			best = i
		}
		return true
	})
	if err != nil {
		return "", err
	}
	if best == len(names) {
		return "", fmt.Errorf("ref: %w", ErrNotFound)
	}
	return names[best], nil
}

// follow reads a ref through symbolic ones.
func (f refFiles) follow(name string) (final string, ref rawRef, ok bool, err error) {
	for range maxSymrefDepth {
		ref, ok, err = f.lookup(name)
		if !ok || err != nil || ref.symbolic == "" {
			return name, ref, ok, err
		}
		if name = ref.symbolic; !validRefName(name) {
			break
		}
	}
	return name, rawRef{}, false, nil
}

// all calls yield for each ref of the repository, in the order of their names.
func (f refFiles) all() (names []string, refs map[string]rawRef, err error) {
	refs = make(map[string]rawRef)
	if err := f.walkLoose("refs", refs); err != nil {
		return nil, nil, err
	}
	err = f.packed(func(name string, ref rawRef) bool {
		if _, ok := refs[name]; !ok {
			refs[name] = ref
		}
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	names = make([]string, 0, len(refs))
	for name := range refs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, refs, nil
}

func (f refFiles) walkLoose(dir string, refs map[string]rawRef) error {
	entries, err := readDir(f.root, path.Join(f.dir, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading refs: %w", err)
	}
	for _, entry := range entries {
		name := dir + "/" + entry.Name()
		if entry.IsDir() {
			if err := f.walkLoose(name, refs); err != nil {
				return err
			}
			continue
		}
		if !validRefName(name) {
			continue
		}
		ref, ok, err := f.loose(name)
		if err != nil {
			return err
		}
		if ok {
			refs[name] = ref
		}
	}
	return nil
}

// loose reads one loose ref: "ref: NAME" or an object id.
func (f refFiles) loose(name string) (rawRef, bool, error) {
	file := path.Join(f.dir, name)
	info, err := f.root.Stat(file)
	if absent(err) || err == nil && (!info.Mode().IsRegular() || info.Size() > maxLooseRefBytes) {
		return rawRef{}, false, nil
	}
	if err != nil {
		return rawRef{}, false, fmt.Errorf("reading a ref: %w", err)
	}
	content, err := f.root.ReadFile(file)
	if absent(err) {
		return rawRef{}, false, nil
	}
	if err != nil {
		return rawRef{}, false, fmt.Errorf("reading a ref: %w", err)
	}
	line := strings.TrimRight(string(content), " \t\r\n")
	if target, ok := strings.CutPrefix(line, "ref:"); ok {
		return rawRef{symbolic: strings.TrimLeft(target, " \t")}, true, nil
	}
	id, err := ParseID(line)
	return rawRef{id: id}, err == nil && !id.IsZero(), nil
}

// absent reports whether a ref's file is not there: gone, or a name whose
// leading part is a file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// packed calls yield for each line of packed-refs until it returns false. The
// format is that of git's refs/packed-backend.c: "ID NAME" lines, each followed
// by "^ID" when it is an annotated tag.
func (f refFiles) packed(yield func(name string, ref rawRef) bool) error {
	file, err := f.root.Open(path.Join(f.dir, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading packed refs: %w", err)
	}
	defer func() { _ = file.Close() }() // only read from
	return scanPackedRefs(file, yield)
}

func scanPackedRefs(file *os.File, yield func(name string, ref rawRef) bool) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("reading packed refs: %w", err)
	}
	if info.Size() > maxPackedRefsBytes {
		return fmt.Errorf("packed refs of %d bytes: %w", info.Size(), ErrUnsupported)
	}
	var name string
	var ref rawRef
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLooseRefBytes)
	for scanner.Scan() {
		line := scanner.Bytes()
		if peeled, ok := bytes.CutPrefix(line, []byte("^")); ok {
			ref.peeled, _ = ParseID(string(peeled))
			continue
		}
		if name != "" && !yield(name, ref) {
			return nil
		}
		name, ref = parsePackedRef(string(line))
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading packed refs: %w: %w", ErrCorrupt, err)
	}
	if name != "" {
		yield(name, ref)
	}
	return nil
}

// parsePackedRef returns no name for a comment and for a line that is no ref.
func parsePackedRef(line string) (string, rawRef) {
	hex, name, ok := strings.Cut(line, " ")
	id, err := ParseID(hex)
	if !ok || err != nil || !validRefName(name) {
		return "", rawRef{}
	}
	return name, rawRef{id: id}
}
