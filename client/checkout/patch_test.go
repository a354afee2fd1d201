package checkout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client/unpack"
	"github.com/repomcp/repomcp/internal/gittest"
)

// noisy are files of one size, which no compression makes smaller.
func noisy(count, size int, change string) (files []gittest.File) {
	noise := gittest.Noise(count * size)
	for i := range count {
		content := noise[i*size:][:size]
		files = append(files, gittest.Regular(fmt.Sprintf("f%d", i), content[:size/2]+change+content[size/2:]))
	}
	return files
}

func TestAChangedLineDoesNotBringTheFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(noisy(3, 500_000, "")...)
	p.sync(nil)
	p.commit(append(noisy(3, 500_000, "")[:2], noisy(3, 500_000, "a line\n")[2], gittest.Executable("new", "x"))...)
	result := p.sync(nil)
	p.same(p.archived())
	if result.Full || result.Written != 2 || result.Bytes > 2000 {
		t.Errorf("%+v", result)
	}
}

// A file without the base of its patch is downloaded whole, and local changes stay.
func TestPatchesMeetOtherContents(t *testing.T) {
	t.Parallel()
	const size = 20_000
	p := newPlace(t)
	p.commit(noisy(9, size, "")...)
	p.sync(nil)
	time.Sleep(2 * fineTime) // the next state trusts change times, which a test cannot set
	p.commit(append(noisy(9, size, ""), gittest.Regular("other", "x"))...)
	p.sync(nil)
	wide := noisy(9, size, "wide\n")
	remove := func(path string) {
		t.Helper()
		if err := os.Remove(filepath.Join(p.dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	remove("f1")
	p.write("f2", "mine")
	p.write("f3", wide[3].Content) // as the head has it
	remove("f4")
	p.write("f4/mine", "in the way")
	remove("f5")
	if err := os.Mkdir(filepath.Join(p.dir, "f5"), 0o755); err != nil {
		t.Fatal(err)
	}
	remove("f6")
	if err := os.Symlink("f0", filepath.Join(p.dir, "f6")); err != nil {
		t.Fatal(err)
	}
	p.damage("f7")
	p.forgetChangeTimes()
	p.write("f8", gittest.Noise(size)) // mine, as long as it was
	p.commit(wide...)
	result := p.sync(nil)
	want := p.archived()
	delete(want, "f4")
	want["f2"], want["f4/mine"], want["f6"], want["f8"] = "file mine", "file in the way", "link f0", "file "+
		gittest.Noise(size)
	p.same(want)
	if result.KeptCount != 4 || result.Written != 4 || result.Bytes < 3*size || result.Bytes > 4*size {
		t.Errorf("%+v", result)
	}
	p.commit(noisy(9, size, "wider\n")...)
	forced := p.sync(func(o *Options) { o.Force = true })
	p.same(p.archived())
	if forced.KeptCount != 0 {
		t.Errorf("%+v", forced)
	}
}

// damage changes the content of a file, but not its size and time.
func (p *place) damage(path string) {
	p.t.Helper()
	at := filepath.Join(p.dir, path)
	info, err := os.Lstat(at)
	content, read := os.ReadFile(at)
	if err := errors.Join(err, read); err != nil {
		p.t.Fatal(err)
	}
	content[10]++
	p.write(path, string(content))
	if err := os.Chtimes(at, time.Time{}, info.ModTime()); err != nil {
		p.t.Fatal(err)
	}
}

// A server that has no patches refuses the option that it does not know.
func TestAnOlderServerHasNoPatches(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.server.replace("delta=patch", "older=patch")
	p.commit(noisy(2, 10_000, "")...)
	p.sync(nil)
	for _, change := range []string{"one\n", "two\n"} {
		p.commit(noisy(2, 10_000, change)...)
		result := p.sync(nil)
		p.same(p.archived())
		if result.Full || result.Written != 2 || result.Bytes < 20_000 {
			t.Errorf("%+v", result)
		}
	}
	p.server.replace("", "")
	p.commit(noisy(2, 10_000, "three\n")...)
	if result := p.sync(nil); result.Bytes > 2000 {
		t.Errorf("a newer one: %+v", result)
	}
	p.commit(noisy(2, 10_000, "four\n")...)
	if result := p.sync(func(o *Options) { o.Plain = true }); result.Bytes < 20_000 {
		t.Errorf("bytes do not count: %+v", result)
	}
	p.same(p.archived())
}

func TestPatchesOfARandomHistory(t *testing.T) {
	t.Parallel()
	p, r := newPlace(t), rand.New(rand.NewPCG(3, 3))
	texts := make([]string, 40)
	for i := range texts {
		texts[i] = gittest.Text(r, 10+r.IntN(600))
	}
	var whole, patched int64
	for step := range gittest.Volume(8, 60) {
		var files []gittest.File
		for i := range texts {
			switch {
			case step > 0 && r.IntN(3) == 0:
				texts[i] = gittest.Edit(r, texts[i], 1+r.IntN(3))
			case step > 0 && r.IntN(9) == 0:
				texts[i] = gittest.Text(r, 10+r.IntN(100))
			}
			if r.IntN(20) > 0 {
				files = append(files, gittest.Regular(fmt.Sprintf("d%d/%d.txt", i%5, i), texts[i]))
			}
		}
		p.commit(files...)
		result := p.sync(func(o *Options) { o.Profile = []string{ProfileFull, ProfileArchive}[step/4%2] })
		p.same(p.archived())
		if result.Full {
			whole += result.Bytes
		} else {
			patched += result.Bytes
		}
		if result.KeptCount != 0 {
			t.Errorf("step %d: %+v", step, result)
		}
	}
	if whole == 0 || patched == 0 {
		t.Errorf("%d bytes came whole, %d as differences", whole, patched)
	}
	t.Logf("%d bytes came whole, %d as differences", whole, patched)
}

func TestAPatchOfADamagedDownloadIsNotWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit(noisy(1, 10_000, "")...)
	p.sync(nil)
	f, err := open(p.options())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{folder: f, disk: newDisk(p.dir)}
	content, err := os.ReadFile(filepath.Join(p.dir, "f0"))
	if err != nil {
		t.Fatal(err)
	}
	m := unpack.Member{Path: "f0", Size: 5, Patch: &unpack.Patch{Base: unpack.IDOf(content), Size: 7}}
	if _, err := r.patched(m, strings.NewReader("wrong")); !errors.Is(err, unpack.ErrPatch) {
		t.Error(err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}
