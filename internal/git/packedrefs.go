package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git/objects"
	"github.com/repomcp/repomcp/internal/git/objects/files"
)

const (
	packedFile = "packed-refs"
	// maxPackedRefsBytes bounds packed-refs: some three million refs.
	maxPackedRefsBytes = 256 << 20
	// lookUpBytes bounds the results of look-ups in the packed-refs of all repositories: twenty thousand names.
	lookUpBytes = 8 << 20
	// lookUpCost is what a result takes, with its name.
	lookUpCost = 400
)

// packedRefs is the file packed-refs of a repository, open. Its format is that of git-pack-refs(1): "ID NAME" lines,
// each followed by "^ID" when it is an annotated tag.
type packedRefs struct {
	file *os.File // nil if there is none
	seen files.Seen
}

// lookUps are the results of look-ups in packed-refs, which count while the file is as it was. Otherwise a look-up
// reads the whole file: a mirror of a large host has some hundred thousand refs of pull requests.
type lookUps = lru.Cache[lookUpKey, lookUp]

type lookUpKey struct{ dir, name string }

type lookUp struct {
	seen files.Seen
	ref  rawRef
	ok   bool
}

// openPacked opens packed-refs. Close it. Opening has a network file system ask its server, as [os.Stat] may not for
// seconds.
func (f refFiles) openPacked() (*packedRefs, error) {
	p := &packedRefs{seen: files.Seen{At: time.Now()}}
	file, info, err := files.Open(f.root, path.Join(f.dir, packedFile))
	if errors.Is(err, objects.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading packed refs: %w", domainError(err))
	}
	p.file, p.seen.Info = file, info
	return p, nil
}

func (p *packedRefs) close() {
	if p.file != nil {
		_ = p.file.Close() // it was only read
	}
}

// lookAtPacked returns packed-refs as it is now, or nil if there is none.
func (f refFiles) lookAtPacked() (fs.FileInfo, error) {
	p, err := f.openPacked()
	if err != nil {
		return nil, err
	}
	p.close()
	return p.seen.Info, nil
}

// lookUpPacked returns which of the names packed-refs has, and the ref; "" if it has none of them. All names begin with
// the first, so that git allows only one of them. The file is read at most once however many there are: they come from
// a URI.
func (f refFiles) lookUpPacked(names ...string) (name string, ref rawRef, err error) {
	p, err := f.openPacked()
	if err != nil {
		return "", rawRef{}, err
	}
	defer p.close()
	unknown := make(map[string]bool, len(names))
	for _, asked := range names {
		switch known, ok := f.lookUps.Get(lookUpKey{f.dir, asked}); {
		case !ok || !known.seen.IsStill(p.seen.Info):
			unknown[asked] = true
		case known.ok:
			return asked, known.ref, nil
		}
	}
	if len(unknown) == 0 {
		return "", rawRef{}, nil
	}
	wanted := func(name []byte) bool { return unknown[string(name)] }
	err = p.read(wanted, func(found string, r rawRef) bool {
		name, ref = found, r
		return false
	})
	if err != nil {
		return "", rawRef{}, err
	}
	for asked := range unknown {
		if ok := asked == name; ok || name == "" {
			f.lookUps.Put(lookUpKey{f.dir, asked}, lookUp{p.seen, ref, ok}, lookUpCost)
		}
	}
	return name, ref, nil
}

// read calls yield for each wanted line until it returns false.
func (p *packedRefs) read(wanted func(name []byte) bool, yield func(name string, ref rawRef) bool) error {
	if p.file == nil {
		return nil
	}
	size := p.seen.Info.Size()
	if size > maxPackedRefsBytes {
		return fmt.Errorf("packed refs of %d bytes: %w", size, ErrUnsupported)
	}
	if err := checkLastLine(p.file, size); err != nil {
		return fmt.Errorf("reading packed refs: %w", err)
	}
	return scanPackedRefs(p.file, wanted, yield)
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

// scanPackedRefs reads only the wanted ids, all if wanted is nil: reading ids is most of the work in a file with
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

// splitLines is [bufio.ScanLines] that leaves carriage returns in their lines. A line without an end is none: the file
// cannot be read any further, and the scanner has the reason, or the file was cut meanwhile.
func splitLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errCutRefs
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
