package archive

import (
	"fmt"
	"io"
	"strconv"

	"github.com/repomcp/repomcp/internal/repos"
)

// The layout of a ustar header (POSIX.1-1988, git's tar.h): offset and length
// of each field in the 512-byte record.
const (
	recordSize = 512
	// blockSize is git's blocking: an archive's length is a multiple of it.
	blockSize = 20 * recordSize

	nameAt, nameLen         = 0, 100
	modeAt                  = 100
	uidAt                   = 108
	gidAt                   = 116
	sizeAt                  = 124
	mtimeAt                 = 136
	checksumAt, checksumLen = 148, 8
	typeAt                  = 156
	linkAt, linkLen         = 157, 100
	magicAt                 = 257
	unameAt                 = 265
	gnameAt                 = 297
	devmajorAt              = 329
	devminorAt              = 337
	prefixAt, prefixLen     = 345, 155

	typeRegular   = '0'
	typeSymlink   = '2'
	typeDir       = '5'
	typePax       = 'x'
	typePaxGlobal = 'g'

	// maxUstarSize and maxUstarTime are what eleven octal digits hold: beyond,
	// a pax record carries the number.
	maxUstarSize = 0o77777777777
	maxUstarTime = 0o77777777777

	// Permissions as git writes them with tar.umask=0002.
	permDir       = 0o775
	permExec      = 0o775
	permRegular   = 0o664
	permSymlink   = 0o777
	permExtension = 0o666
)

// tarWriter writes tar as git's archive-tar.c does, to the byte.
type tarWriter struct {
	w       io.Writer
	mtime   int64
	written int64
	record  [recordSize]byte
}

// entry is one member of an archive.
type entry struct {
	path string // raw bytes; a folder's ends in "/"
	mode repos.Mode
	id   repos.ID
	size int64  // of a regular file
	link string // of a symbolic link
}

// globalHeader starts an archive: it carries the commit's id, which
// git get-tar-commit-id reads.
func (t *tarWriter) globalHeader(commit repos.ID) error {
	body := paxRecord("comment", commit.String())
	if t.mtime > maxUstarTime {
		body += paxRecord("mtime", strconv.FormatInt(t.mtime, 10))
	}
	return t.extension("pax_global_header", typePaxGlobal, body)
}

// header writes the records that precede an entry's content.
func (t *tarWriter) header(e entry) error {
	var pax string
	name, prefix, ok := splitPath(e.path)
	if !ok {
		name, prefix = e.id.String()+".data", ""
		pax += paxRecord("path", e.path)
	}
	link := e.link
	if len(link) > linkLen {
		link = "see " + e.id.String() + ".paxheader"
		pax += paxRecord("linkpath", e.link)
	}
	size := e.size
	if size > maxUstarSize {
		pax += paxRecord("size", strconv.FormatInt(size, 10))
		size = 0
	}
	if pax != "" {
		if err := t.extension(e.id.String()+".paxheader", typePax, pax); err != nil {
			return err
		}
	}
	kind, permission := kindOf(e.mode)
	t.fill(name, kind, permission, size)
	copy(t.record[prefixAt:prefixAt+prefixLen], prefix)
	copy(t.record[linkAt:linkAt+linkLen], link)
	return t.flush()
}

func kindOf(mode repos.Mode) (kind byte, permission int64) {
	switch {
	case mode.IsDir(), mode.IsGitlink():
		return typeDir, permDir
	case mode.IsSymlink():
		return typeSymlink, permSymlink
	case mode.IsExecutable():
		return typeRegular, permExec
	default:
		return typeRegular, permRegular
	}
}

// extension writes a pax header with its body.
func (t *tarWriter) extension(name string, kind byte, body string) error {
	t.fill(name, kind, permExtension, int64(len(body)))
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.write([]byte(body)); err != nil {
		return err
	}
	return t.pad()
}

// fill prepares a record with the fields that all headers share.
func (t *tarWriter) fill(name string, kind byte, permission, size int64) {
	t.record = [recordSize]byte{}
	r := t.record[:]
	copy(r[nameAt:nameAt+nameLen], name)
	octal(r[modeAt:], 7, permission)
	octal(r[uidAt:], 7, 0)
	octal(r[gidAt:], 7, 0)
	octal(r[sizeAt:], 11, size)
	octal(r[mtimeAt:], 11, t.headerTime())
	r[typeAt] = kind
	copy(r[magicAt:], "ustar\x0000")
	copy(r[unameAt:], "root")
	copy(r[gnameAt:], "root")
	octal(r[devmajorAt:], 7, 0)
	octal(r[devminorAt:], 7, 0)
}

// headerTime is what fits: git clamps a later time and a commit before 1970
// has the time of the epoch.
func (t *tarWriter) headerTime() int64 { return max(0, min(t.mtime, maxUstarTime)) }

// flush computes the checksum, which counts its own field as spaces, and
// writes the record.
func (t *tarWriter) flush() error {
	sum := int64(checksumLen * ' ')
	for _, b := range t.record {
		sum += int64(b)
	}
	octal(t.record[checksumAt:], 7, sum)
	return t.write(t.record[:])
}

// octal writes a number in the given count of digits.
func octal(field []byte, digits int, n int64) {
	copy(field, fmt.Sprintf("%0*o", digits, n))
}

var zeros [blockSize]byte

// pad fills the record of the content written last.
func (t *tarWriter) pad() error {
	if rest := t.written % recordSize; rest > 0 {
		return t.write(zeros[:recordSize-rest])
	}
	return nil
}

// trailer ends the archive: at least two empty records, and the block full.
func (t *tarWriter) trailer() error {
	tail := blockSize - t.written%blockSize
	if err := t.write(zeros[:tail]); err != nil || tail >= 2*recordSize {
		return err
	}
	return t.write(zeros[:])
}

func (t *tarWriter) write(p []byte) error {
	n, err := t.w.Write(p)
	t.written += int64(n)
	return err
}

// splitPath divides a path over the name and prefix fields the way git's
// get_path_prefix does. It fails where a pax record is needed.
func splitPath(path string) (name, prefix string, ok bool) {
	if len(path) <= nameLen {
		return path, "", true
	}
	at := len(path)
	if at > 1 && path[at-1] == '/' {
		at--
	}
	at = min(at, prefixLen)
	for at--; at > 0 && path[at] != '/'; at-- {
	}
	if at <= 0 || len(path)-at-1 > nameLen {
		return "", "", false
	}
	return path[at+1:], path[:at], true
}

// paxRecord is "LENGTH KEY=VALUE\n", where the length counts itself.
func paxRecord(key, value string) string {
	body := " " + key + "=" + value + "\n"
	length := len(body)
	for digits := 1; ; digits++ {
		if s := strconv.Itoa(length + digits); len(s) == digits {
			return s + body
		}
	}
}
