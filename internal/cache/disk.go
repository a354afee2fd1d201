package cache

import (
	"container/list"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrInUse means that another process uses the folder.
var ErrInUse = errors.New("the cache folder is in use by another process")

const (
	// maxEntries bounds the index, which takes some 350 bytes per file.
	maxEntries = 100_000
	// blockBytes is the disk usage of the smallest file.
	blockBytes = 4096
	// largestShare is the share of the limit, one in so many, that one file may take, so that one
	// download cannot evict everything else.
	largestShare = 2
	// diskPause is the pause after a failed write: builds must not fill a full disk again and
	// again.
	diskPause = 30 * time.Second

	temporary = ".tmp"
)

// Disk is a folder of complete files, limited in size. The least recently used files are evicted
// first; modification times keep that order across restarts.
//
// Files are "{key}.{random}", so that a new file never takes the name of an old one that is about
// to be removed. Files with other names are left alone.
type Disk struct {
	folder folder // nil: disabled
	limit  int64
	pool   *sync.Pool

	mu     sync.Mutex
	index  map[Key]*list.Element
	recent list.List // of *stored, most recent first
	used   int64     // including reservations of drafts
	paused time.Time // no writes before then
	latest time.Time // newest time that a file was set to

	count struct{ evicted, damaged, faults, refused atomic.Int64 }
}

// OpenDisk opens or creates a folder, and removes what a crash left unfinished. One process at a
// time can use a folder: [ErrInUse].
func OpenDisk(dir string, limit int64) (*Disk, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	d, err := newDisk(f, limit)
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return d, nil
}

func newDisk(f folder, limit int64) (*Disk, error) {
	d := &Disk{folder: f, limit: limit, pool: newChunks(), index: make(map[Key]*list.Element)}
	return d, d.scan()
}

// Close releases the folder. Open entries remain readable.
func (d *Disk) Close() error { return d.folder.close() }

// stored is an indexed file.
type stored struct {
	key  Key
	name string
	cost int64

	mu sync.Mutex
	// spool is open while there are readers, which share its descriptor and table.
	spool *spool
}

// scan fills the index. It does not read contents.
func (d *Disk) scan() error {
	var files []fs.FileInfo
	if err := d.folder.each(func(info fs.FileInfo) { files = append(files, info) }); err != nil {
		return err
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var leftovers []string
	d.mu.Lock()
	for _, f := range files {
		name, unfinished := strings.CutSuffix(f.Name(), temporary)
		key, ok := parseName(name)
		switch {
		case !ok:
		case unfinished:
			leftovers = append(leftovers, f.Name())
		default:
			s := &stored{key: key, name: name, cost: cost(f.Size())}
			leftovers = append(leftovers, d.insert(s)...)
			d.latest = f.ModTime()
			d.used += s.cost
		}
	}
	leftovers = append(leftovers, d.evict(0)...)
	d.mu.Unlock()
	d.remove(leftovers)
	return nil
}

// insert adds a file, whose cost is already counted, as the most recent. It returns the name of the
// file that it replaces.
func (d *Disk) insert(s *stored) (replaced []string) {
	if old := d.index[s.key]; old != nil {
		replaced = append(replaced, d.removeIndexed(old))
	}
	d.index[s.key] = d.recent.PushFront(s)
	return replaced
}

// removeIndexed removes a file from the index and returns its name, to be deleted.
func (d *Disk) removeIndexed(element *list.Element) string {
	s := d.recent.Remove(element).(*stored)
	delete(d.index, s.key)
	d.used -= s.cost
	return s.name
}

// evict makes room for more bytes, as far as files can be spared.
func (d *Disk) evict(more int64) (names []string) {
	for d.recent.Len() > 0 && (d.used+more > d.limit || d.recent.Len() > maxEntries) {
		names = append(names, d.removeIndexed(d.recent.Back()))
		d.count.evicted.Add(1)
	}
	return names
}

// remove deletes files. It is called without the lock, because deleting large files takes long.
func (d *Disk) remove(names []string) {
	for _, name := range names {
		if err := d.folder.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.count.faults.Add(1)
		}
	}
}

// open finds a file. The spool is retained for the caller.
func (d *Disk) open(key Key) (*spool, bool) {
	if d.folder == nil {
		return nil, false
	}
	d.mu.Lock()
	element := d.index[key]
	if element == nil {
		d.mu.Unlock()
		return nil, false
	}
	d.recent.MoveToFront(element)
	s, when := element.Value.(*stored), d.tick()
	d.mu.Unlock()

	sp, err := d.load(s)
	switch {
	case err == nil:
		// A failure only affects the order of eviction.
		_ = d.folder.touch(s.name, when)
	case errors.Is(err, errDamaged) || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist):
		d.drop(s)
	default:
		// The file may be sound; there may be too many open files, for example.
		d.count.faults.Add(1)
	}
	return sp, err == nil
}

// has reports whether there is a file, sound or not.
func (d *Disk) has(key Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index[key] != nil
}

// load opens a file once for all its readers.
func (d *Disk) load(s *stored) (*spool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spool != nil && s.spool.retain() {
		return s.spool, nil
	}
	f, err := d.folder.open(s.name)
	if err != nil {
		return nil, err
	}
	sealed, err := readSeal(f, s.key)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var sp *spool
	sp = storedSpool(f, sealed, d.pool, func() { d.drop(s) }, func() { s.closeSpool(sp) })
	s.spool = sp
	return sp, nil
}

// closeSpool forgets a spool without readers, unless there is a newer one.
func (s *stored) closeSpool(closed *spool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spool == closed {
		s.spool = nil
	}
}

// readSeal reads the footer of a file and compares it with the file's length.
func readSeal(f file, key Key) (seal, error) {
	info, err := f.Stat()
	if err != nil {
		return seal{}, err
	}
	length := info.Size()
	if length < footerBytes {
		return seal{}, errDamaged
	}
	end := make([]byte, footerBytes)
	if _, err := f.ReadAt(end, length-footerBytes); err != nil {
		return seal{}, err
	}
	foot, err := parseFooter(key, end)
	if err != nil {
		return seal{}, err
	}
	// The length check precedes the table's allocation.
	if length != foot.Size+tableBytes(foot.Size)+footerBytes {
		return seal{}, errDamaged
	}
	table := make([]byte, tableBytes(foot.Size))
	if _, err := f.ReadAt(table, foot.Size); err != nil {
		return seal{}, err
	}
	return foot.withTable(table)
}

// drop removes an unreadable file, unless it was replaced meanwhile.
func (d *Disk) drop(s *stored) {
	d.mu.Lock()
	element := d.index[s.key]
	if element == nil || element.Value.(*stored) != s {
		d.mu.Unlock()
		return
	}
	name := d.removeIndexed(element)
	d.mu.Unlock()
	d.count.damaged.Add(1)
	d.remove([]string{name})
}

// fault counts a failed write, and pauses writing.
func (d *Disk) fault() {
	d.count.faults.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = time.Now().Add(diskPause)
}

// tick returns increasing times, whatever the clock does.
func (d *Disk) tick() time.Time {
	now := time.Now()
	if !now.After(d.latest) {
		now = d.latest.Add(time.Microsecond) // the resolution of some file systems
	}
	d.latest = now
	return now
}

// cost returns the disk usage of a file.
func cost(length int64) int64 { return (length + blockBytes - 1) / blockBytes * blockBytes }

const randomBytes = 8

func newName(key Key) string {
	var b [randomBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return key.String() + "." + hex.EncodeToString(b[:])
}

func parseName(name string) (Key, bool) {
	extension := path.Ext(name)
	raw, err := hex.DecodeString(strings.TrimPrefix(extension, "."))
	if err != nil || len(raw) != randomBytes {
		return Key{}, false
	}
	return parseKey(strings.TrimSuffix(name, extension))
}
