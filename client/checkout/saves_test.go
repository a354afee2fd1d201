package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// saver stands for the programs that save files of a folder while it is updated. All
// that it saves is to be found afterwards.
type saver struct {
	*place
	random *rand.Rand

	mu     sync.Mutex
	owned  map[string]string // by path, what was saved last and not given up since; "" if it was removed
	counts map[string]int
	next   int // of contents
}

// ways to save a file, as editors and other programs have them.
var ways = map[string]func(s *saver, at, content string) error{
	"by rename": func(_ *saver, at, content string) error {
		aside := filepath.Join(filepath.Dir(at), ".swap~")
		err := errors.Join(os.WriteFile(aside, []byte(content), 0o644), os.Rename(aside, at))
		if err != nil {
			_ = os.Remove(aside) // as editors do
		}
		return err
	},
	"truncated": func(_ *saver, at, content string) error {
		return os.WriteFile(at, []byte(content), 0o644)
	},
	"truncated, in two parts": func(s *saver, at, content string) error {
		return s.inPlace(at, os.O_TRUNC|os.O_CREATE, content, 1)
	},
	"in place": func(s *saver, at, content string) error {
		return s.inPlace(at, 0, content, s.random.IntN(3))
	},
	"removed": func(_ *saver, at, _ string) error { return os.RemoveAll(at) },
	"as a new file": func(_ *saver, at, content string) error {
		file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.WriteString(file, content)
		return errors.Join(err, file.Close())
	},
}

// inPlace opens a file, and writes it a moment later.
func (s *saver) inPlace(at string, flag int, content string, pauses int) error {
	file, err := os.OpenFile(at, os.O_WRONLY|flag, 0o644)
	if err != nil {
		return err
	}
	if pauses > 0 {
		time.Sleep(time.Duration(s.random.IntN(2000)) * time.Microsecond)
	}
	_, err = io.WriteString(file, content[:len(content)/2])
	if pauses > 1 {
		time.Sleep(time.Duration(s.random.IntN(500)) * time.Microsecond)
	}
	_, other := io.WriteString(file, content[len(content)/2:])
	return errors.Join(err, other, file.Truncate(int64(len(content))), file.Close())
}

// save saves one file of those that a version or the other has.
func (s *saver) save(paths []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := paths[s.random.IntN(len(paths))]
	names := slices.Sorted(maps.Keys(ways))
	way := names[s.random.IntN(len(names))]
	s.next++
	// As long as what the versions have, for the most part.
	content := fmt.Sprintf("saved %07d", s.next) + strings.Repeat("x", s.random.IntN(2)*s.random.IntN(3000))
	err := ways[way](s, filepath.Join(s.dir, path), content)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist), err != nil && isInTheWay(err):
		return nil // this way does not work there at the moment
	case err != nil:
		return err
	}
	s.owned[path] = content
	if way == "removed" {
		for owned := range s.owned {
			if owned == path || below(owned, path) {
				s.owned[owned] = ""
			}
		}
	}
	s.counts[way]++
	s.counts["saves"]++
	return nil
}

func isInTheWay(err error) bool {
	for _, text := range []string{"is a directory", "not a directory", "file exists"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// check looks for all that was saved, and gives it up afterwards: a path may be above another one.
func (s *saver) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []string
	for path, content := range s.owned {
		at := filepath.Join(s.dir, path)
		copies, err := filepath.Glob(at + unpack.KeptSuffix + "*")
		s.must(err)
		over = append(append(over, copies...), at)
		switch {
		case content == "": // a run may have had it aside at that moment, and bring it back
		case has(at, content):
		case slices.ContainsFunc(copies, func(c string) bool { return has(c, content) }):
			s.counts["found as copies"]++
		default:
			s.counts["lost"]++
			there, err := os.ReadFile(at)
			s.t.Logf("%s is lost: it has %.30q (%d bytes), %v; not %.30q (%d bytes)", path, there, len(there), err,
				content, len(content))
		}
	}
	for _, name := range over {
		if err := os.RemoveAll(name); err != nil && !isInTheWay(err) {
			s.t.Fatal(err)
		}
	}
	clear(s.owned)
}

func has(at, content string) bool {
	there, err := os.ReadFile(at)
	return err == nil && string(there) == content
}

// versions are two trees that have hardly a file in common. Some paths are in one of
// them only, and some are folders in the other.
func versions() (both [2][]gittest.File) {
	for v := range both {
		for i := range 300 {
			path := fmt.Sprintf("d%d/f%03d", i/50, i)
			switch {
			case i%20 == 7 && v == 0, i%20 == 8 && v == 1:
				continue
			case i%50 == 9 && v == 1:
				path += "/below"
			}
			both[v] = append(both[v], gittest.Regular(path, fmt.Sprintf("ver %d %07d", v, i)))
		}
	}
	return both
}

// newSaver is one of a folder that is in step with one of two versions, to whose commits
// the branch goes by turns.
func newSaver(t *testing.T, seed int) (s *saver, paths []string, turn func()) {
	t.Helper()
	p := newPlace(t)
	var commits []string
	for _, files := range versions() {
		p.commit(files...)
		commits = append(commits, p.repo.Git("rev-parse", "main"))
		for _, f := range files {
			paths = append(paths, f.Path)
		}
	}
	p.sync(nil)
	s = &saver{place: p, random: newRandom(seed), owned: map[string]string{}, counts: map[string]int{}}
	return s, paths, func() {
		s.counts["runs"]++
		p.repo.Git("update-ref", "refs/heads/main", commits[s.counts["runs"]%2])
	}
}

// during saves files as long as something is done.
func (s *saver) during(paths []string, do func()) {
	var over atomic.Bool
	var saving sync.WaitGroup
	saving.Go(func() {
		for !over.Load() {
			if err := s.save(paths); err != nil {
				s.t.Error(err)
				return
			}
		}
	})
	do()
	over.Store(true)
	saving.Wait()
}

// ended fails the test for what was lost, and for what did not happen. Then the folder is
// brought in step, and nothing may be left over.
func (s *saver) ended(kinds ...string) {
	s.t.Helper()
	s.t.Logf("%v", s.counts)
	if s.counts["lost"] > 0 {
		s.t.Errorf("%d of %d saves are lost", s.counts["lost"], s.counts["saves"])
	}
	for _, kind := range append(slices.Collect(maps.Keys(ways)), kinds...) {
		if s.counts[kind] == 0 {
			s.t.Errorf("nothing was %s", kind)
		}
	}
	s.sync(func(o *Options) { o.Verify = true })
	s.same(s.archived())
	if left := temporaryFiles(s.t, s.dir); len(left) > 0 {
		s.t.Errorf("%q are left", left)
	}
}

// TestSavesDuringUpdatesAreNotLost has a program save files while runs replace, remove
// and make them.
func TestSavesDuringUpdatesAreNotLost(t *testing.T) {
	gittest.Long(t)
	s, paths, turn := newSaver(t, 11)
	for saves := gittest.Volume(1500, 5000); s.counts["saves"] < saves; {
		turn()
		var result Result
		plain := s.counts["runs"]%3 > 0
		s.during(paths, func() { result = s.sync(func(o *Options) { o.Plain = plain }) })
		s.counts["kept"] += result.KeptCount
		s.counts["written"] += result.Written
		s.counts["deleted"] += result.Deleted
		s.check()
	}
	s.ended("kept", "written", "deleted")
}

// TestSavesDuringUpdatesThatAreKilledAreNotLost: what a run had taken aside when it was
// killed is there after the next one.
func TestSavesDuringUpdatesThatAreKilledAreNotLost(t *testing.T) {
	gittest.Long(t)
	s, paths, turn := newSaver(t, 12)
	killing := &story{place: s.place, random: newRandom(13), counts: map[string]int{}}
	for killed := gittest.Volume(25, 300); s.counts["killed"] < killed && s.counts["runs"] < 4*killed; {
		turn()
		s.during(paths, killing.kill)
		s.counts["killed"] = killing.counts["killed"]
		s.sync(nil)
		s.check()
	}
	s.ended("killed")
}

func temporaryFiles(t *testing.T, dir string) (left []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(at string, _ fs.DirEntry, err error) error {
		if isTemporary(filepath.ToSlash(at)) {
			left = append(left, at)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return left
}

// TestAFileIsSavedWhileItIsReceived: a large file comes over a slow line, and is saved
// meanwhile, or made where there was none.
func TestAFileIsSavedWhileItIsReceived(t *testing.T) {
	gittest.Long(t)
	const size = 8 << 20
	for _, path := range []string{"big", "new"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.commit(gittest.Regular("big", gittest.Noise(size)), gittest.Regular("small", "1"))
			p.sync(nil)
			p.commit(gittest.Regular(path, "changed"+gittest.Noise(size)), gittest.Regular("small", "2"))
			reached, goOn := p.server.pause(3 << 20)
			saved := make(chan struct{})
			go func() {
				defer close(saved)
				<-reached
				p.write(path, "MY EDIT")
				goOn()
			}()
			result, err := Sync(t.Context(), p.connect(), p.options())
			if err != nil {
				t.Fatal(err)
			}
			<-saved
			if !has(filepath.Join(p.dir, path), "MY EDIT") || !slices.Equal(result.Kept, []string{path}) {
				t.Errorf("the edit of %s is lost: %+v", path, result)
			}
			if !has(filepath.Join(p.dir, "small"), "2") {
				t.Error("the other file did not come")
			}
			p.write(path, "a later edit")
			if again := p.sync(nil); !slices.Equal(again.Kept, []string{path}) {
				t.Errorf("the run after it: %+v", again)
			}
		})
	}
}

// open opens files for reading and writing.
func (p *place) open(paths ...string) (files []*os.File) {
	p.t.Helper()
	for _, path := range paths {
		file, err := os.OpenFile(p.at(path), os.O_RDWR, 0)
		p.must(err)
		files = append(files, file)
	}
	return files
}

// shut closes a file for good: the child of a fork has it until the child's program begins.
func shut(file *os.File) error {
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	return file.Close()
}

// TestAProgramHasTheFileOpen saves by a program that has opened the file before the
// update, and writes it when that is over.
func TestAProgramHasTheFileOpen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("open", "1"), gittest.Regular("other", "1"), gittest.Regular("gone", "1"))
	p.sync(nil)
	p.commit(gittest.Regular("open", "2"), gittest.Regular("other", "2"))
	files := p.open("open", "gone")
	first := p.sync(nil)
	for _, file := range files {
		_, err := file.WriteString("saved")
		if err := errors.Join(err, shut(file)); err != nil {
			t.Fatal(err)
		}
	}
	p.same(tree{"open": "file saved", "gone": "file saved", "other": "file 2"})
	if slices.Sort(first.Kept); !slices.Equal(first.Kept, []string{"gone", "open"}) {
		t.Errorf("%q were kept", first.Kept)
	}
	again := p.sync(nil)
	if slices.Sort(again.Kept); !slices.Equal(again.Kept, []string{"gone", "open"}) {
		t.Errorf("the run after it: %+v", again)
	}
	if last := p.sync(nil); !slices.Equal(last.Kept, []string{"open"}) { // the other is the user's
		t.Errorf("the last run: %+v", last)
	}
}

// Files that a program only had open, in place of which there is nothing or a folder now, are removed when it has
// closed them.
func TestAProgramOnlyHadTheFileOpen(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Options){nil, checkouts, func(o *Options) { o.Submodules = true }} {
		p := newClonePlace(t)
		p.commit(gittest.Regular("d/gone", "1"), gittest.Regular("folder", "1"), gittest.Regular("other", "1"))
		p.sync(change)
		p.commit(gittest.Regular("folder/new", "2"), gittest.Regular("other", "2"))
		files := p.open("d/gone", "folder")
		for range 2 {
			if result := p.sync(change); result.KeptCount < 2 {
				t.Errorf("%+v", result)
			}
		}
		for _, file := range files {
			p.must(shut(file))
		}
		if result := p.sync(change); result.KeptCount != 0 || result.Deleted != 2 {
			t.Errorf("%+v", result)
		}
		if left := slices.Sorted(maps.Keys(p.files())); !slices.Equal(left, []string{"folder/new", "other"}) {
			t.Errorf("there are %q", left)
		}
	}
}

// TestAProgramHasAFileOfACloneOpen: the branch waits for the program, and the reason is no edit until there is one.
func TestAProgramHasAFileOfACloneOpen(t *testing.T) {
	t.Parallel()
	p := newClonePlace(t)
	p.commit(gittest.Regular("open", "1"), gittest.Regular("other", "1"))
	p.sync(checkouts)
	p.commit(gittest.Regular("open", "2"), gittest.Regular("other", "2"))
	files := p.open("open")
	expect := func(behind string) {
		t.Helper()
		if result := p.sync(checkouts); result.Behind != behind {
			t.Errorf("the branch is behind for %q, want %q: %+v", result.Behind, behind, result)
		}
	}
	expect(ReasonInUse)
	p.write("other", "edited")
	expect(ReasonEdited)
	p.git("checkout", "other")
	expect(ReasonInUse)
	p.must(shut(files[0]))
	expect("")
}

// TestAFileInPlaceOfANewFolder that a user makes while a clone is advanced, is reported, and the branch stays.
func TestAFileInPlaceOfANewFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"), gittest.Regular("b", "1"))
	p.sync(checkouts)
	p.commit(gittest.Regular("b", "1"), gittest.Regular("new/x", "1"))
	result := p.sync(func(o *Options) {
		checkouts(o)
		o.Events = func(e Event) {
			if e.Event == EventDelete {
				p.write("new", "mine")
			}
		}
	})
	if result.Behind != ReasonEdited || !slices.Contains(result.Kept, "new/x") || !has(p.at("new"), "mine") {
		t.Errorf("%+v", result)
	}
}
