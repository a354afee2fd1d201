package pack

import (
	"io"
	"os"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/git/objects/object"
)

const (
	// wholeTable is the size up to which an index is read at once and hashed, which takes a
	// millisecond, and its descriptor released. It holds about 37,000 objects. Larger indexes are
	// hashed while they are in use.
	wholeTable = 1 << 20
	// tablePage is what is read of a larger index at the first use of any byte of it: history walks
	// look for objects all over it, and a larger page would cost them more than it saves readers of
	// the whole index.
	tablePage = 16 << 10
	// largestTable bounds the page table that a sparse file can make us
	// allocate: 16 GiB are 600 million objects and a page table of 8 MiB.
	largestTable = 16 << 30
)

// table is an index file in memory, wholly or page by page. It is not mapped: a file that another
// process truncates under a mapping kills the reader.
type table struct {
	name   string
	whole  []byte // nil when the file is read by pages
	file   *os.File
	size   int64
	pages  []atomic.Pointer[[tablePage]byte]
	memory *Budget
	taken  atomic.Int64          // part of the memory budget
	fault  atomic.Pointer[error] // the verdict on a large file, found after it was opened
}

// openTable takes ownership of the file. A small one is read and closed at once.
func openTable(name string, file *os.File, size int64, memory *Budget) (*table, error) {
	t := &table{name: name, file: file, size: size, memory: memory}
	if size > wholeTable {
		if size > largestTable {
			_ = file.Close()
			return nil, object.ErrTooLarge
		}
		t.pages = make([]atomic.Pointer[[tablePage]byte], (size+tablePage-1)/tablePage)
		return t, nil
	}
	t.whole, t.file = make([]byte, size), nil
	_, err := io.ReadFull(io.NewSectionReader(file, 0, size), t.whole)
	_ = file.Close()
	if err != nil {
		return nil, object.Corrupt(name, err)
	}
	memory.used.Add(size)
	t.taken.Store(size)
	return t, nil
}

// at returns n bytes at off, either inside the table's memory or copied to buf,
// which must hold n. The bytes must not be changed.
func (t *table) at(off int64, n int, buf []byte) ([]byte, error) {
	end := off + int64(n)
	if off < 0 || end > t.size {
		return nil, object.Corrupt(t.name, io.ErrUnexpectedEOF)
	}
	if t.whole != nil {
		return t.whole[off:end], nil
	}
	if fault := t.fault.Load(); fault != nil {
		return nil, *fault
	}
	number, within := off/tablePage, int(off%tablePage)
	if page := t.pages[number].Load(); page != nil && within+n <= tablePage {
		return page[within : within+n], nil
	}
	if err := t.read(buf[:n], off); err != nil {
		return nil, object.Corrupt(t.name, err)
	}
	return buf[:n], nil
}

// read fills buf from pages, which are read and kept while there is room.
func (t *table) read(buf []byte, off int64) error {
	for done := 0; done < len(buf); {
		number, within := (off+int64(done))/tablePage, int((off+int64(done))%tablePage)
		page, err := t.page(number)
		if err != nil {
			return err
		}
		if page == nil {
			_, err := t.file.ReadAt(buf, off)
			return err
		}
		done += copy(buf[done:], page[within:])
	}
	return nil
}

// page returns a page from memory or reads it; nil if there is no room for it. If two readers read
// the same page, one copy is dropped.
func (t *table) page(number int64) (*[tablePage]byte, error) {
	if page := t.pages[number].Load(); page != nil {
		return page, nil
	}
	if !t.memory.take(tablePage) {
		return nil, nil
	}
	page := new([tablePage]byte)
	start := number * tablePage
	_, err := t.file.ReadAt(page[:min(tablePage, t.size-start)], start)
	if err != nil || !t.pages[number].CompareAndSwap(nil, page) {
		t.memory.release(tablePage)
		return t.pages[number].Load(), err
	}
	t.taken.Add(tablePage)
	return page, nil
}

// Descriptors is how many files are open: one or none.
func (t *table) Descriptors() int {
	if t.file == nil {
		return 0
	}
	return 1
}

// Close releases memory and descriptor.
func (t *table) Close() {
	t.memory.release(t.taken.Swap(0))
	if t.file != nil {
		_ = t.file.Close()
	}
}

// Budget counts bytes against a limit, for all packs together.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns an unused budget.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used is how many bytes are used.
func (b *Budget) Used() int64 { return b.used.Load() }

// IsFull reports whether there is no room for a page.
func (b *Budget) IsFull() bool { return b.Used()+tablePage > b.limit }

// take claims n bytes, or nothing if they do not fit.
func (b *Budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *Budget) release(n int64) { b.used.Add(-n) }
