package checkout

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"github.com/repomcp/repomcp/internal/base/spill"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	indexHeaderBytes = 12
	// maxNameFlag is the length in the flags of a name that is as long or longer.
	maxNameFlag = 0xfff
	// extensionHeaderBytes is the length of the name and the size of an extension.
	extensionHeaderBytes = 8
	// entryAlignment is the number of bytes that the length of an entry is a multiple of.
	entryAlignment = 8
)

// errOrder says that entries do not come in the order of an index.
var errOrder = errors.New("checkout: the entries are not in order")

// Index is git's index of a working tree (gitformat-index(5)): version 2, with the cached ids of
// all folders. It is made of the entries in archive order, which is that of an index. It is used
// by one goroutine.
type Index struct {
	entries *spill.File
	count   uint32
	last    []byte // the path of the last entry
	record  []byte
	folders []folder // in the order in which they begin
	open    []int    // indexes of the folders around the last entry, the outermost first
	path    []byte   // of the innermost of these, with a final slash
	tree    []byte   // the extension with the folders
}

// folder is a folder of the cached tree.
type folder struct {
	name    string
	id      git.ID
	entries int // below it
	folders int // in it
}

// NewIndex returns the index of a tree without its entries, which are kept in a space. Close it.
func NewIndex(space *spill.Space, root git.ID) *Index {
	return &Index{entries: space.NewFile(spillMemory), folders: []folder{{id: root}}, open: []int{0}}
}

// Close releases the entries.
func (x *Index) Close() { x.entries.Close() }

// Add adds an entry: a folder, whose path ends in a slash, a file or a link of size bytes in the
// working tree, or a submodule. mtime is the time of the file there, in seconds.
func (x *Index) Add(path []byte, mode git.Mode, id git.ID, size int64, mtime uint32) error {
	for !bytes.HasPrefix(path, x.path) {
		x.leave()
	}
	if mode.IsDir() {
		x.enter(path, id)
		return nil
	}
	path = bytes.TrimSuffix(path, []byte("/")) // of a submodule
	if x.count > 0 && bytes.Compare(x.last, path) >= 0 {
		return errOrder
	}
	x.last = append(x.last[:0], path...)
	x.count++
	x.innermost().entries++
	x.record = appendEntry(x.record[:0], path, mode, id, size, mtime)
	_, err := x.entries.Write(x.record)
	return err
}

func (x *Index) innermost() *folder { return &x.folders[x.open[len(x.open)-1]] }

func (x *Index) enter(path []byte, id git.ID) {
	x.innermost().folders++
	x.open = append(x.open, len(x.folders))
	x.folders = append(x.folders, folder{name: string(path[len(x.path) : len(path)-1]), id: id})
	x.path = append(x.path[:0], path...)
}

// leave returns to the folder around the innermost one.
func (x *Index) leave() {
	left := x.innermost()
	x.open = x.open[:len(x.open)-1]
	x.innermost().entries += left.entries
	x.path = x.path[:len(x.path)-len(left.name)-1]
}

// appendEntry appends an entry. Its numbers of device, inode and owner are zero, as is the time of
// the last change of status: git does not compare these with core.checkStat=minimal and
// core.trustctime=false (git-config(1)).
func appendEntry(out, path []byte, mode git.Mode, id git.ID, size int64, mtime uint32) []byte {
	start := len(out)
	for _, number := range []uint32{0, 0, mtime, 0, 0, 0, uint32(mode), 0, 0, uint32(size)} {
		out = binary.BigEndian.AppendUint32(out, number)
	}
	out = append(out, id[:]...)
	out = binary.BigEndian.AppendUint16(out, uint16(min(len(path), maxNameFlag)))
	out = append(out, path...)
	padding := entryAlignment - (len(out)-start)%entryAlignment // at least one NUL
	return append(out, make([]byte, padding)...)
}

// finish makes the extension with the folders: of each its name, the numbers of entries below it and
// of folders in it, and its id.
func (x *Index) finish() {
	for len(x.open) > 1 {
		x.leave()
	}
	if x.tree != nil {
		return
	}
	for _, f := range x.folders {
		x.tree = append(append(x.tree, f.name...), 0)
		x.tree = append(strconv.AppendInt(x.tree, int64(f.entries), 10), ' ')
		x.tree = append(strconv.AppendInt(x.tree, int64(f.folders), 10), '\n')
		x.tree = append(x.tree, f.id[:]...)
	}
}

// Size returns the length of the index, to which nothing can be added afterwards.
func (x *Index) Size() int64 {
	x.finish()
	return indexHeaderBytes + x.entries.Size() + extensionHeaderBytes + int64(len(x.tree)) + sumBytes
}

// WriteTo writes the index, to which nothing can be added afterwards.
func (x *Index) WriteTo(w io.Writer) (int64, error) {
	out := &hashWriter{w, sha1.New()}
	header := binary.BigEndian.AppendUint32([]byte("DIRC"), 2)
	if _, err := out.Write(binary.BigEndian.AppendUint32(header, x.count)); err != nil {
		return 0, err
	}
	if _, err := x.entries.WriteTo(out); err != nil {
		return 0, err
	}
	size := x.Size()
	extension := binary.BigEndian.AppendUint32([]byte("TREE"), uint32(len(x.tree)))
	if _, err := out.Write(append(extension, x.tree...)); err != nil {
		return 0, err
	}
	return size, out.end()
}
