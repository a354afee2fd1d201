package watch

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/repomcp/repomcp/internal/repos"
)

// open requests notifications from the kernel. Earlier repositories are armed at their next poll.
func (w *refWatcher) open() (<-chan fsnotify.Event, <-chan error) {
	if w.options.NoEvents {
		return nil, nil
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		w.logger.Warn("the kernel gives no file notifications; repositories with subscribers are looked at instead",
			"every", lookEvery, "error", err)
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = events
	return events.Events, events.Errors
}

// close ends the notifications, and the goroutine that reads them.
func (w *refWatcher) close() {
	w.mu.Lock()
	events := w.events
	w.events = nil
	clear(w.folders)
	w.mu.Unlock()
	if events == nil {
		return
	}
	if err := events.Close(); err != nil {
		w.logger.Error("closing the file notifications failed", "error", err)
	}
}

// note handles an event in a folder, or of the folder itself. It reports whether the event belongs
// to a watched repository.
func (w *refWatcher) note(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	w.mu.Lock()
	entry := w.folders[filepath.Dir(event.Name)]
	self := w.folders[event.Name]
	w.mu.Unlock()
	if self != nil && event.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
		// The kernel has dropped the watch; a folder of the same name may appear.
		self.mu.Lock()
		w.disarm(self, func(folder string) bool { return folder != event.Name })
		self.mu.Unlock()
		entry = self
	}
	if entry == nil {
		return false
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	entry.touch(time.Now())
	return true
}

// overflow schedules all repositories, because it is unknown which events were lost.
func (w *refWatcher) overflow(err error) {
	w.logger.Warn("file notifications were lost; all watched repositories are looked at", "error", err)
	for _, entry := range w.all() {
		entry.mu.Lock()
		entry.touch(time.Now())
		entry.mu.Unlock()
	}
}

// arm makes the kernel watch exactly the folders of a stamp. It reports whether any folder is new.
// The caller holds e.mu.
func (w *refWatcher) arm(e *watched, stamp repos.RefStamp) (added bool) {
	wanted := make(map[string]bool, len(stamp.Folders))
	for _, folder := range stamp.Folders {
		wanted[folder] = true
	}
	w.disarm(e, func(folder string) bool { return wanted[folder] })
	w.mu.Lock()
	events := w.events
	w.mu.Unlock()
	if events == nil {
		e.trusted = false
		return false
	}
	e.trusted = !stamp.Partial && len(stamp.Folders) > 0 && isLocal(stamp.Folders[0])
	for _, folder := range stamp.Folders {
		if e.folders[folder] {
			continue
		}
		if err := w.armFolder(e, events, folder); err != nil {
			e.trusted = false
			w.refused(err)
			break
		}
		added, e.folders[folder] = true, true
	}
	return added
}

func (w *refWatcher) armFolder(e *watched, events *fsnotify.Watcher, folder string) error {
	w.arming.Lock()
	defer w.arming.Unlock()
	if err := w.watchFolder(events, folder); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folders[folder] = e
	return nil
}

// refused logs once that the kernel refuses watches: most likely the user's watches are used up. A
// deleted folder is no refusal.
func (w *refWatcher) refused(err error) {
	w.mu.Lock()
	first := !w.reported && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fsnotify.ErrClosed)
	w.reported = w.reported || first
	w.mu.Unlock()
	if first {
		w.logger.Warn("the kernel watches no more folders (see fs.inotify.max_user_watches); repositories with "+
			"subscribers are looked at instead",
			"every", lookEvery, "error", err)
	}
}

// disarm ends the watches of folders except those to keep. The caller holds e.mu.
func (w *refWatcher) disarm(e *watched, keep func(folder string) bool) {
	w.arming.Lock()
	defer w.arming.Unlock()
	maps.DeleteFunc(e.folders, func(folder string, _ bool) bool {
		if keep != nil && keep(folder) {
			return false
		}
		w.mu.Lock()
		events, own := w.events, w.folders[folder] == e
		if own { // not that of a repository added after e was removed
			delete(w.folders, folder)
		}
		w.mu.Unlock()
		if own && events != nil {
			// Remove fails for a deleted folder, which has no watch.
			_ = events.Remove(folder)
		}
		return true
	})
}
