package dotgit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"github.com/repomcp/repomcp/internal/base/swap"
	"github.com/repomcp/repomcp/internal/git"
)

// Index is git's index of a working tree (gitformat-index(5)).
type Index struct {
	// Entries are in git's order, by path and stage.
	Entries []Entry
	folders []folder // the extension "cache tree"; nil if there is none
}

// Entry is a path in an index.
type Entry struct {
	Path string
	Mode git.Mode
	ID   git.ID
	Stat Stat
	// Stage is that of a conflict, or 0.
	Stage uint8
	// AssumeValid, SkipWorktree and IntentToAdd are set by users: git-update-index(1),
	// git-sparse-checkout(1), and git-add(1).
	AssumeValid, SkipWorktree, IntentToAdd bool
}

// Stat is what git compares with a file to see whether it was changed. All numbers have 32 bits, of
// which git uses the lowest. The zero value matches no file, so that git compares the content.
type Stat struct {
	CTime, CTimeNano, MTime, MTimeNano uint32
	Device, Inode, UID, GID, Size      uint32
}

// StatOf returns the Stat of a file.
func StatOf(info fs.FileInfo) Stat {
	changed, modified := swap.ChangeTime(info), info.ModTime().UnixNano()
	s := Stat{MTime: uint32(modified / second), MTimeNano: uint32(modified % second), Size: uint32(info.Size())}
	if hasStat {
		s.CTime, s.CTimeNano = uint32(changed/second), uint32(changed%second)
		s.setPlace(info)
	}
	return s
}

const second = 1_000_000_000

// The flags of an entry.
const (
	flagAssumeValid  = 0x8000
	flagExtended     = 0x4000
	flagStageShift   = 12
	flagStage        = 3
	flagName         = 0x0fff // the length of the path, or the largest value
	flagSkipWorktree = 0x4000 // of the extended flags
	flagIntentToAdd  = 0x2000
)

const (
	entryFixed = 62 // bytes before the path
	statFields = 10 // numbers before the id, with the mode
	entryAlign = 8
)

// errIndex says that an index cannot be read.
var errIndex = errors.New("the index is damaged, or in a form that is not supported (split or sparse)")

// ParseIndex reads the content of an index of version 2, 3 or 4.
func ParseIndex(content []byte) (*Index, error) {
	body, sum := content[:max(0, len(content)-sha1.Size)], content[max(0, len(content)-sha1.Size):]
	whole := sha1.Sum(body)
	none := make([]byte, sha1.Size) // with index.skipHash
	if len(body) < 12 || string(body[:4]) != "DIRC" || !bytes.Equal(sum, whole[:]) && !bytes.Equal(sum, none) {
		return nil, errIndex
	}
	p := &indexParser{rest: body[12:], version: binary.BigEndian.Uint32(body[4:])}
	count := binary.BigEndian.Uint32(body[8:])
	if p.version < 2 || p.version > 4 || int64(count)*entryFixed > int64(len(body)) {
		return nil, errIndex
	}
	index := &Index{Entries: make([]Entry, 0, count)}
	for range count {
		e, ok := p.entry()
		if !ok {
			return nil, errIndex
		}
		index.Entries = append(index.Entries, e)
	}
	if !slices.IsSortedFunc(index.Entries, compareEntries) {
		return nil, errIndex
	}
	return index, p.extensions(index)
}

func compareEntries(a, b Entry) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Stage, b.Stage))
}

// between returns the entries from a path on, and before another one.
func (x *Index) between(from, before string) []Entry {
	at := func(path string) int {
		return sort.Search(len(x.Entries), func(i int) bool { return x.Entries[i].Path >= path })
	}
	return x.Entries[at(from):at(before)]
}

type indexParser struct {
	rest    []byte
	version uint32
	last    string // path
}

func (p *indexParser) entry() (e Entry, ok bool) {
	if len(p.rest) < entryFixed {
		return e, false
	}
	var numbers [statFields]uint32
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint32(p.rest[4*i:])
	}
	s := &e.Stat
	s.CTime, s.CTimeNano, s.MTime, s.MTimeNano = numbers[0], numbers[1], numbers[2], numbers[3]
	s.Device, s.Inode, s.UID, s.GID, s.Size = numbers[4], numbers[5], numbers[7], numbers[8], numbers[9]
	e.Mode = git.Mode(numbers[6])
	e.ID = git.ID(p.rest[4*statFields:])
	flags := binary.BigEndian.Uint16(p.rest[entryFixed-2:])
	e.AssumeValid, e.Stage = flags&flagAssumeValid != 0, uint8(flags>>flagStageShift&flagStage)
	used := entryFixed
	if flags&flagExtended != 0 {
		if p.version < 3 || len(p.rest) < used+2 {
			return e, false
		}
		more := binary.BigEndian.Uint16(p.rest[used:])
		e.SkipWorktree, e.IntentToAdd = more&flagSkipWorktree != 0, more&flagIntentToAdd != 0
		used += 2
	}
	return e, p.path(&e, used)
}

// path reads the path of an entry, after some of its bytes.
func (p *indexParser) path(e *Entry, used int) bool {
	kept := ""
	if p.version == 4 { // only what differs from the path before
		drop, n := offsetVarint(p.rest[used:])
		if n == 0 || drop > int64(len(p.last)) {
			return false
		}
		kept, used = p.last[:len(p.last)-int(drop)], used+n
	}
	length := bytes.IndexByte(p.rest[used:], 0)
	if length < 0 {
		return false
	}
	e.Path = kept + string(p.rest[used:used+length])
	p.last = e.Path
	used += length + 1
	if p.version < 4 {
		used += (entryAlign - used%entryAlign) % entryAlign
	}
	if used > len(p.rest) || e.Path == "" {
		return false
	}
	p.rest = p.rest[used:]
	return true
}

// offsetVarint reads a number in the encoding of gitformat-pack(5), "offset encoding". n is the
// number of bytes, 0 for a malformed one.
func offsetVarint(b []byte) (value int64, n int) {
	for n < len(b) && n < 9 {
		c := b[n]
		if n > 0 {
			value = (value + 1) << 7
		}
		value |= int64(c & 0x7f)
		if n++; c&0x80 == 0 {
			return value, n
		}
	}
	return 0, 0
}

// extensions reads what follows the entries. All extensions whose names begin with an upper-case
// letter may be left out, and others change the meaning of the index.
func (p *indexParser) extensions(index *Index) error {
	for len(p.rest) > 0 {
		if len(p.rest) < 8 {
			return errIndex
		}
		name, size := p.rest[:4], binary.BigEndian.Uint32(p.rest[4:])
		if name[0] < 'A' || name[0] > 'Z' || int64(size) > int64(len(p.rest)-8) {
			return fmt.Errorf("%w: it has the extension %.4q", errIndex, name)
		}
		content := p.rest[8 : 8+size]
		p.rest = p.rest[8+size:]
		if string(name) == "TREE" {
			index.folders = parseFolders(content)
		}
	}
	return nil
}

// WriteTo writes the index in version 2, or 3 if it has flags that need it.
func (x *Index) WriteTo(w io.Writer) (int64, error) {
	sum := sha1.New()
	out := &counting{w: bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)}
	version := uint32(2)
	if slices.ContainsFunc(x.Entries, Entry.isExtended) {
		version = 3
	}
	record := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	out.write(binary.BigEndian.AppendUint32(record, uint32(len(x.Entries))))
	for i := range x.Entries {
		record = x.Entries[i].appendTo(record[:0])
		out.write(record)
	}
	if x.folders != nil {
		content := appendFolders(nil, x.folders)
		out.write(binary.BigEndian.AppendUint32([]byte("TREE"), uint32(len(content))))
		out.write(content)
	}
	if err := out.w.Flush(); err != nil {
		return out.n, err
	}
	n, err := w.Write(sum.Sum(nil))
	return out.n + int64(n), err
}

// counting counts the bytes that go through a buffer, which keeps errors.
type counting struct {
	w *bufio.Writer
	n int64
}

func (c *counting) write(b []byte) {
	n, _ := c.w.Write(b) // Flush returns its error
	c.n += int64(n)
}

func (e Entry) isExtended() bool { return e.SkipWorktree || e.IntentToAdd }

func (e *Entry) appendTo(b []byte) []byte {
	start, s := len(b), e.Stat
	for _, number := range [statFields]uint32{
		s.CTime, s.CTimeNano, s.MTime, s.MTimeNano, s.Device, s.Inode, uint32(e.Mode), s.UID, s.GID, s.Size,
	} {
		b = binary.BigEndian.AppendUint32(b, number)
	}
	b = append(b, e.ID[:]...)
	flags, more := uint16(min(len(e.Path), flagName))|uint16(e.Stage)<<flagStageShift, uint16(0)
	for _, flag := range []struct {
		set   bool
		value uint16
		in    *uint16
	}{
		{e.AssumeValid, flagAssumeValid, &flags}, {e.isExtended(), flagExtended, &flags},
		{e.SkipWorktree, flagSkipWorktree, &more}, {e.IntentToAdd, flagIntentToAdd, &more},
	} {
		if flag.set {
			*flag.in |= flag.value
		}
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	if e.isExtended() {
		b = binary.BigEndian.AppendUint16(b, more)
	}
	b = append(b, e.Path...)
	padding := entryAlign - (len(b)-start)%entryAlign // at least one NUL
	return append(b, make([]byte, padding)...)
}

// Times returns the times of modification and of change, in nanoseconds since 1970; 0 if they are
// unknown.
func (s Stat) Times() (modified, changed int64) {
	return int64(s.MTime)*second + int64(s.MTimeNano), int64(s.CTime)*second + int64(s.CTimeNano)
}
