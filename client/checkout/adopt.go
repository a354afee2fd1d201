package checkout

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/base/swap"
)

// cloneState is how the last run left a clone.
type cloneState struct {
	Commit  string `json:"commit"`            // "" if there was nothing to bring
	Head    string `json:"head"`              // the branch, or ""
	Tracked string `json:"tracked"`           // the object of the server's branch or tag
	Index   string `json:"index"`             // names the index file
	Fetched string `json:"fetched,omitempty"` // what the run set origin's branch to, if HEAD stayed behind
	Writing string `json:"writing,omitempty"` // the commits whose files runs have begun to write
	// Repository and Ref are those of which the run was.
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
}

// origin returns the object of the server's branch or tag, as far as the clone knows.
func (s cloneState) origin() string { return cmp.Or(s.Fetched, s.Tracked) }

func (f *folder) readCloneState() (s cloneState, err error) {
	text, err := os.ReadFile(f.path(cloneName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		_ = json.Unmarshal(text, &s) // a damaged one is as good as none
	}
	return s, err
}

// remember keeps how a run leaves a clone.
func (f *folder) remember(r *dotgit.Repository, in *dotgit.Incoming) error {
	index, _, err := stampOf(r.IndexFile())
	if err != nil {
		return err
	}
	return f.writeCloneState(cloneState{
		Commit: in.Commit.String(), Head: in.Branch(), Tracked: in.Target.String(), Index: index,
		Repository: f.options.Repository, Ref: f.options.Ref,
	})
}

func (f *folder) writeCloneState(s cloneState) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path(unfinished), text, 0o666); err != nil { //nolint:gosec // the umask decides
		return err
	}
	return os.Rename(f.path(unfinished), f.path(cloneName))
}

// stampOf names a version of a file: "" is none. modified is its time of modification, in nanoseconds since 1970.
func stampOf(name string) (stamp string, modified int64, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", 0, notAbsent(err)
	}
	modified = info.ModTime().UnixNano()
	return strconv.FormatInt(modified, 10) + "/" + strconv.FormatInt(swap.ChangeTime(info), 10), modified, nil
}

// adopt makes the state one of the index of git, if git has changed that: what git has written, or compared
// with its index, is what a run may replace.
func (f *folder) adopt(r *dotgit.Repository, head dotgit.Head, s cloneState) error {
	stamp, modified, err := stampOf(r.IndexFile())
	if err != nil || stamp == s.Index && f.header.Commit != "" {
		return err
	}
	index, err := r.Index()
	if err != nil {
		return err
	}
	for path := range index.Paths() {
		if top, _, _ := strings.Cut(path, "/"); strings.EqualFold(top, stateFolder) { // on some system the same
			return &unpack.RefusedError{Reason: unpack.ReservedName, Paths: []string{path}}
		}
	}
	staged := &indexRecords{index.Entries, modified, newDisk(f.options.Dir)}
	d := newDisk(f.options.Dir)
	// Files of an update that was broken off are not those of the index, nor is a link that was skipped.
	isLeft := func(w *record) (bool, error) {
		written := w != nil && w.flag == brought && w.kind != directory && s.Writing != ""
		if !written && (w == nil || w.flag != skipped) {
			return false, nil
		}
		there, err := d.look(w.path)
		if err != nil {
			return false, err
		}
		if w.flag == skipped {
			return there.info == nil, nil
		}
		return d.isAsWritten(w, there)
	}
	return f.replaceState(f.headerOf(head.Commit.String()), staged, func(old, change *record) (*record, error) {
		left, err := isLeft(old)
		switch {
		case left || err != nil || change == nil && old.kind == directory:
			return old, err
		case change == nil:
			return nil, nil //nolint:nilnil // git does not know it
		case old != nil && old.flag == brought && old.kind == change.kind && old.size == change.size &&
			old.mtime == change.mtime:
			return old, nil // with the id of a converted content
		default:
			return change, nil
		}
	})
}

// indexRecords are records of the entries of an index.
type indexRecords struct {
	entries []dotgit.Entry
	written int64 // the time of the index
	disk    *disk
}

func (r *indexRecords) next() (record, error) {
	for len(r.entries) > 0 {
		e := r.entries[0]
		r.entries = r.entries[1:]
		if e.Stage != 0 || e.IntentToAdd || e.Mode.IsGitlink() {
			continue
		}
		w := record{path: e.Path, kind: plainFile, flag: brought, id: unpack.ID(e.ID), size: int64(e.Stat.Size)}
		switch {
		case e.Mode.IsSymlink():
			w.kind = link
		case e.Mode.IsExecutable():
			w.kind = executable
		}
		if w.mtime, w.ctime = e.Stat.Times(); w.isRacy(r.written) || w.size == 0 {
			err := r.forget(&w) // git compares the content of such a file
			return w, err
		}
		return w, nil
	}
	return record{}, io.EOF
}

// forget makes the content decide about a file. Git marks an entry that may be wrong by a size of 0.
func (r *indexRecords) forget(w *record) error {
	w.mtime, w.ctime = 0, 0
	there, err := r.disk.look(w.path)
	if w.size == 0 && there.info != nil {
		w.size = there.info.Size()
	}
	return err
}
