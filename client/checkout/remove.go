package checkout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/repomcp/repomcp/client"
)

const (
	// manifestPath is the first member of a difference.
	manifestPath = stateFolder + "/manifest.json"
	// removedAtOnce bounds the memory of paths that are to be removed.
	removedAtOnce = 8192
)

// readManifest removes what a difference lists as deleted. What it lists besides
// comes as members.
func (r *run) readManifest(content io.Reader) error {
	r.delta = true
	d := json.NewDecoder(content)
	var base string
	err := eachMember(d, func(key string) error {
		switch key {
		case "head":
			return d.Decode(&r.head)
		case "base":
			if err := d.Decode(&base); err != nil {
				return err
			}
			if base != r.base {
				return fmt.Errorf("%w: it is the difference from %s", client.ErrDamaged, base)
			}
			return nil
		case "deleted":
			return r.removeListed(d)
		default:
			return pass(d)
		}
	})
	if err == nil && base == "" {
		err = fmt.Errorf("%w: the difference has no base", client.ErrDamaged)
	}
	if isMalformed(err) {
		err = fmt.Errorf("%w: %w", client.ErrDamaged, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", manifestPath, err)
	}
	_, err = io.Copy(io.Discard, content)
	return err
}

// isMalformed tells the errors of a text that is no manifest from those of reading it.
func isMalformed(err error) bool {
	syntax, kind, escape := (*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil), url.EscapeError("")
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.As(err, &escape)
}

// eachMember reads an object of JSON without holding it.
func eachMember(d *json.Decoder, read func(key string) error) error {
	if t, err := d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return client.ErrDamaged
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if err := read(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// pass reads over a value.
func pass(d *json.Decoder) error {
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func (r *run) removeListed(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		listed := make(map[string]bool)
		for d.More() && len(listed) < removedAtOnce {
			var escaped string
			if err := d.Decode(&escaped); err != nil {
				return err
			}
			path, err := url.PathUnescape(escaped)
			if err != nil {
				return err
			}
			listed[path] = true
		}
		if err := r.removeThose(func(w record) bool { return listed[w.path] }, anyFolder); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// removeBelow removes what runs wrote in a folder, and it. Those above are about to
// be written to.
func (r *run) removeBelow(folder string) error {
	inside := func(path string) bool { return below(path+"/", folder) }
	return r.removeThose(func(w record) bool { return below(w.path, folder) }, inside)
}

func (r *run) removeThose(chosen func(record) bool, owns func(folder string) bool) error {
	remover := newRemover(r, owns)
	err := r.each(func(w record) error {
		if !chosen(w) {
			return nil
		}
		return remover.add(w)
	})
	return errors.Join(err, remover.flush())
}

// removeStale removes what the state has and the archive, which was a whole one,
// has not.
func (r *run) removeStale() error {
	s, err := r.readState()
	if err != nil {
		return err
	}
	if s.file == nil {
		return nil // it was the first run
	}
	defer s.close()
	remover := newRemover(r, anyFolder)
	// What is added to the journal meanwhile is of paths that were passed.
	err = merge(s, newSorted(r.journal.file), func(old, change *record) error {
		if change != nil {
			return nil
		}
		return remover.add(*old)
	})
	return errors.Join(err, remover.flush())
}

// remover removes paths in their order, some at once.
type remover struct {
	run   *run
	disk  *disk
	paths []string
	owns  func(folder string) bool // that may go when nothing is in it
}

// anyFolder that becomes empty goes: no commit has an empty one.
func anyFolder(string) bool { return true }

func newRemover(r *run, owns func(folder string) bool) *remover {
	return &remover{run: r, disk: newDisk(r.options.Dir), owns: owns}
}

func (m *remover) add(w record) error {
	there, err := m.disk.look(w.name())
	if err != nil {
		return err
	}
	r, mine := m.run, false
	if w.kind == directory {
		mine = there.info != nil && there.info.IsDir()
	} else if mine, err = r.wrote(&w, there); err != nil {
		return err
	}
	gone := w
	gone.gone = true
	if err := r.note(gone); err != nil {
		return err
	}
	other := there.info != nil && !there.info.IsDir() && w.kind != directory
	switch {
	case mine || other && r.options.Force:
	case other:
		r.keep(w.path, ReasonDeleted)
		return nil
	default:
		return nil
	}
	m.paths = append(m.paths, w.path)
	if w.kind != directory {
		r.deleted(w.path)
	}
	if len(m.paths) < removedAtOnce {
		return nil
	}
	return m.flush()
}

func (r *run) deleted(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Deleted++
	r.tell(Event{Event: EventDelete, Path: path})
}

// flush removes the paths that were added, and the folders above them that have
// nothing in them now.
func (m *remover) flush() error {
	paths := m.paths
	m.paths = nil
	m.run.disk.forget()
	if len(paths) == 0 || m.run.options.DryRun {
		return nil
	}
	m.disk.forget()
	return m.run.unpacker.Remove(paths, m.owns)
}
