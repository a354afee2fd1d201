package unpack

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// childFolder names the folder that the test binary, started again, unpacks its
// standard input into.
const childFolder = "REPOMCP_UNPACK_CHILD"

func unpackAsChild(dir string) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		_, err = New(root, Options{}).Tar(context.Background(), os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killFiles are those of both archives. One file flows, the others are small.
const killFiles = 120

func killArchive(t testing.TB, version string) (tar []byte, files map[string]string) {
	files = map[string]string{}
	var entries []entry
	for i := range killFiles {
		path, size := fmt.Sprintf("d%d/e/f%03d", i/20, i), 1+i*37
		if i%40 == 7 {
			size = smallFile * 3
		}
		content := fmt.Sprintf("%s %d %s", version, i, strings.Repeat(version, size))
		files[path] = content
		entries = append(entries, reg(path, content))
	}
	return archive(t, entries...), files
}

// TestKilledAtAnyMoment cuts runs by SIGKILL after a number of bytes, some of them
// again and again in one folder: each file is the old or the new one.
func TestKilledAtAnyMoment(t *testing.T) {
	gittest.Long(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	oldTar, old := killArchive(t, "old")
	newTar, fresh := killArchive(t, "new")
	r := rand.New(rand.NewPCG(1, 2))
	p := newPlace(t)
	most := 0 // that were left at once
	for kill := range gittest.Volume(50, 500) {
		if kill%10 == 0 {
			p = newPlace(t)
			if _, err := p.unpack(t, oldTar); err != nil {
				t.Fatal(err)
			}
		}
		killAfter(t, self, p.dir, newTar[:r.IntN(len(newTar))])
		p.outside(t)
		most = max(most, checkVersions(t, p, old, fresh))
		if kill%10 < 9 {
			continue
		}
		if _, err := p.unpack(t, newTar); err != nil {
			t.Fatal(err)
		}
		if left := checkVersions(t, p, nil, fresh); left > 0 {
			t.Errorf("%d incomplete files are left", left)
		}
	}
	if most < 2 { // the mark, and a file
		t.Error("no process was killed while it wrote")
	}
}

// killAfter lets a process read a part of the archive, and do with it what it gets
// to, and kills it.
func killAfter(t *testing.T, self, dir string, part []byte) {
	t.Helper()
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), childFolder+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bytes.NewReader(part).WriteTo(stdin); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the process ended by itself: %v", err)
	}
}

// checkVersions fails for a file that is neither, and counts what a run leaves behind.
func checkVersions(t *testing.T, p place, old, fresh map[string]string) (left int) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), temporaryPrefix) || e.Name() == markerName || e.Name() == probeName {
			left++
			return nil
		}
		seen++
		content, err := os.ReadFile(path)
		name := filepath.ToSlash(strings.TrimPrefix(path, p.dir+string(filepath.Separator)))
		if got := string(content); got != fresh[name] && got != old[name] || got == "" {
			t.Errorf("%s has %d bytes, %.20q", name, len(content), content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen != killFiles {
		t.Errorf("there are %d files", seen)
	}
	return left
}
