package git_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

func lfsName(content []byte) (oid, name string) {
	sum := sha256.Sum256(content)
	oid = hex.EncodeToString(sum[:])
	return oid, filepath.Join("lfs", "objects", oid[:2], oid[2:4], oid)
}

// lfsReaders are the ways to read an object to its end.
var lfsReaders = map[string]func(*git.LFSObject) ([]byte, error){
	"whole":       func(o *git.LFSObject) ([]byte, error) { return io.ReadAll(o) },
	"single byte": func(o *git.LFSObject) ([]byte, error) { return io.ReadAll(iotest.OneByteReader(o)) },
	"exactly": func(o *git.LFSObject) ([]byte, error) {
		content := make([]byte, o.Size())
		n, err := io.ReadFull(o, content)
		if n == 0 && err == nil { // ReadFull asks for nothing of nothing
			return io.ReadAll(o)
		}
		return content[:n], err
	},
	"written": func(o *git.LFSObject) ([]byte, error) {
		var out bytes.Buffer
		_, err := o.WriteTo(&out)
		return out.Bytes(), err
	},
}

func TestLFSObjectIsTheFile(t *testing.T) {
	t.Parallel()
	repo, open := one(t)
	s := open()
	for _, size := range []int{0, 1, 4096, 128 << 10, 300_001} {
		content := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		oid, name := lfsName(content)
		if _, err := s.LFSObject(oid); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%d bytes: found before it is there: %v", size, err)
		}
		repo.WriteFile(name, content)
		for how, read := range lfsReaders {
			object, err := s.LFSObject(oid)
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(object)
			if err != nil || !bytes.Equal(got, content) || object.Size() != int64(size) {
				t.Errorf("%d bytes, %s: %d bytes of %d, %v", size, how, len(got), object.Size(), err)
			}
			if n, err := object.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("%d bytes, %s: after the end %d, %v", size, how, n, err)
			}
			if err := object.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDamagedLFSObjectIsNeverWhole: a reader must not have all bytes when the
// error comes.
func TestDamagedLFSObjectIsNeverWhole(t *testing.T) {
	gittest.Long(t)
	content := bytes.Repeat([]byte("content "), 50_000)
	for name, spoil := range map[string]func(file string) error{
		"first byte": func(file string) error { return patch(file, 0) },
		"last byte":  func(file string) error { return patch(file, int64(len(content))-1) },
		"grown":      func(file string) error { return os.WriteFile(file, append(bytes.Clone(content), '!'), 0o600) },
		"shrunk":     func(file string) error { return os.Truncate(file, int64(len(content))-1) },
		"emptied":    func(file string) error { return os.Truncate(file, 0) },
	} {
		for _, late := range []bool{false, true} {
			for how, read := range lfsReaders {
				repo, open := one(t)
				oid, at := lfsName(content)
				repo.WriteFile(at, content)
				file := filepath.Join(repo.Dir, at)
				if !late {
					if err := spoil(file); err != nil {
						t.Fatal(err)
					}
				}
				object, err := open().LFSObject(oid)
				if err != nil {
					t.Fatal(err)
				}
				if late {
					if err := spoil(file); err != nil {
						t.Fatal(err)
					}
				}
				got, err := read(object)
				if !errors.Is(err, git.ErrCorrupt) || object.Size() > 0 && int64(len(got)) >= object.Size() {
					t.Errorf("%s, after opening %v, %s: %d bytes of %d, %v", name, late, how, len(got), object.Size(),
						err)
				}
				if err != nil && strings.Contains(err.Error(), repo.Dir) {
					t.Errorf("the error names a path: %v", err)
				}
				if err := object.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// patch changes one byte of a file.
func patch(file string, at int64) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("#"), at)
	return errors.Join(err, f.Close())
}

func TestLFSObjectIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	repo, open := one(t)
	s := open()
	content := []byte("content")
	oid, name := lfsName(content)
	outside := filepath.Join(t.TempDir(), "lfs")
	if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o700),
		os.WriteFile(filepath.Join(outside, name), content, 0o600)); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(repo.Dir, "lfs")
	if err := os.Symlink(filepath.Join(outside, "lfs"), folder); err != nil {
		t.Fatal(err)
	}
	_, err := s.LFSObject(oid)
	if !errors.Is(err, git.ErrCorrupt) || strings.Contains(err.Error(), outside) {
		t.Errorf("a folder outside: %v", err)
	}
	// Within the root a link is as good as any other.
	repo.WriteFile("elsewhere/"+strings.TrimPrefix(name, "lfs/"), content)
	if err := errors.Join(os.Remove(folder), os.Symlink("elsewhere", folder)); err != nil {
		t.Fatal(err)
	}
	object, err := s.LFSObject(oid)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(object); err != nil || !bytes.Equal(got, content) {
		t.Errorf("a folder inside: %q, %v", got, err)
	}
	if err := object.Close(); err != nil {
		t.Error(err)
	}
}

func TestLFSObjectRefusesOtherNames(t *testing.T) {
	t.Parallel()
	repo, open := one(t)
	s := open()
	oid, name := lfsName([]byte("content"))
	repo.WriteFile(name, []byte("content"))
	for _, bad := range []string{"", oid[1:], oid + "0", strings.ToUpper(oid), "../" + oid[3:], strings.Repeat("/", 64),
		"sha256:" + oid[7:]} {
		if _, err := s.LFSObject(bad); !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// A file where a folder should be holds nothing.
	other, at := lfsName([]byte("other"))
	repo.WriteFile(filepath.Dir(at), []byte("a file"))
	if _, err := s.LFSObject(other); !errors.Is(err, git.ErrNotFound) {
		t.Error(err)
	}
}
