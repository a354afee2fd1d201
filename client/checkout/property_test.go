package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/gittest"
)

// story is a random life of a branch and of a folder that follows it.
type story struct {
	*place
	random *rand.Rand
	files  map[string]gittest.File
	// edits are the locally changed paths, which no run may touch, with their contents.
	edits  tree
	counts map[string]int // of what happened
}

func TestRandomLives(t *testing.T) {
	t.Parallel()
	gittest.Long(t)
	counts := make(map[string]int)
	for seed := range gittest.Volume(3, 100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &story{place: newPlace(t), random: newRandom(seed), files: map[string]gittest.File{}, edits: tree{},
				counts: counts}
			for range gittest.Volume(14, 40) {
				s.chapter()
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Logf("%v", counts)
	for _, kind := range []string{"pushes", "killed", "cut", "edits", "kept", "forced", "deltas", "wholes", "rewritten",
		"mended"} {
		if counts[kind] == 0 {
			t.Errorf("nothing was %s", kind)
		}
	}
}

func newRandom(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 7)) }

// isTemporary tells the name of a file that is not complete.
func isTemporary(at string) bool { return strings.HasPrefix(path.Base(at), ".repomcp-tmp-") }

// chapter pushes, edits, breaks off some runs, and ends with one that must bring
// the folder in step.
func (s *story) chapter() {
	s.push()
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	for range s.random.IntN(3) {
		s.edit()
	}
	for range s.random.IntN(3) {
		s.breakOff()
		if s.random.IntN(3) == 0 {
			s.push()
		}
	}
	s.server.cut(0, 0)
	o := s.options()
	o.IntoExisting = true
	if s.random.IntN(8) == 0 {
		o.Verify = true
	}
	if s.random.IntN(8) == 0 {
		o.Force = true
		o.Verify = s.random.IntN(2) == 0 // which finds also what no push is about
		s.counts["forced"]++
	}
	if s.random.IntN(4) == 0 { // which the client has to mend by itself
		s.server.cut(1+s.random.IntN(2), s.random.IntN(200_000))
		s.counts["mended"]++
	}
	result, err := Sync(s.t.Context(), s.connect(), o)
	s.server.cut(0, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.counts["kept"] += result.KeptCount
	if result.Full {
		s.counts["wholes"]++
	} else if result.Bytes > 0 {
		s.counts["deltas"]++
	}
	s.judge(result, o)
}

// judge compares the folder with the archive of the head, but for what was edited:
// that is as it was, or as the head has it.
func (s *story) judge(result Result, o Options) {
	got, want := s.onDisk(), s.archived()
	kept := maps.Clone(s.edits)
	for at, content := range kept {
		switch {
		case got[at] == content && content != want[at]:
			if _, there := want[at]; there && o.Force && o.Verify {
				s.t.Errorf("%s is still edited", at)
			}
			want[at] = content
			for other := range want { // what is below of it, or is above it
				if strings.HasPrefix(other, at+"/") || strings.HasPrefix(at, other+"/") {
					delete(want, other)
				}
			}
		case got[at] == want[at] && (o.Force || content == want[at]):
			delete(s.edits, at)
		default:
			s.t.Errorf("the edit of %s is lost: %.30q, was %.30q", at, got[at], content)
		}
	}
	for at := range want { // a folder with nothing but an edit in it
		if want[at] == "dir" && got[at] != "dir" {
			delete(want, at)
		}
	}
	if diff := differences(got, want); len(diff) > 0 {
		s.t.Errorf("after %+v the folder has %q", result, diff)
	}
	left, _ := filepath.Glob(filepath.Join(s.dir, stateFolder, "*"))
	if len(left) != 1 || filepath.Base(left[0]) != stateName {
		s.t.Errorf("of the state there are %q", left)
	}
}

func (s *story) path() string {
	parts := make([]string, 1+s.random.IntN(3))
	for i := range parts {
		parts[i] = string("abcdé-. x"[s.random.IntN(4)]) + string("xyz"[s.random.IntN(3)])
	}
	return path.Join(parts...)
}

func (s *story) content() string {
	switch s.random.IntN(12) {
	case 0:
		return ""
	case 1:
		return gittest.Noise(1_500_000+s.random.IntN(3)) + fmt.Sprint(s.random.IntN(1000))
	case 2:
		return gittest.Noise(100_000 + s.random.IntN(100_000))
	default:
		return fmt.Sprint("content ", 1000+s.random.IntN(5000))
	}
}

// push changes the branch: by a commit on it, or by another history.
func (s *story) push() {
	for range 1 + s.random.IntN(6) {
		s.change()
	}
	if s.random.IntN(10) == 0 {
		s.repo.Git("update-ref", "-d", "refs/heads/main")
		if s.random.IntN(2) == 0 {
			s.repo.Git("reflog", "expire", "--expire=now", "--all")
			s.repo.Git("gc", "-q", "--prune=now")
		}
		s.counts["rewritten"]++
	}
	s.commit(slices.Collect(maps.Values(s.files))...)
	s.counts["pushes"]++
}

func (s *story) change() {
	at := s.path()
	if known := slices.Sorted(maps.Keys(s.files)); len(known) > 0 && s.random.IntN(2) == 0 {
		at = known[s.random.IntN(len(known))]
		if s.random.IntN(3) == 0 {
			delete(s.files, at)
			return
		}
	}
	for other := range s.files { // of another type
		if strings.HasPrefix(other, at+"/") || strings.HasPrefix(at, other+"/") {
			delete(s.files, other)
		}
	}
	switch s.random.IntN(8) {
	case 0:
		s.files[at] = gittest.Executable(at, s.content())
	case 1:
		s.files[at] = gittest.Symlink(at, "somewhere"+fmt.Sprint(s.random.IntN(9)))
	default:
		s.files[at] = gittest.Regular(at, s.content())
	}
}

// edit changes a file of the folder, or makes one.
func (s *story) edit() {
	at := s.path()
	if known := slices.Sorted(maps.Keys(s.onDisk())); len(known) > 0 && s.random.IntN(3) > 0 {
		at = known[s.random.IntN(len(known))]
	}
	full := filepath.Join(s.dir, at)
	if info, err := os.Lstat(full); err == nil && !info.Mode().IsRegular() {
		return
	}
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(s.dir, dir)); err == nil && !info.IsDir() {
			return
		}
	}
	content := fmt.Sprint("edited ", 1000+s.random.IntN(9000)) // as long as another content
	s.write(at, content)
	s.counts["edits"]++
	s.edits[at] = s.onDisk()[at]
}

// breakOff begins a run that is killed, or whose connections are cut for good.
func (s *story) breakOff() {
	if s.random.IntN(2) == 0 {
		s.kill()
		return
	}
	s.server.cut(1000, s.random.IntN(20_000))
	c, err := client.New(s.server.proxy+"/mcp", client.Options{Retries: -1})
	if err != nil {
		s.t.Fatal(err)
	}
	o := s.options()
	o.IntoExisting = true
	if _, err := Sync(s.t.Context(), c, o); err != nil {
		s.counts["cut"]++
	}
	s.server.cut(0, 0)
}

func (s *story) kill() {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(5+s.random.IntN(60))*time.Millisecond)
	defer cancel()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), childFolder+"="+s.dir, childServer+"="+s.server.proxy+"/mcp",
		childClone+"="+s.profile)
	out, err := child.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil || errors.Is(err, context.DeadlineExceeded):
	case ctx.Err() != nil && errors.As(err, &exit) && !exit.Exited():
		s.counts["killed"]++
	default:
		s.t.Fatalf("%v: %s", err, out)
	}
}
