package tar

import (
	"bytes"
	"strconv"

	"github.com/repomcp/repomcp/internal/git"
)

// RecordSize is the size of a header; contents are padded to a multiple of it.
const RecordSize = 512

// The layout of a ustar header (POSIX.1-1988): offset and length of each field
// in the record.
const (
	// blockSize is git's blocking: an archive's length is a multiple of it.
	blockSize = 20 * RecordSize

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

	// maxUstarSize and maxUstarTime fit into eleven octal digits: a pax record carries larger
	// numbers.
	maxUstarSize = 0o77777777777
	maxUstarTime = 0o77777777777

	// Permissions as git writes them with tar.umask=0002.
	permDir       = 0o775
	permExec      = 0o775
	permRegular   = 0o664
	permSymlink   = 0o777
	permExtension = 0o666
)

// Format writes headers. It is stateless and safe for concurrent use.
type Format struct {
	// MTime of all members, in seconds since 1970.
	MTime uint64
}

// Member is a header without the size of its content. The path is raw bytes; a folder's ends in
// "/". The id names extension headers.
type Member struct {
	Path []byte
	Mode git.Mode
	ID   git.ID
	// Patch is the value of the record [PatchRecord]; "" means none.
	Patch string
}

// PatchRecord is the pax record of a member whose content is a patch.
const PatchRecord = "REPOMCP.patch"

// GlobalHeader starts an archive: it contains the commit's id, which git get-tar-commit-id reads.
func (t Format) GlobalHeader(out []byte, commit git.ID) []byte {
	body := paxRecord(nil, "comment", []byte(commit.String()))
	if t.MTime > maxUstarTime {
		body = paxRecord(body, "mtime", strconv.AppendUint(nil, t.MTime, 10))
	}
	return t.extension(out, "pax_global_header", typePaxGlobal, body)
}

// Header appends the records before an entry's content: of a regular file with the given size, or
// of a symbolic link with the given target.
func (t Format) Header(out []byte, e Member, size int64, link []byte) []byte {
	var pax []byte
	name, prefix, ok := splitPath(e.Path)
	if !ok {
		name, prefix = []byte(e.ID.String()+".data"), nil
		pax = paxRecord(pax, "path", e.Path)
	}
	if len(link) > linkLen {
		pax = paxRecord(pax, "linkpath", link)
		link = []byte("see " + e.ID.String() + ".paxheader")
	}
	if size > maxUstarSize {
		pax = paxRecord(pax, "size", strconv.AppendInt(nil, size, 10))
		size = 0
	}
	if e.Patch != "" {
		pax = paxRecord(pax, PatchRecord, []byte(e.Patch))
	}
	if pax != nil {
		out = t.extension(out, e.ID.String()+".paxheader", typePax, pax)
	}
	kind, permission := kindOf(e.Mode)
	out, r := t.record(out, kind, permission, size)
	copy(r[nameAt:nameAt+nameLen], name)
	copy(r[prefixAt:prefixAt+prefixLen], prefix)
	copy(r[linkAt:linkAt+linkLen], link)
	checksum(r)
	return out
}

// HeaderLength returns the length of the output of [Format.Header].
func HeaderLength(path []byte, size int64, link int) int64 {
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
		return RecordSize
	}
	return RecordSize + PaddedLength(int64(pax)) + RecordSize
}

// PaddedLength returns a length with its padding.
func PaddedLength(length int64) int64 { return (length + RecordSize - 1) / RecordSize * RecordSize }

func kindOf(mode git.Mode) (kind byte, permission int64) {
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
func (t Format) extension(out []byte, name string, kind byte, body []byte) []byte {
	out, r := t.record(out, kind, permExtension, int64(len(body)))
	copy(r[nameAt:nameAt+nameLen], name)
	checksum(r)
	return Pad(append(out, body...), int64(len(body)))
}

// record appends a header with the common fields, and also returns the header itself.
func (t Format) record(out []byte, kind byte, permission, size int64) (longer, r []byte) {
	start := len(out)
	out = append(out, zeros[:RecordSize]...)
	r = out[start:]
	octal(r[modeAt:], shortDigits, permission)
	octal(r[uidAt:], shortDigits, 0)
	octal(r[gidAt:], shortDigits, 0)
	octal(r[sizeAt:], longDigits, size)
	octal(r[mtimeAt:], longDigits, int64(min(t.MTime, maxUstarTime)))
	r[typeAt] = kind
	copy(r[magicAt:], "ustar\x0000")
	copy(r[unameAt:], "root")
	copy(r[gnameAt:], "root")
	octal(r[devmajorAt:], shortDigits, 0)
	octal(r[devminorAt:], shortDigits, 0)
	return out, r
}

// SetSize sets the size in the last of the headers before a content, which is the member's own,
// even after a pax header. The size must fit into eleven octal digits.
func SetSize(headers []byte, size int64) {
	r := headers[len(headers)-RecordSize:]
	octal(r[sizeAt:], longDigits, size)
	checksum(r)
}

// checksum sets the sum of a header's bytes, which counts its own field as spaces.
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

var zeros [RecordSize]byte

// Pad pads a content of the given length.
func Pad(out []byte, length int64) []byte {
	if rest := length % RecordSize; rest > 0 {
		out = append(out, zeros[:RecordSize-rest]...)
	}
	return out
}

// Trailer ends an archive of the given length: at least two empty records, up to a full block.
func Trailer(length int64) []byte {
	tail := blockSize - length%blockSize
	if tail < 2*RecordSize {
		tail += blockSize
	}
	return make([]byte, tail)
}

// splitPath divides a path into the fields name and prefix of a ustar header (POSIX.1-2017, pax,
// "ustar Interchange Format"), at the last slash that leaves a prefix of at most 154 bytes, as git
// does. It fails if a pax record is needed.
func splitPath(path []byte) (name, prefix []byte, ok bool) {
	if len(path) <= nameLen {
		return path, nil, true
	}
	folders := bytes.TrimSuffix(path, []byte("/")) // a folder's final slash is no separator
	slash := bytes.LastIndexByte(folders[:min(len(folders), prefixLen)], '/')
	if slash <= 0 || len(path)-slash-1 > nameLen {
		return nil, nil, false
	}
	return path[slash+1:], path[:slash], true
}

// paxRecord appends "LENGTH KEY=VALUE\n", where the length includes itself.
func paxRecord(out []byte, key string, value []byte) []byte {
	out = strconv.AppendInt(out, int64(paxLength(key, len(value))), 10)
	out = append(out, ' ')
	out = append(out, key...)
	out = append(out, '=')
	out = append(out, value...)
	return append(out, '\n')
}

// paxLength returns the length of a record, including the digits of that length, which may gain a
// digit from being included.
func paxLength(key string, value int) int {
	rest := len(" =\n") + len(key) + value
	length := rest + 1
	for length < rest+len(strconv.Itoa(length)) {
		length++
	}
	return length
}
