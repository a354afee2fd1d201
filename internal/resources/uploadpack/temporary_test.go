package uploadpack

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/base/folderlock"
)

// Only folders that a server has marked, and that none uses, are removed.
func TestAbandonedFoldersAreRemoved(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	at := func(name string) string { return filepath.Join(folder, temporaryPrefix+name) }
	for _, name := range []string{"killed", "foreign", "used"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		at("killed/" + markName), at("killed/request"), at("foreign/thesis"), at("file"), at("used/" + markName),
	} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used, err := os.Open(at("used/" + markName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = used.Close() }() // it was only locked
	if err := folderlock.Lock(used); err != nil {
		t.Skip("folders are not locked here: ", err)
	}
	removeAbandoned()
	for name, stays := range map[string]bool{"killed": false, "foreign/thesis": true, "file": true, "used": true} {
		if _, err := os.Lstat(at(name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Servers that share a folder for temporary files do not remove each other's.
func TestServersBeginTogether(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	for range 50 {
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				var one temporary
				name, err := one.make()
				if err == nil {
					_, err = os.Stat(name)
				}
				if err != nil {
					t.Error(err)
				}
				if err := one.close(); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("there are left %v, %v", left, err)
	}
}
