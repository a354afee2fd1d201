package objects

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repomcp/repomcp/internal/git/objects/files"
	"github.com/repomcp/repomcp/internal/git/objects/object"
	"github.com/repomcp/repomcp/internal/git/objects/pack"
)

// directory is one objects directory: that of a repository, or an alternate that many repositories
// share.
type directory struct {
	store *Store
	path  string // relative to the root

	mu    sync.Mutex // one goroutine reads the directory, the others wait for it
	set   *packSet   // the newest; it may have been closed since
	links alternates
}

// damageRetry is how often damaged files are opened again although they did not change: a disk
// error may be temporary.
const damageRetry = time.Second

// fault is an index that cannot be opened.
type fault struct {
	stem        string
	index, pack fs.FileInfo // of its files; nil for a missing file
	err         error
}

// acquire returns the present packs of the directory, pinned. Without changes that takes one look
// at the directory. again says that the caller has had some of the packs, so damage in unchanged
// files need not be examined again.
func (d *directory) acquire(again bool) (*packSet, error) {
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
	if old != nil && old.state.IsStill(state.Info) && !old.damaged() {
		return old, nil
	}
	set, err := d.read(old, again || old != nil && time.Since(old.opened) < damageRetry)
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

// look returns the state of the pack directory. The time is taken first, so that concurrent changes
// count as changes.
func (d *directory) look() (files.Seen, error) {
	state := files.Seen{At: time.Now()}
	info, err := d.store.root.Stat(d.packDir())
	if err != nil {
		if err = files.OpenError(d.packDir(), err); !errors.Is(err, ErrNotFound) {
			return state, err
		}
		return state, nil
	}
	state.Info = info
	return state, nil
}

// readAttempts is how often the directory is read if packs vanish between listing and opening, as
// they do during a repack.
const readAttempts = 5

// read lists the directory and opens the packs that are not open in old, which is pinned, and those
// that old has found damaged, unless verdictStands and their files are unchanged. Without a
// difference it returns old itself, with a new state.
func (d *directory) read(old *packSet, verdictStands bool) (*packSet, error) {
	for attempt := 1; ; attempt++ {
		state, err := d.look()
		if err != nil {
			return nil, err
		}
		names, err := d.list()
		if err != nil {
			return nil, err
		}
		set := &packSet{state: state, opened: state.At}
		opened, err := d.openAll(set, d.keep(old, verdictStands), names, attempt < readAttempts)
		if err != nil {
			d.store.descriptors.discard(opened, nil)
			if errors.Is(err, errVanished) {
				continue
			}
			return nil, err
		}
		d.openMultiIndex(set, names)
		if old != nil && set.equal(old) {
			d.store.descriptors.discard(nil, set.midx)
			old.state = state // guarded by d.mu
			return old, nil
		}
		d.store.descriptors.addSet(set)
		return set, nil
	}
}

// errVanished says that a listed file is gone.
var errVanished = errors.New("pack vanished")

// list returns the names of the relevant files in the pack directory.
func (d *directory) list() (map[string]bool, error) {
	names := make(map[string]bool)
	err := files.Names(d.store.root, d.packDir(), func(name string) {
		if strings.HasSuffix(name, ".idx") || strings.HasSuffix(name, ".pack") || name == pack.MultiIndexName {
			names[name] = true
		}
	})
	return names, err
}

// openAll opens the listed packs that were not kept, the newest first, since git searches those
// first too. With again set, a missing pack is errVanished.
func (d *directory) openAll(
	set *packSet, keep kept, names map[string]bool, again bool,
) (opened []*pack.Pack, err error) {
	for name := range names {
		stem, isIndex := strings.CutSuffix(name, ".idx")
		if !isIndex {
			set.noteUnindexed(d.packDir(), name, names)
			continue
		}
		stem = path.Join(d.packDir(), stem)
		if f := keep.faults[stem]; f != nil {
			set.faults = append(set.faults, f)
			continue
		}
		p := keep.packs[stem]
		if p == nil {
			p, err = d.openPack(stem, names[path.Base(stem)+".pack"])
			switch {
			case errors.Is(err, ErrNotFound):
				if again {
					return opened, errVanished
				}
				continue
			case object.IsDamage(err):
				set.faults = append(set.faults, &fault{stem, d.stat(stem + ".idx"), d.stat(stem + ".pack"), err})
				continue
			case err != nil:
				return opened, err
			}
			opened = append(opened, p)
		}
		set.packs = append(set.packs, p)
	}
	slices.SortFunc(set.packs, pack.NewestFirst)
	slices.SortFunc(set.faults, func(a, b *fault) int { return strings.Compare(a.stem, b.stem) })
	return opened, nil
}

// noteUnindexed notes a file of the pack directory if it is a pack without an index.
func (s *packSet) noteUnindexed(dir, name string, names map[string]bool) {
	stem, isPack := strings.CutSuffix(name, ".pack")
	if full := path.Join(dir, name); isPack && !names[stem+".idx"] && (s.unindexed == "" || full < s.unindexed) {
		s.unindexed = full
	}
}

// kept are the parts of an old set that a new set reuses, by file names without extensions.
type kept struct {
	packs  map[string]*pack.Pack
	faults map[string]*fault
}

// keep finds the packs whose files are unchanged, and that are sound or have a valid verdict.
func (d *directory) keep(old *packSet, verdictStands bool) kept {
	if old == nil {
		return kept{}
	}
	k := kept{make(map[string]*pack.Pack, len(old.packs)), make(map[string]*fault, len(old.faults))}
	for _, p := range old.packs {
		if (verdictStands || !p.Damaged()) && d.store.packs.Unchanged(p) {
			k.packs[p.Stem()] = p
		}
	}
	for _, f := range old.faults {
		if verdictStands && files.Same(f.index, d.stat(f.stem+".idx")) && files.Same(f.pack, d.stat(f.stem+".pack")) {
			k.faults[f.stem] = f
		}
	}
	return k
}

// stat returns nil for a missing file.
func (d *directory) stat(name string) fs.FileInfo {
	info, err := d.store.root.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// openPack opens a pack within the bound on descriptors.
func (d *directory) openPack(stem string, hasPack bool) (*pack.Pack, error) {
	if err := d.store.descriptors.reserve(2); err != nil {
		return nil, err
	}
	p, err := d.store.packs.OpenPack(stem, hasPack)
	if err != nil {
		d.store.descriptors.release(2)
		return nil, err
	}
	d.store.descriptors.release(2 - p.Descriptors())
	return p, nil
}

// openMultiIndex adds the multi-pack-index to a set if there is a sound one.
func (d *directory) openMultiIndex(set *packSet, names map[string]bool) {
	counts := &d.store.descriptors
	if !names[pack.MultiIndexName] || len(set.packs) < 2 || counts.reserve(1) != nil {
		return
	}
	set.midx = d.store.packs.OpenMultiIndex(d.packDir(), set.packs)
	if set.midx == nil {
		counts.release(1)
	} else {
		counts.release(1 - set.midx.Descriptors())
	}
}

// forgettable reports whether the directory can be forgotten at no loss. A directory that is being
// read cannot.
func (d *directory) forgettable() bool {
	if !d.mu.TryLock() {
		return false
	}
	defer d.mu.Unlock()
	return d.set == nil || d.store.descriptors.isClosed(d.set)
}

// damaged reports whether the directory must be read again even if its time is unchanged, since
// repairing files in place does not change it.
func (s *packSet) damaged() bool {
	return len(s.faults) > 0 || slices.ContainsFunc(s.packs, (*pack.Pack).Damaged)
}

// equal reports whether two sets hold the same files.
func (s *packSet) equal(other *packSet) bool {
	return slices.Equal(s.faults, other.faults) && slices.Equal(s.packs, other.packs) && s.midx.Same(other.midx) &&
		s.unindexed == other.unindexed
}
