package checkout

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

// localStates are what a user may have made of the files of [previewBase].
func localStates() map[string]func(dir string) error {
	at := func(dir, path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
	write := func(path, content string) func(string) error {
		return func(dir string) error {
			err := os.MkdirAll(filepath.Dir(at(dir, path)), 0o755)
			return errors.Join(err, os.WriteFile(at(dir, path), []byte(content), 0o644))
		}
	}
	remove := func(path string) func(string) error {
		return func(dir string) error { return os.RemoveAll(at(dir, path)) }
	}
	folder := func(path string) func(string) error {
		return func(dir string) error { return os.MkdirAll(at(dir, path), 0o755) }
	}
	link := func(path, target string) func(string) error {
		return func(dir string) error { return os.Symlink(target, at(dir, path)) }
	}
	all := func(steps ...func(string) error) func(string) error {
		return func(dir string) error {
			for _, step := range steps {
				if err := step(dir); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return map[string]func(dir string) error{
		"untouched":                    func(string) error { return nil },
		"f is edited":                  write("f", "mine"),
		"f is as the head has it":      write("f", "2"),
		"f is removed":                 remove("f"),
		"f is a folder":                all(remove("f"), write("f/x", "mine")),
		"f is an empty folder":         all(remove("f"), folder("f")),
		"f is a link":                  all(remove("f"), link("f", "d/a")),
		"f is executable":              func(dir string) error { return os.Chmod(at(dir, "f"), 0o755) },
		"f is touched":                 func(dir string) error { return os.Chtimes(at(dir, "f"), time.Time{}, time.Now()) },
		"d/a is edited":                write("d/a", "mine"),
		"d/a is removed":               remove("d/a"),
		"d/a is a folder":              all(remove("d/a"), write("d/a/x", "mine")),
		"d is removed":                 remove("d"),
		"d is a file":                  all(remove("d"), write("d", "mine")),
		"d is a link":                  all(remove("d"), link("d", "e")),
		"d is empty":                   all(remove("d"), folder("d")),
		"d has a file":                 write("d/mine", "mine"),
		"d has an empty folder":        folder("d/mine"),
		"d has a deep folder":          write("d/e/mine/deep", "mine"),
		"d/e is empty":                 all(remove("d/e"), folder("d/e")),
		"l leads elsewhere":            all(remove("l"), link("l", "d/b")),
		"l is a file":                  all(remove("l"), write("l", "mine")),
		"l is a folder":                all(remove("l"), write("l/x", "mine")),
		"n is there":                   write("n", "mine"),
		"n is there as in the head":    write("n", "new"),
		"n is a folder":                write("n/mine", "mine"),
		"n is an empty folder":         folder("n"),
		"n is a folder of folders":     folder("n/mine/deep"),
		"n is a repository":            write("n/.git/HEAD", "ref: refs/heads/main\n"),
		"n is a link":                  link("n", "f"),
		"all of it":                    all(write("f", "mine"), remove("d/b"), write("d/a", "mine"), write("n", "mine"), write("d/mine", "x")),
		"d/a and f are edited, d/b is": all(write("d/a", "2"), write("d/b", "mine"), remove("f")),
	}
}

var previewBase = map[string]gittest.File{
	"f": gittest.Regular("f", "1"), "d/a": gittest.Regular("d/a", "1"), "d/b": gittest.Regular("d/b", "1"),
	"d/e/f": gittest.Regular("d/e/f", "1"), "l": gittest.Symlink("l", "f"), "z": gittest.Regular("z", "1"),
}

// remoteChanges are trees that the branch may go on to.
func remoteChanges() map[string][]gittest.File {
	but := func(without string, files ...gittest.File) []gittest.File {
		kept := maps.Clone(previewBase)
		for path := range kept {
			if path == without || strings.HasPrefix(path, without+"/") {
				delete(kept, path)
			}
		}
		for _, f := range files {
			kept[f.Path] = f
		}
		return slices.Collect(maps.Values(kept))
	}
	return map[string][]gittest.File{
		"nothing":                      but(""),
		"f is modified":                but("", gittest.Regular("f", "2")),
		"f is executable":              but("", gittest.Executable("f", "1")),
		"f is deleted":                 but("f"),
		"f is a folder":                but("f", gittest.Regular("f/x", "2"), gittest.Regular("f/y/z", "2")),
		"f is a link":                  but("", gittest.Symlink("f", "z")),
		"f leads outside":              but("", gittest.Symlink("f", "/x")),
		"d/a is modified":              but("", gittest.Regular("d/a", "2")),
		"d/a is a folder":              but("d/a", gittest.Regular("d/a/x", "2")),
		"d/a is deleted":               but("d/a"),
		"d is deleted":                 but("d"),
		"d is a file":                  but("d", gittest.Regular("d", "2")),
		"d is a link":                  but("d", gittest.Symlink("d", "f")),
		"d leads outside":              but("d", gittest.Symlink("d", "/x")),
		"d/e is a file":                but("d/e", gittest.Regular("d/e", "2")),
		"l leads elsewhere":            but("", gittest.Symlink("l", "z")),
		"l is a file":                  but("", gittest.Regular("l", "2")),
		"l is a folder":                but("l", gittest.Regular("l/x", "2")),
		"n is new":                     but("", gittest.Regular("n", "new")),
		"n is a new folder":            but("", gittest.Regular("n/x", "new")),
		"n is a new link":              but("", gittest.Symlink("n", "z")),
		"f, d and n change their kind": but("f", gittest.Regular("f/x", "2"), gittest.Regular("n", "new"), gittest.Regular("z", "2")),
	}
}

// told are the events of a run that say what happens to files.
func (p *place) told(change func(*Options)) (events []string, result Result) {
	p.t.Helper()
	result = p.sync(func(o *Options) {
		change(o)
		o.Events = func(e Event) {
			switch e.Event {
			case EventWrite, EventDelete, EventKeep, EventSkipped:
				events = append(events, fmt.Sprint(e.Event, " ", e.Path, " ", e.Reason))
			}
		}
	})
	slices.Sort(events)
	slices.Sort(result.Kept)
	slices.Sort(result.Skipped)
	result.Bytes = 0 // a dry run asks for no patches
	return events, result
}

// TestDryRunsTellWhatRunsDo compares both over all local states and changes of the
// branch, with and without force, and looks that nothing is touched.
func TestDryRunsTellWhatRunsDo(t *testing.T) {
	gittest.Long(t)
	p := newPlace(t)
	p.commit(slices.Collect(maps.Values(previewBase))...)
	p.sync(nil)
	for name, files := range remoteChanges() {
		p.repo.Commit(strings.ReplaceAll(name, " ", "-"), files...)
	}
	template := p.dir
	ways := map[string]func(*Options){
		"":         func(*Options) {},
		"force":    func(o *Options) { o.Force = true },
		"verify":   func(o *Options) { o.Verify = true },
		"whole":    func(o *Options) { o.Exclude = []string{":(glob)none"} },
		"one path": func(o *Options) { o.Theirs = []string{"d"} },
		"both":     func(o *Options) { o.Verify, o.Force = true, true },
		"forced whole": func(o *Options) {
			o.Force, o.Exclude = true, []string{":(glob)none"}
		},
	}
	var compared atomic.Int64
	t.Run("all", func(t *testing.T) {
		for state, make := range localStates() {
			t.Run(state, func(t *testing.T) {
				t.Parallel()
				number := 0
				for change := range remoteChanges() {
					for way, set := range ways {
						if number++; number%gittest.Volume(15, 1) != 0 {
							continue
						}
						one := &place{t: t, repo: p.repo, server: p.server, client: p.client, dir: filepath.Join(t.TempDir(), "in")}
						if out, err := exec.Command("cp", "-a", template, one.dir).CombinedOutput(); err != nil {
							t.Fatalf("%v: %s", err, out)
						}
						if err := make(one.dir); err != nil {
							t.Fatal(err)
						}
						one.compareDryRun(fmt.Sprintf("%s; %s; %s", state, change, way), func(o *Options) {
							o.Ref, o.Plain = strings.ReplaceAll(change, " ", "-"), number%2 == 0
							set(o)
						})
						compared.Add(1)
					}
				}
			})
		}
	})
	each := len(remoteChanges())*len(ways)/gittest.Volume(15, 1) - 1
	if least := int64(len(localStates()) * each); compared.Load() < least {
		t.Errorf("%d cases were compared, of %d", compared.Load(), least)
	}
	t.Logf("%d cases", compared.Load())
}

// compareDryRun makes a dry run and a run, and another of each.
func (p *place) compareDryRun(what string, set func(*Options)) {
	p.t.Helper()
	for _, again := range []string{"", ", again"} {
		before := p.onDisk()
		dry, dryResult := p.told(func(o *Options) { set(o); o.DryRun = true })
		if diff := differences(p.onDisk(), before); len(diff) > 0 {
			p.t.Errorf("%s%s: the dry run has changed %q", what, again, diff)
		}
		run, result := p.told(set)
		if !slices.Equal(dry, run) || fmt.Sprint(dryResult) != fmt.Sprint(result) {
			p.t.Errorf("%s%s:\nthe dry run tells %q, %+v\nthe run tells     %q, %+v", what, again, dry, dryResult, run, result)
		}
	}
}

// TestForceRepairsWhatWasKept, also by a run before that has stopped following it.
func TestForceRepairsWhatWasKept(t *testing.T) {
	t.Parallel()
	for name, force := range map[string]func(*Options){
		"force":  func(o *Options) { o.Force = true },
		"theirs": func(o *Options) { o.Theirs = []string{"dir", "f", "n"} },
		"both":   func(o *Options) { o.Force, o.Verify = true, true },
	} {
		p := newPlace(t)
		p.commit(gittest.Regular("dir/a", "1"), gittest.Regular("dir/b", "1"), gittest.Regular("f", "1"))
		p.sync(nil)
		p.write("dir/a", "mine")
		p.write("f", "mine")
		p.write("n/mine", "mine")
		p.commit(gittest.Regular("dir", "now a file"), gittest.Regular("f/x", "2"), gittest.Regular("n", "new"))
		for range 2 {
			if kept := p.sync(nil); kept.KeptCount < 3 {
				t.Errorf("%s: %+v", name, kept)
			}
		}
		if forced := p.sync(force); forced.KeptCount != 0 {
			t.Errorf("%s: %+v", name, forced)
		}
		p.same(p.archived())
		if again := p.sync(func(o *Options) { o.Verify = true }); again.KeptCount != 0 || again.Written != 0 {
			t.Errorf("%s: and then %+v", name, again)
		}
	}
}

// TestARepositoryInTheWayStays, whatever is forced.
func TestARepositoryInTheWayStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(gittest.Regular("a", "1"))
	p.sync(nil)
	p.write("n/.git/HEAD", "ref: refs/heads/main\n")
	p.commit(gittest.Regular("a", "1"), gittest.Regular("n", "new"))
	for range 2 {
		if forced := p.sync(func(o *Options) { o.Force = true }); !slices.Equal(forced.Kept, []string{"n"}) {
			t.Errorf("%+v", forced)
		}
	}
	if !has(filepath.Join(p.dir, "n/.git/HEAD"), "ref: refs/heads/main\n") {
		t.Error("it is gone")
	}
}
