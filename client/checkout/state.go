package checkout

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
)

const (
	stateFolder = ".repomcp"
	stateName   = "state"
	journalName = "journal"
	stageName   = "stage"
	heldName    = "held"    // a large content during comparison
	previewName = "preview" // the target of a dry run
	// In a clone these are there as well.
	ignoreName     = ".gitignore" // has git ignore the folder
	cloneName      = "clone"      // how the last run has left the clone
	repositoryName = "git"        // the repository of a new clone, until it becomes .git
	spoolName      = "spool"      // the files of an archive, until it is known whether they may be written
	rehearsalName  = "rehearsal"  // the journal of what a run would do
	// unfinished is the state before it gets its name.
	unfinished = "state.new"

	// stateVersion is the version of states that are written. The previous version has the same
	// form with fewer fields.
	stateVersion, oldestVersion = 2, 1
)

// Followed is what a folder is kept in step with, from the [Options] of its last run.
type Followed struct {
	Repository string   `json:"repository"`
	Ref        string   `json:"ref"`
	Profile    string   `json:"profile"`
	LFS        bool     `json:"lfs,omitempty"`
	Submodules bool     `json:"submodules,omitempty"`
	Paths      []string `json:"paths,omitempty"`
	Exclude    []string `json:"exclude,omitempty"`
}

type header struct {
	Version int `json:"version"`
	Followed
	// Commit is the commit of the records; "" if they are of several commits because a run did not
	// end.
	Commit  string `json:"commit"`
	Kept    int    `json:"kept"`    // records that each run examines
	Written int64  `json:"written"` // in nanoseconds since 1970
}

// fits reports whether the folder has what the options ask for, possibly of another commit.
func (h header) fits(o Options) bool {
	return h.Commit != "" && h.Repository == o.Repository && h.Profile == o.Profile && h.LFS == o.LFS &&
		h.Submodules == o.Submodules && slices.Equal(h.Paths, o.Paths) && slices.Equal(h.Exclude, o.Exclude)
}

// folder is a locked, synced folder.
type folder struct {
	options Options
	state   string   // the folder of the state: inside the folder, or a copy for a dry run
	lock    *os.File // nil for a dry run
	made    bool     // the folder did not exist before
	header  header
	// unpatched says that the server has no patches.
	unpatched bool
	// respelled says that an earlier attempt of the run has ended with errRespelled.
	respelled bool
	// answered is the commit, or the annotated tag, of the last archive of a run as the server names
	// it; "" if the server does not, or if the run needed no archive.
	answered string
}

// open locks the folder. It touches only a folder that may be synced.
func open(o Options) (*folder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &folder{options: o, state: filepath.Join(o.Dir, stateFolder)}
	if err := f.claim(); err != nil {
		return nil, err
	}
	if o.DryRun {
		err = f.copyState()
	} else {
		err = f.lockState()
	}
	if err != nil {
		return nil, err
	}
	s, err := f.readState()
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	s.close()
	f.header = s.header
	f.options.Profile = cmp.Or(o.Profile, s.header.Profile, ProfileWorktree)
	if err := f.options.checkCheckout(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *folder) lockState() error {
	_, err := os.Lstat(f.options.Dir)
	f.made = errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(f.state, 0o777); err != nil { //nolint:gosec // the umask decides
		return err
	}
	if info, err := os.Lstat(f.state); err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%w: .repomcp is no folder", ErrState))
	}
	if err := checkState(f.state); err != nil {
		return err
	}
	f.lock, err = lock(f.state)
	return err
}

// checkState refuses a folder of a state with what no run puts there. A symbolic link would lead writes out of the
// folder: git checks out what a repository has at .repomcp.
func checkState(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if !e.IsDir() && !e.Type().IsRegular() {
			return fmt.Errorf("%w: .repomcp has %q, which is no regular file", ErrState, e.Name())
		}
	}
	return notAbsent(err)
}

// lockAgain makes the folder of the state anew, if a program has removed it since, as git clean does.
func (f *folder) lockAgain() error {
	if _, err := os.Lstat(f.state); f.options.DryRun || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(unlock(f.lock), f.lockState())
}

// copyState gives a dry run a state of its own.
func (f *folder) copyState() error {
	there := f.state
	err := checkState(there)
	if err != nil {
		return err
	}
	if f.state, err = os.MkdirTemp("", "repomcp-dry-run-*"); err != nil {
		return err
	}
	for _, name := range []string{stateName, journalName} {
		if err := copyFile(filepath.Join(there, name), f.path(name)); err != nil {
			return errors.Join(err, f.close())
		}
	}
	return nil
}

// copyFile copies a file, if it exists.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return notAbsent(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (f *folder) close() error {
	if f.options.DryRun {
		return os.RemoveAll(f.state)
	}
	// The folders made for a run without result are removed; otherwise they are not empty.
	if _, err := os.Lstat(f.path(stateName)); isAbsent(err) {
		_ = os.Remove(f.path(ignoreName))
	}
	if os.Remove(f.state) == nil && f.made {
		_ = os.Remove(f.options.Dir)
	}
	return unlock(f.lock)
}

func (f *folder) path(name string) string { return filepath.Join(f.state, name) }

type state struct {
	scanner
	header header
	file   *os.File // nil if there is none
}

func (s state) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
}

// readState opens the state. A missing state has no records.
func (f *folder) readState() (s state, err error) {
	s.file, err = os.Open(f.path(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return state{scanner: newScanner(strings.NewReader(""))}, nil
	}
	if err != nil {
		return s, err
	}
	in := newScanner(s.file)
	text, err := in.text()
	if err != nil && !errors.Is(err, io.EOF) { // the disk's fault, which may pass
		s.close()
		return s, err
	}
	if err == nil {
		err = json.Unmarshal(text, &s.header)
	}
	if err != nil || s.header.Version < oldestVersion || s.header.Version > stateVersion {
		s.close()
		return s, ErrState
	}
	s.scanner = in
	return s, nil
}

// find looks a path up by reading all records before it. It is for rare cases.
func (f *folder) find(path string) (*record, error) {
	s, err := f.readState()
	if err != nil {
		return nil, err
	}
	defer s.close()
	c := cursor{scanner: s.scanner}
	return c.seek(path)
}

func (f *folder) each(do func(record) error) error {
	s, err := f.readState()
	if err != nil {
		return err
	}
	defer s.close()
	return merge(s, none{}, func(r, _ *record) error { return do(*r) })
}

// choice returns which of two records of a path stays, or nil for none. A missing record is nil.
type choice func(old, change *record) (*record, error)

// headerOf returns the header of a state of a commit, by the options.
func (f *folder) headerOf(commit string) header {
	o := f.options
	return header{Commit: commit, Followed: Followed{
		Repository: o.Repository, Ref: o.Ref, Profile: o.Profile, LFS: o.LFS, Submodules: o.Submodules, Paths: o.Paths,
		Exclude: o.Exclude,
	}}
}

// replaceState writes a new state: choose combines the present records and those of a journal.
func (f *folder) replaceState(h header, changes records, choose choice) error {
	old, err := f.readState()
	if err != nil {
		return err
	}
	h.Version, h.Written = stateVersion, time.Now().UnixNano()
	// The header comes first and contains the number of pending records.
	h.Kept, err = f.writeState(h, old, changes, choose)
	old.close() // Windows replaces no open file
	if err != nil {
		return err
	}
	if err := os.Rename(f.path(unfinished), f.path(stateName)); err != nil {
		return err
	}
	f.header = h
	return nil
}

func (f *folder) writeState(h header, old state, changes records, choose choice) (pending int, err error) {
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
	_, _ = out.Write(append(bytes.Repeat([]byte{' '}, len(room)), 0)) // Flush returns its error
	err = merge(old, changes, func(was, change *record) error {
		r, err := choose(was, change)
		if err != nil || r == nil {
			return err
		}
		if r.isPending() {
			pending++
		}
		switch {
		case change != nil:
			err = d.complete(r)
		case r.isRacy(old.header.Written):
			err = d.refresh(r) // the time of the new state would hide it
		}
		if err != nil {
			return err
		}
		r.aside = ""
		buffer = r.appendTo(buffer[:0])
		_, err = out.Write(buffer)
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return 0, err
	}
	h.Kept = pending
	text, err := json.Marshal(h)
	if err == nil {
		_, err = file.WriteAt(text, 0)
	}
	return pending, err
}

// takeChange merges the record of a completed run.
func takeChange(old, change *record) (*record, error) {
	switch {
	case change == nil:
		return old, nil
	case change.flag == gone:
		return nil, nil //nolint:nilnil // the path has none
	default:
		return change, nil
	}
}

// recover discards unpublished files, and finishes an interrupted run according to the disk: a
// record of its journal may be about a step that was not done. The resulting state belongs to no
// commit.
func (f *folder) recover() error {
	for _, name := range []string{stageName, heldName, repositoryName, spoolName, rehearsalName} {
		if err := os.RemoveAll(f.path(name)); err != nil {
			return err
		}
	}
	if err := unpack.RemoveProbes(f.state); err != nil {
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
		err = f.takeUp(file, info.ModTime().UnixNano())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Remove(file.Name())
}

// takeUp makes a state from a journal that was last written at a time.
func (f *folder) takeUp(journal *os.File, written int64) error {
	root, err := os.OpenRoot(f.options.Dir)
	if err != nil {
		return err
	}
	d, u := newDisk(f.options.Dir), unpack.New(root, unpack.Options{})
	err = f.replaceState(f.headerOf(""), newSorted(journal), func(old, change *record) (*record, error) {
		if change == nil {
			return old, nil
		}
		if change.aside != "" && !f.options.DryRun {
			if err := f.settle(u, old, *change, written); err != nil {
				return nil, err
			}
			d.forget()
		}
		if change.flag != brought && change.flag != gone {
			return change, nil
		}
		return d.decide(old, change, written)
	})
	return errors.Join(err, root.Close())
}

// decide returns which of two records matches the disk. change is from a journal that was last
// written at a time.
func (d *disk) decide(old, change *record, written int64) (*record, error) {
	there, err := d.lookExactly(change.name())
	if err != nil {
		return nil, err
	}
	if change.flag != gone {
		if has, err := d.has(*change, there, written); err != nil || has {
			return change, err
		}
	}
	if change.flag == gone && there.info == nil {
		old = nil
	}
	return old, nil
}
