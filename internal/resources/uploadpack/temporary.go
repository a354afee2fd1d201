package uploadpack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/repomcp/repomcp/internal/base/folderlock"
)

const (
	// temporaryPrefix begins the name of the folder that a server's requests have theirs in.
	temporaryPrefix = "repomcp-requests-"
	// markName is a file in it that the server has locked.
	markName = "repomcp.lock"
)

// temporary is the folder that the requests of a server have theirs in. It is made with the first request, and marked
// by a file that is locked while the server runs, so that another one removes what a killed one has left.
type temporary struct {
	sweep sync.Once
	mu    sync.Mutex
	name  string // absolute, because git runs in a folder of it; "" before the first request
	mark  *os.File
}

// make makes a folder for a request.
func (t *temporary) make() (string, error) {
	t.sweep.Do(removeAbandoned)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name != "" {
		name, err := os.MkdirTemp(t.name, "")
		if !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
		_ = t.close() // a program that cleans up has removed it
	}
	if err := t.open(); err != nil {
		return "", err
	}
	return os.MkdirTemp(t.name, "")
}

func (t *temporary) open() error {
	name, err := os.MkdirTemp("", temporaryPrefix)
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return err
	}
	t.name = name
	// The mark gets its name when it is locked: until then no other server looks at the folder.
	unlocked := filepath.Join(name, "new")
	if t.mark, err = os.OpenFile(unlocked, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		err = folderlock.Lock(t.mark)
	}
	if err == nil {
		err = os.Rename(unlocked, filepath.Join(name, markName))
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, t.close())
	}
	return nil
}

// close removes the folder, with those of requests that could not be removed before.
func (t *temporary) close() error {
	if t.name == "" {
		return nil
	}
	err := os.RemoveAll(t.name)
	if t.mark != nil {
		err = errors.Join(err, t.mark.Close())
	}
	t.name, t.mark = "", nil
	return err
}

// removeAbandoned removes the folders of servers that were killed: those with a mark that is not locked.
func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*")) // one that cannot be read has none
	for _, folder := range folders {
		name := filepath.Join(folder, markName)
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue // it is another program's
		}
		mark, err := os.Open(name)
		if err != nil {
			continue // another user's
		}
		if folderlock.Lock(mark) == nil {
			_ = os.RemoveAll(folder) // the next server tries it again
		}
		_ = mark.Close() // nothing was written
	}
}
