package archive

import (
	"bytes"
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

	shortDigits = 7  // of mode, uid, gid, devices and the checksum
	longDigits  = 11 // of size and time

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

// tarFormat writes tar as git archive does, to the byte. It appends to
// buffers and keeps nothing, so that workers can use one at the same time.
type tarFormat struct {
	mtime uint64
}

// entry is one member of an archive. Path and link are raw bytes; a folder's
// path ends in "/".
type entry struct {
	path []byte
	mode repos.Mode
	id   repos.ID

	treatment *treatment
	module    *module // what its content is of; nil: the archive's own repository
}

// globalHeader starts an archive: it carries the commit's id, which
// git get-tar-commit-id reads.
func (t tarFormat) globalHeader(out []byte, commit repos.ID) []byte {
	body := paxRecord(nil, "comment", []byte(commit.String()))
	if t.mtime > maxUstarTime {
		body = paxRecord(body, "mtime", strconv.AppendUint(nil, t.mtime, 10))
	}
	return t.extension(out, "pax_global_header", typePaxGlobal, body)
}

// header appends the records that precede an entry's content: of a regular
// file with the given size, or of a symbolic link with the given target.
func (t tarFormat) header(out []byte, e entry, size int64, link []byte) []byte {
	var pax []byte
	name, prefix, ok := splitPath(e.path)
	if !ok {
		name, prefix = []byte(e.id.String()+".data"), nil
		pax = paxRecord(pax, "path", e.path)
	}
	if len(link) > linkLen {
		pax = paxRecord(pax, "linkpath", link)
		link = []byte("see " + e.id.String() + ".paxheader")
	}
	if size > maxUstarSize {
		pax = paxRecord(pax, "size", strconv.AppendInt(nil, size, 10))
		size = 0
	}
	if pax != nil {
		out = t.extension(out, e.id.String()+".paxheader", typePax, pax)
	}
	kind, permission := kindOf(e.mode)
	out, r := t.record(out, kind, permission, size)
	copy(r[nameAt:nameAt+nameLen], name)
	copy(r[prefixAt:prefixAt+prefixLen], prefix)
	copy(r[linkAt:linkAt+linkLen], link)
	checksum(r)
	return out
}

// headerLength is the length of what header appends.
func headerLength(path []byte, size int64, link int) int64 {
	pax := 0
	if _, _, ok := splitPath(path); !ok {
		pax += paxLength("path", len(path))
	}
	if link > linkLen {
		pax += paxLength("linkpath", link)
	}
	if size > maxUstarSize {
		pax += paxLength("size", len(strconv.FormatInt(size, 10)))
	}
	if pax == 0 {
		return recordSize
	}
	return recordSize + records(int64(pax)) + recordSize
}

// records is a length with the padding of its last record.
func records(length int64) int64 { return (length + recordSize - 1) / recordSize * recordSize }

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

// extension appends a pax header with its body.
func (t tarFormat) extension(out []byte, name string, kind byte, body []byte) []byte {
	out, r := t.record(out, kind, permExtension, int64(len(body)))
	copy(r[nameAt:nameAt+nameLen], name)
	checksum(r)
	return pad(append(out, body...), len(body))
}

// record appends a header with the fields that all headers share, and returns
// it as well.
func (t tarFormat) record(out []byte, kind byte, permission, size int64) (longer, r []byte) {
	start := len(out)
	out = append(out, zeros[:recordSize]...)
	r = out[start:]
	octal(r[modeAt:], shortDigits, permission)
	octal(r[uidAt:], shortDigits, 0)
	octal(r[gidAt:], shortDigits, 0)
	octal(r[sizeAt:], longDigits, size)
	octal(r[mtimeAt:], longDigits, int64(min(t.mtime, maxUstarTime)))
	r[typeAt] = kind
	copy(r[magicAt:], "ustar\x0000")
	copy(r[unameAt:], "root")
	copy(r[gnameAt:], "root")
	octal(r[devmajorAt:], shortDigits, 0)
	octal(r[devminorAt:], shortDigits, 0)
	return out, r
}

// checksum fills in the sum of a header's bytes, which counts its own field as
// spaces.
func checksum(r []byte) {
	clear(r[checksumAt : checksumAt+checksumLen])
	sum := int64(checksumLen * ' ')
	for _, b := range r {
		sum += int64(b)
	}
	octal(r[checksumAt:], shortDigits, sum)
}

// octal writes a number in the given count of digits.
func octal(field []byte, digits int, n int64) {
	for i := digits - 1; i >= 0; i-- {
		field[i] = '0' + byte(n&7)
		n >>= 3
	}
}

var zeros [blockSize]byte

// pad fills the last record of a content of the given length.
func pad(out []byte, length int) []byte {
	if rest := length % recordSize; rest > 0 {
		out = append(out, zeros[:recordSize-rest]...)
	}
	return out
}

// trailer ends an archive of the given length: at least two empty records, and
// the block full.
func trailer(length int64) []byte {
	tail := blockSize - length%blockSize
	if tail < 2*recordSize {
		tail += blockSize
	}
	return make([]byte, tail)
}

// splitPath divides a path over the fields name and prefix of a ustar header
// (POSIX.1-2017, pax, "ustar Interchange Format"), at the last slash that leaves
// a prefix of at most 154 bytes, as git does. It fails where a pax record is
// needed.
func splitPath(path []byte) (name, prefix []byte, ok bool) {
	if len(path) <= nameLen {
		return path, nil, true
	}
	folders := bytes.TrimSuffix(path, []byte("/")) // a folder's own slash divides nothing
	slash := bytes.LastIndexByte(folders[:min(len(folders), prefixLen)], '/')
	if slash <= 0 || len(path)-slash-1 > nameLen {
		return nil, nil, false
	}
	return path[slash+1:], path[:slash], true
}

// paxRecord appends "LENGTH KEY=VALUE\n", where the length counts itself.
func paxRecord(out []byte, key string, value []byte) []byte {
	out = strconv.AppendInt(out, int64(paxLength(key, len(value))), 10)
	out = append(out, ' ')
	out = append(out, key...)
	out = append(out, '=')
	out = append(out, value...)
	return append(out, '\n')
}

// paxLength is the length of a record, with that of the number it begins with,
// which may get a digit more by being counted itself.
func paxLength(key string, value int) int {
	rest := len(" =\n") + len(key) + value
	length := rest + 1
	for length < rest+len(strconv.Itoa(length)) {
		length++
	}
	return length
}
