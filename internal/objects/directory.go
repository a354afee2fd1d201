package objects

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// directory is one objects directory: of a repository, or an alternate that
// many repositories share.
type directory struct {
	store *Store
	path  string // relative to the root

	mu    sync.Mutex // one goroutine reads the directory, the others wait for it
	set   *packSet   // the newest; it may have been closed since
	links alternates
}

// directoryState tells whether a directory changed since it was read.
type directoryState struct {
	info fs.FileInfo // nil when there is no such directory
	read time.Time
}

// timestampGrain is how coarse the times of a file system can be (FAT has two
// seconds). A directory that was read within that time of its last change may
// have changed again without a trace: git calls such entries racy.
const timestampGrain = 2 * time.Second

func (s directoryState) same(now fs.FileInfo) bool {
	if s.info == nil || now == nil {
		return s.info == nil && now == nil
	}
	return sameFile(s.info, now) && s.read.Sub(now.ModTime()) > timestampGrain
}

// sameFile says whether a file is what it was, as far as its times tell.
func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// acquire returns the packs of the directory as they are now, pinned. When
// nothing changed that is one look at the directory.
func (d *directory) acquire() (*packSet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state, err := d.look()
	if err != nil {
		return nil, err
	}
	counts := &d.store.descriptors
	old := d.set
	if old != nil && !counts.pin(old) {
		old = nil
	}
	if old != nil && old.state.same(state.info) && !old.damaged() {
		return old, nil
	}
	set, err := d.read(old)
	if err != nil {
		if old != nil {
			counts.unpin(old)
		}
		return nil, err
	}
	if old != nil && set != old {
		counts.retire(old)
		counts.unpin(old)
	}
	d.set = set
	return set, nil
}

func (d *directory) packDir() string { return path.Join(d.path, "pack") }

// look returns the state of the pack directory. The time is taken first: what
// changes in between must count as changed.
func (d *directory) look() (directoryState, error) {
	state := directoryState{read: time.Now()}
	info, err := d.store.root.Stat(d.packDir())
	if err != nil {
		if err = openError(d.packDir(), err); !errors.Is(err, ErrNotFound) {
			return state, err
		}
		return state, nil
	}
	state.info = info
	return state, nil
}

// readAttempts is how often the directory is read when packs vanish between
// the reading and the opening, as they do during a repack.
const readAttempts = 5

// read lists the directory and opens the packs that old, which is pinned, does
// not have open already. It returns old itself, with a new state, when nothing
// is different.
func (d *directory) read(old *packSet) (*packSet, error) {
	for attempt := 1; ; attempt++ {
		state, err := d.look()
		if err != nil {
			return nil, err
		}
		names, err := d.list()
		if err != nil {
			return nil, err
		}
		set := &packSet{state: state}
		opened, err := d.openAll(set, old, names, attempt < readAttempts)
		if err != nil {
			d.discard(opened)
			if errors.Is(err, errVanished) {
				continue
			}
			return nil, err
		}
		d.openMidx(set, names)
		if old != nil && set.equal(old) {
			d.store.descriptors.discard(set.midx)
			old.state = state // guarded by d.mu
			return old, nil
		}
		d.store.descriptors.addSet(set)
		return set, nil
	}
}

// errVanished says that a file that was listed is gone.
var errVanished = errors.New("pack vanished")

// list returns the names of the files in the pack directory that matter here.
func (d *directory) list() (map[string]bool, error) {
	names := make(map[string]bool)
	folder, err := d.store.root.Open(d.packDir())
	if err != nil {
		if err = openError(d.packDir(), err); errors.Is(err, ErrNotFound) {
			err = nil
		}
		return names, err
	}
	defer func() { _ = folder.Close() }()
	for {
		batch, err := folder.Readdirnames(namesAtOnce)
		for _, name := range batch {
			if strings.HasSuffix(name, ".idx") || strings.HasSuffix(name, ".pack") || name == midxName {
				names[name] = true
			}
		}
		if len(batch) == 0 {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) {
				return nil, corrupt(d.packDir(), err)
			}
			return names, nil
		}
	}
}

// openAll opens the packs that are listed, the newest first, since git looks
// there first too. With again set, a pack that is gone is errVanished.
func (d *directory) openAll(set, old *packSet, names map[string]bool, again bool) (opened []*pack, err error) {
	for name := range names {
		stem, isIndex := strings.CutSuffix(name, ".idx")
		if !isIndex {
			continue
		}
		p, fresh, err := d.openOne(old, stem, names[stem+".pack"])
		if errors.Is(err, ErrNotFound) {
			if again {
				return opened, errVanished
			}
			continue
		}
		if isCorrupt(err) {
			set.faults = append(set.faults, err)
			continue
		}
		if err != nil {
			return opened, err
		}
		if fresh {
			opened = append(opened, p)
		}
		set.packs = append(set.packs, p)
	}
	slices.SortFunc(set.packs, func(a, b *pack) int {
		return cmp.Or(b.idxInfo.ModTime().Compare(a.idxInfo.ModTime()), strings.Compare(a.where, b.where))
	})
	return opened, nil
}

// openOne takes a pack from the old set when its files are the same, or opens
// it.
func (d *directory) openOne(old *packSet, stem string, hasPack bool) (p *pack, fresh bool, err error) {
	where := path.Join(d.packDir(), stem)
	if old != nil {
		if i := slices.IndexFunc(old.packs, func(p *pack) bool { return p.where == where+".pack" }); i >= 0 {
			if p := old.packs[i]; d.unchanged(p, where) {
				return p, false, nil
			}
		}
	}
	p, err = d.store.openPack(where, hasPack)
	return p, true, err
}

func (d *directory) unchanged(p *pack, where string) bool {
	if p.fault != nil || p.suspect.Load() {
		return false
	}
	index, err := d.store.root.Stat(where + ".idx")
	if err != nil || !sameFile(index, p.idxInfo) {
		return false
	}
	info, err := d.store.root.Stat(where + ".pack")
	return err == nil && sameFile(info, p.info)
}

// discard closes packs that were opened for a set that did not come to be.
func (d *directory) discard(opened []*pack) {
	for _, p := range opened {
		d.store.descriptors.release(p.descriptors())
		p.close()
	}
}

// openPack opens an index and its pack. Damage of the index is an error, as
// nobody can tell what it should have held; damage of the pack is its fault.
func (s *Store) openPack(where string, hasPack bool) (_ *pack, err error) {
	if err := s.descriptors.reserve(2); err != nil {
		return nil, err
	}
	p := &pack{where: where + ".pack", key: s.lastPack.Add(1)}
	defer func() {
		s.descriptors.release(2 - p.descriptors())
		if err != nil {
			s.descriptors.release(p.descriptors())
			p.close()
		}
	}()
	file, info, err := s.openFile(where + ".idx")
	if err != nil {
		return nil, err
	}
	if verdict, _ := s.checks.known(where+".idx", info); verdict != nil {
		_ = file.Close()
		return nil, verdict
	}
	t, err := openTable(file, info.Size(), s.descriptors.index)
	if err != nil {
		return nil, corrupt(where+".idx", err)
	}
	p.idxInfo = info
	p.index, err = newIndex(t, where+".idx")
	if err != nil {
		t.close()
		return nil, err
	}
	if t.whole == nil {
		s.checks.add(indexCheck{where + ".idx", info, t, p})
	}
	if !hasPack {
		p.fault = corrupt(p.where, errNoPack)
		return p, nil
	}
	p.file, p.info, err = s.openFile(p.where)
	if err == nil {
		p.fault = p.check(p.info.Size())
	} else if isCorrupt(err) {
		p.fault, err = err, nil
	}
	return p, err
}

// damaged says whether the directory must be read again whatever its time
// says, since files that are mended in place do not change it.
func (s *packSet) damaged() bool {
	return len(s.faults) > 0 || slices.ContainsFunc(s.packs, func(p *pack) bool {
		return p.fault != nil || p.suspect.Load()
	})
}

// equal says whether two sets hold the same files.
func (s *packSet) equal(other *packSet) bool {
	return len(s.faults) == 0 && len(other.faults) == 0 &&
		slices.Equal(s.packs, other.packs) && s.midx.sameFile(other.midx)
}
