package checkout

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	stateFolder = ".repomcp"
	stateName   = "state"
	journalName = "journal"
	stageName   = "stage"
	heldName    = "held" // a large content that is compared
	// unfinished is the state before it gets its name.
	unfinished = "state.new"

	stateVersion = 1
)

type header struct {
	Version    int      `json:"version"`
	Repository string   `json:"repository"`
	Ref        string   `json:"ref"`
	Profile    string   `json:"profile"`
	Paths      []string `json:"paths,omitempty"`
	Exclude    []string `json:"exclude,omitempty"`
	// Commit is what the records are of; "" when they are of several, since a run
	// did not end.
	Commit  string `json:"commit"`
	Kept    int    `json:"kept"`    // records
	Written int64  `json:"written"` // in nanoseconds since 1970
}

// fits reports whether the folder has what the options ask for, of another commit
// perhaps.
func (h header) fits(o Options) bool {
	return h.Commit != "" && h.Repository == o.Repository && h.Profile == o.Profile &&
		slices.Equal(h.Paths, o.Paths) && slices.Equal(h.Exclude, o.Exclude)
}

// folder is a synced one, locked.
type folder struct {
	options Options
	lock    *os.File // nil if nothing is to be written
	made    bool     // the folder was not there before
	header  header
	// unpatched says that the server has no patches.
	unpatched bool
}

// open locks the folder, and brings its state in order after a run that did not end.
func open(o Options) (*folder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &folder{options: o}
	if o.DryRun {
		return f, nil
	}
	_, err = os.Lstat(o.Dir)
	f.made = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(f.path(""), 0o777); err != nil { //nolint:gosec // the umask decides
		return nil, err
	}
	if info, err := os.Lstat(f.path("")); err != nil || !info.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%w: .repomcp is no folder", ErrState))
	}
	if f.lock, err = lock(f.path("")); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *folder) close() error {
	if f.lock == nil {
		return nil
	}
	// What was made for a run that brought nothing goes with it; else it is not empty.
	if os.Remove(f.path("")) == nil && f.made {
		_ = os.Remove(f.options.Dir)
	}
	return f.lock.Close()
}

func (f *folder) path(name string) string { return filepath.Join(f.options.Dir, stateFolder, name) }

type state struct {
	records
	header header
	file   *os.File // nil where there is none
}

func (s state) close() {
	if s.file != nil {
		_ = s.file.Close() // only read from
	}
}

// readState opens the state. Where there is none it has no records.
func (f *folder) readState() (s state, err error) {
	s.file, err = os.Open(f.path(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return state{records: none{}}, nil
	}
	if err != nil {
		return s, err
	}
	in := newScanner(s.file)
	text, err := in.text()
	if err == nil {
		err = json.Unmarshal(text, &s.header)
	}
	if err != nil || s.header.Version != stateVersion {
		s.close()
		return s, ErrState
	}
	s.records = in
	return s, nil
}

// find looks a path up by reading all. It is for what is rare.
func (f *folder) find(path string) (*record, error) {
	var found *record
	err := f.each(func(r record) error {
		if r.path == path {
			found = &r
		}
		return nil
	})
	return found, err
}

func (f *folder) each(do func(record) error) error {
	s, err := f.readState()
	if err != nil {
		return err
	}
	defer s.close()
	return merge(s, none{}, func(r, _ *record) error { return do(*r) })
}

// choice is which of two records of a path stays, each of them nil where there is none;
// and nil where none does.
type choice func(old, change *record) (*record, error)

// replaceState writes the state anew, of what choose makes of the present records
// and those of a journal.
func (f *folder) replaceState(commit string, changes records, choose choice) error {
	old, err := f.readState()
	if err != nil {
		return err
	}
	defer old.close()
	o := f.options
	h := header{
		Version: stateVersion, Repository: o.Repository, Ref: o.Ref, Profile: o.Profile, Paths: o.Paths,
		Exclude: o.Exclude, Commit: commit, Written: time.Now().UnixNano(),
	}
	// The header is first, and has the number of records that are kept.
	if h.Kept, err = f.writeState(h, old, changes, choose); err != nil {
		return err
	}
	if err := os.Rename(f.path(unfinished), f.path(stateName)); err != nil {
		return err
	}
	f.header = h
	return nil
}

func (f *folder) writeState(h header, old state, changes records, choose choice) (kept int, err error) {
	file, err := os.Create(f.path(unfinished))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out, buffer, d := bufio.NewWriterSize(file, 64<<10), []byte(nil), newDisk(f.options.Dir)
	// The header is written last, into room for any number.
	h.Kept = math.MaxInt
	room, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	_, _ = out.Write(append(bytes.Repeat([]byte{' '}, len(room)), 0)) // Flush gives its error
	err = merge(old, changes, func(was, change *record) error {
		r, err := choose(was, change)
		if err != nil || r == nil {
			return err
		}
		if r.kept {
			kept++
		}
		if change == nil && r.isRacy(old.header.Written) {
			// The time of the new state would hide that.
			if err := d.refresh(r); err != nil {
				return err
			}
		}
		buffer = r.appendTo(buffer[:0])
		_, err = out.Write(buffer)
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return 0, err
	}
	h.Kept = kept
	text, err := json.Marshal(h)
	if err == nil {
		_, err = file.WriteAt(text, 0)
	}
	return kept, err
}

// takeChange is how records follow each other after a run that ended.
func takeChange(old, change *record) (*record, error) {
	switch {
	case change == nil:
		return old, nil
	case change.gone:
		return nil, nil //nolint:nilnil // it has none
	default:
		return change, nil
	}
}

// recover throws away what was never seen, and ends a run that did not, by what the
// disk has: a record of its journal may be of what was about to be done. The state is
// then one of no commit.
func (f *folder) recover() error {
	if err := errors.Join(os.RemoveAll(f.path(stageName)), os.RemoveAll(f.path(heldName))); err != nil {
		return err
	}
	file, err := os.Open(f.path(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		d := newDisk(f.options.Dir)
		err = f.replaceState("", newSorted(file), func(old, change *record) (*record, error) {
			if change == nil || change.kept {
				return takeChange(old, change)
			}
			return d.decide(old, change, info.ModTime().UnixNano())
		})
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Remove(file.Name())
}

// decide is which of two records is true, of which one is of a journal that was
// last written at a time.
func (d *disk) decide(old, change *record, written int64) (*record, error) {
	there, err := d.look(change.name())
	if err != nil {
		return nil, err
	}
	if !change.gone {
		if has, err := d.has(*change, there, written); err != nil || has {
			return change, err
		}
	}
	if change.gone && there.info == nil {
		old = nil
	}
	return old, nil
}
