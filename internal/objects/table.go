package objects

import (
	"io"
	"os"
	"sync/atomic"
)

const (
	// wholeTable is the size up to which an index is read at once, hashed, which
	// takes a millisecond, and its descriptor given back. It holds about 37,000
	// objects. Larger ones are hashed while they are in use.
	wholeTable = 1 << 20
	// tablePage is what is read of a larger index at first use of any byte of
	// it: about one of the 256 buckets of a repository of 800,000 objects.
	tablePage = 64 << 10
	// largestTable bounds the page table that a sparse file can make us
	// allocate: 16 GiB are 600 million objects and a page table of 2 MiB.
	largestTable = 16 << 30
)

// table is an index file in memory, wholly or page by page. It is not mapped:
// a file that another process shortens under a mapping kills the reader.
type table struct {
	whole []byte // nil when the file is read by pages
	file  *os.File
	size  int64
	pages []atomic.Pointer[[tablePage]byte]
	room  *room
	taken atomic.Int64          // of room
	fault atomic.Pointer[error] // what was found out of a large file since it is open
}

// openTable takes the file over. A small one is read and closed at once.
func openTable(file *os.File, size int64, memory *room) (*table, error) {
	t := &table{file: file, size: size, room: memory}
	if size > largestTable {
		_ = file.Close()
		return nil, ErrTooLarge
	}
	if size > wholeTable {
		t.pages = make([]atomic.Pointer[[tablePage]byte], (size+tablePage-1)/tablePage)
		return t, nil
	}
	t.whole = make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(file, 0, size), t.whole)
	t.file = nil
	_ = file.Close()
	if err != nil {
		return nil, err
	}
	memory.add(size)
	t.taken.Store(size)
	return t, nil
}

// at returns n bytes at off, either inside the table's memory or copied to buf,
// which must hold n. The bytes must not be changed.
func (t *table) at(off int64, n int, buf []byte) ([]byte, error) {
	end := off + int64(n)
	if off < 0 || end > t.size {
		return nil, io.ErrUnexpectedEOF
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
	return t.load(off, n, buf)
}

func (t *table) load(off int64, n int, buf []byte) ([]byte, error) {
	for done := 0; done < n; {
		number, within := (off+int64(done))/tablePage, int((off+int64(done))%tablePage)
		page, err := t.page(number)
		if err != nil {
			return nil, err
		}
		if page == nil { // no room to keep it
			if _, err := t.file.ReadAt(buf[:n], off); err != nil {
				return nil, err
			}
			break
		}
		done += copy(buf[done:n], page[within:])
	}
	return buf[:n], nil
}

// page returns a page from memory or reads it; nil when there is no room for it.
// Two readers may read the same page: one of the two copies is dropped.
func (t *table) page(number int64) (*[tablePage]byte, error) {
	if page := t.pages[number].Load(); page != nil {
		return page, nil
	}
	if !t.room.take(tablePage) {
		return nil, nil
	}
	page := new([tablePage]byte)
	start := number * tablePage
	_, err := t.file.ReadAt(page[:min(tablePage, t.size-start)], start)
	if err != nil || !t.pages[number].CompareAndSwap(nil, page) {
		t.room.release(tablePage)
		return t.pages[number].Load(), err
	}
	t.taken.Add(tablePage)
	return page, nil
}

func (t *table) descriptors() int {
	if t.file == nil {
		return 0
	}
	return 1
}

func (t *table) close() {
	t.room.release(t.taken.Swap(0))
	if t.file != nil {
		_ = t.file.Close()
	}
}

// room counts bytes against a limit.
type room struct {
	limit int64
	used  atomic.Int64
}

// take claims n bytes, or nothing when they do not fit.
func (r *room) take(n int64) bool {
	if r.used.Add(n) <= r.limit {
		return true
	}
	r.used.Add(-n)
	return false
}

// add claims n bytes whether they fit or not.
func (r *room) add(n int64) { r.used.Add(n) }

func (r *room) release(n int64) { r.used.Add(-n) }
