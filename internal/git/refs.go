package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

const (
	branchPrefix = "refs/heads/"
	tagPrefix    = "refs/tags/"
	remotePrefix = "refs/remotes/"

	// maxSymrefDepth is how many symbolic refs in a row git follows.
	maxSymrefDepth = 5
	// maxLooseRefBytes bounds a loose ref file: a symbolic ref to the longest
	// name.
	maxLooseRefBytes = maxRefNameBytes + 64
	// maxPackedRefsBytes bounds packed-refs: some three million refs.
	maxPackedRefsBytes = 256 << 20

	packedFile = "packed-refs"
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

// refFiles reads the refs of one repository as gitrepository-layout(5) describes them: loose files
// first and then packed-refs, the order that stays right while git packs refs. A ref with a broken
// file still exists: its value is unknown, and packed-refs may have an outdated one.
type refFiles struct {
	root *os.Root
	dir  string
	// hides reports whether a ref is hidden, by its full name, and rules are the values of the
	// configuration that it depends on.
	hides func(name string) bool
	rules []string
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
	wanted := func(line []byte) bool { return string(line) == name }
	_, err = f.packed(wanted, func(_ string, r rawRef) bool {
		ref, ok = r, true
		return false
	})
	return ref, ok, err
}

// first returns the first of the names that is a visible ref. packed-refs is read once however many
// names there are: they come from a URI.
func (f refFiles) first(names []string) (string, error) {
	best, better := len(names), make(map[string]int, len(names))
	for i, name := range names {
		if !validRefName(name) || f.hides(name) {
			continue
		}
		_, ok, err := f.loose(name)
		if err != nil {
			return "", err
		}
		if ok {
			best = i
			break
		}
		better[name] = i
	}
	wanted := func(name []byte) bool { _, ok := better[string(name)]; return ok }
	_, err := f.packed(wanted, func(name string, _ rawRef) bool {
		best = min(best, better[name])
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

// all returns all refs of the repository, including hidden ones, with their names in order.
func (f refFiles) all() (names []string, refs map[string]rawRef, err error) {
	refs, err = f.allLoose()
	if err != nil {
		return nil, nil, err
	}
	names, _, err = f.addPacked(refs)
	return names, refs, err
}

func (f refFiles) allLoose() (map[string]rawRef, error) {
	refs := make(map[string]rawRef)
	return refs, f.walkLoose("refs", refs)
}

// addPacked adds the packed refs to the loose ones, and returns the names of all in order.
func (f refFiles) addPacked(refs map[string]rawRef) (names []string, packed files.Seen, err error) {
	names = slices.Collect(maps.Keys(refs))
	packed, err = f.packed(nil, func(name string, ref rawRef) bool {
		if _, ok := refs[name]; !ok {
			refs[name] = ref
			names = append(names, name) // mostly in order
		}
		return true
	})
	slices.Sort(names)
	return names, packed, err
}

func (f refFiles) walkLoose(dir string, refs map[string]rawRef) error {
	entries, err := files.ReadDir(f.root, path.Join(f.dir, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return readError("refs", err)
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

// errBadRef says that a loose ref is malformed.
var errBadRef = errors.New("is neither an object id nor a symbolic ref")

// loose reads one loose ref: "ref: NAME" or an object id. Like git it ignores everything after the
// id and a blank.
func (f refFiles) loose(name string) (rawRef, bool, error) {
	file := path.Join(f.dir, name)
	info, err := f.root.Stat(file)
	if absent(err) || err == nil && info.IsDir() {
		return rawRef{}, false, nil
	}
	content, err := readRegular(f.root, file, maxLooseRefBytes)
	switch {
	case errors.Is(err, ErrNotFound):
		return rawRef{}, false, nil
	case isDamage(err):
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

// packed calls yield for each wanted line of packed-refs until it returns false; nil
// wants all. It returns the file that it has read. The format is that of git-pack-refs(1):
// "ID NAME" lines, each followed by "^ID" when it is an annotated tag.
func (f refFiles) packed(wanted func(name []byte) bool, yield func(name string, ref rawRef) bool) (files.Seen, error) {
	seen := files.Seen{At: time.Now()}
	file, info, err := files.Open(f.root, path.Join(f.dir, packedFile))
	if errors.Is(err, objects.ErrNotFound) {
		return seen, nil
	}
	if err != nil {
		return seen, fmt.Errorf("reading packed refs: %w", domainError(err))
	}
	defer func() { _ = file.Close() }() // it was only read
	seen.Info = info
	if info.Size() > maxPackedRefsBytes {
		return seen, fmt.Errorf("packed refs of %d bytes: %w", info.Size(), ErrUnsupported)
	}
	if err := checkLastLine(file, info.Size()); err != nil {
		return seen, fmt.Errorf("reading packed refs: %w", err)
	}
	return seen, scanPackedRefs(file, wanted, yield)
}

var (
	errCutRefs = errors.New("the last line has no end")
	errBadLine = errors.New("a line is no ref")
)

// checkLastLine detects a truncated file, as git does: refs would be missing silently.
func checkLastLine(file *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	var last [1]byte
	if _, err := file.ReadAt(last[:], size-1); err != nil {
		return readError("the last line", err)
	}
	if last[0] != '\n' {
		return fmt.Errorf("%w: %w", ErrCorrupt, errCutRefs)
	}
	return nil
}

// scanPackedRefs reads only the wanted ids: reading ids is most of the work in a file with
// thousands of refs. Like git it refuses a mangled file, with carriage returns, comments below the
// first line or an id that belongs to no ref: a skipped ref would be missing silently.
func scanPackedRefs(file io.Reader, wanted func(name []byte) bool, yield func(name string, ref rawRef) bool) error {
	var name string
	var ref rawRef
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLooseRefBytes)
	scanner.Split(splitLines)
	peelable := false // the previous line is a ref
	for first := true; scanner.Scan(); first = false {
		line := scanner.Bytes()
		if first && bytes.HasPrefix(line, []byte("#")) {
			continue
		}
		peeled, isPeeled := bytes.CutPrefix(line, []byte("^"))
		if bytes.HasSuffix(line, []byte("\r")) || isPeeled && !peelable {
			return fmt.Errorf("reading packed refs: %w: %w", ErrCorrupt, errBadLine)
		}
		peelable = !isPeeled
		var err error
		if isPeeled {
			if name == "" {
				continue
			}
			if ref.peeled, err = ParseID(string(peeled)); err != nil {
				return fmt.Errorf("reading packed refs: %w: %w", ErrCorrupt, errBadLine)
			}
			continue
		}
		if name != "" && !yield(name, ref) {
			return nil
		}
		if at := bytes.IndexByte(line, ' '); wanted != nil && at == fullIDLength && !wanted(line[at+1:]) {
			name = ""
			continue
		}
		if name, ref, err = parsePackedRef(string(line)); err != nil {
			return fmt.Errorf("reading packed refs: %w: %w", ErrCorrupt, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading packed refs: %w: %w", ErrCorrupt, err)
	}
	if name != "" {
		yield(name, ref)
	}
	return nil
}

// splitLines is [bufio.ScanLines] that leaves carriage returns in their lines.
func splitLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// parsePackedRef returns no name for a ref that git does not allow.
func parsePackedRef(line string) (string, rawRef, error) {
	hex, name, ok := strings.Cut(line, " ")
	id, err := ParseID(hex)
	if !ok || err != nil {
		return "", rawRef{}, errBadLine
	}
	if !validRefName(name) {
		return "", rawRef{}, nil
	}
	return name, rawRef{id: id}, nil
}
