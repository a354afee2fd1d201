package uploadpack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/repomcp/repomcp/internal/base/folderlock"
)

// temporaryPrefix begins the name of the folder that a server's requests have theirs in.
const temporaryPrefix = "repomcp-git-"

// temporary is the folder that the requests of a server have theirs in. It is made with the first request, and
// reserved, so that the next server removes what a killed one has left.
type temporary struct {
	mu     sync.Mutex
	folder *os.File
}

// make makes a folder for a request, by its absolute path: git runs there.
func (t *temporary) make() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.folder != nil {
		name, err := os.MkdirTemp(t.folder.Name(), "")
		if !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
		_ = t.close() // a program that cleans up has removed it
	}
	removeAbandoned()
	if err := t.open(); err != nil {
		return "", err
	}
	return os.MkdirTemp(t.folder.Name(), "")
}

func (t *temporary) open() error {
	name, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if t.folder, err = os.Open(absolute); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if err := folderlock.Lock(t.folder); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, t.close())
	}
	return nil
}

// close removes the folder, with those of requests that could not be removed before.
func (t *temporary) close() error {
	if t.folder == nil {
		return nil
	}
	err := errors.Join(os.RemoveAll(t.folder.Name()), t.folder.Close())
	t.folder = nil
	return err
}

// removeAbandoned removes what servers that were killed have left.
func removeAbandoned() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*")) // a folder that cannot be read has none
	for _, name := range left {
		folder, err := os.Open(name)
		if err != nil {
			continue // it is another user's, or gone
		}
		if folderlock.Lock(folder) == nil {
			_ = os.RemoveAll(name) // likewise
		}
		_ = folder.Close() // nothing was written
	}
}
