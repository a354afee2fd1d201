package httpx_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

// damagedMirrors makes copies of one mirror and damages each in one place.
type damagedMirrors struct {
	sound  *gittest.Repo
	commit string
	random *rand.Rand
	whole  map[string][]byte // by path, from the sound mirror
}

// The routes: files that flow because they are large, of which one is a delta,
// one that is held, and archives with all of them.
var rangedRoutes = []string{
	"/raw/m/main/noise.bin", "/raw/m/main/grown.bin", "/raw/m/main/half.txt", "/raw/m/main/z/small.txt",
	"/archive/m/main.tar", "/archive/m/main.tar?prefix=p/", "/archive/m/main.tar.gz", "/archive/m/main.tar.zst",
	"/archive/m/main.zip",
}

func newDamagedMirrors(t *testing.T) *damagedMirrors {
	t.Helper()
	d := &damagedMirrors{sound: gittest.At(t, filepath.Join(t.TempDir(), "m.git")),
		random: rand.New(rand.NewPCG(4, 11)), whole: make(map[string][]byte)}
	noise := gittest.Noise(6 << 20)
	files := func(grown string, round int) []gittest.File {
		return []gittest.File{
			gittest.Regular("a/first.txt", strings.Repeat("first\n", 100)), gittest.Regular("grown.bin", grown),
			gittest.Regular("half.txt", gittest.Text(rand.New(rand.NewPCG(1, 2)), 20_000)),
			gittest.Regular("noise.bin", noise[:9<<19]), gittest.Regular("z/other.txt", noise[1000:3000]),
			gittest.Regular("z/small.txt", fmt.Sprint(round, noise[:2000])),
		}
	}
	d.sound.Commit("main", files(noise[3<<20:4<<20], 1)...)
	d.commit = d.sound.Commit("main", files(noise[3<<20:4<<20]+"more", 2)...)
	d.sound.Git("repack", "-adfq", "--depth=10", "--window=10")
	s := &target{root: filepath.Dir(d.sound.Dir)}
	s.serve(t, targetOptions{})
	for _, path := range rangedRoutes {
		a := s.get(t, path)
		if a.status != http.StatusOK || a.err != nil {
			t.Fatal(path, a)
		}
		d.whole[path] = a.body
	}
	return d
}

// copy makes a mirror of its own for a damage.
func (d *damagedMirrors) copy(t *testing.T) *gittest.Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m.git")
	if err := os.CopyFS(dir, os.DirFS(d.sound.Dir)); err != nil {
		t.Fatal(err)
	}
	return gittest.Existing(t, dir)
}

// file is the only one of a pattern, which may be written.
func file(t *testing.T, repo *gittest.Repo, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(repo.Dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatal("no ", pattern)
	}
	if err := os.Chmod(names[0], 0o600); err != nil {
		t.Fatal(err)
	}
	return names[0]
}

func flip(t *testing.T, name string, at int, bit byte) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= bit
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// damage is one way to damage a copy.
type damage struct {
	name string
	do   func(t *testing.T, repo *gittest.Repo)
}

// damages are flipped bits all over the pack, in the headers of its objects, and
// in loose objects, and indexes that are wrong with a right checksum.
func (d *damagedMirrors) damages(t *testing.T) []damage {
	t.Helper()
	var all []damage
	size := len(d.pack(t))
	bit := func() byte { return 1 << d.random.IntN(8) }
	for i := range gittest.Volume(8, 80) {
		at, bit := 12+(size-32)*i/gittest.Volume(8, 80)+d.random.IntN(1000), bit()
		all = append(all, damage{fmt.Sprintf("bit %d of %d of the pack", bit, at),
			func(t *testing.T, repo *gittest.Repo) {
				flip(t, file(t, repo, "objects/pack/*.pack"), min(at, size-21), bit)
			}})
	}
	blobs := d.blobs()
	for path, at := range d.offsets(t) {
		bit := bit()
		all = append(all, damage{fmt.Sprintf("bit %d of the header of %s", bit, path),
			func(t *testing.T, repo *gittest.Repo) {
				flip(t, file(t, repo, "objects/pack/*.pack"), at, bit)
			}})
		all = append(all, damage{fmt.Sprintf("a bit of the length of %s", path),
			func(t *testing.T, repo *gittest.Repo) {
				flip(t, file(t, repo, "objects/pack/*.pack"), at+1, 1)
			}})
	}
	for _, pair := range [][2]string{{"a/first.txt", "z/small.txt"}, {"noise.bin", "half.txt"},
		{"z/other.txt", "z/small.txt"}, {"grown.bin", "noise.bin"}, {"a/first.txt", "half.txt"}} {
		all = append(all,
			damage{fmt.Sprint("swapped ", pair),
				func(_ *testing.T, repo *gittest.Repo) { repo.SwapOffsets(blobs[pair[0]], blobs[pair[1]]) }})
	}
	for path, id := range blobs {
		share, bit := d.random.Float64(), bit()
		all = append(all, damage{fmt.Sprintf("bit %d of loose %s at %.2f", bit, path, share),
			func(t *testing.T, repo *gittest.Repo) {
				pack := file(t, repo, "objects/pack/*.pack")
				content, err := os.ReadFile(pack)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{pack, file(t, repo, "objects/pack/*.idx")} {
					if err := os.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
				repo.GitInput(content, "unpack-objects", "-q")
				loose := file(t, repo, filepath.Join("objects", id[:2], id[2:]))
				info, err := os.Stat(loose)
				if err != nil {
					t.Fatal(err)
				}
				flip(t, loose, int(float64(info.Size())*share), bit)
			}})
	}
	return all
}

func (d *damagedMirrors) pack(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(file(t, d.sound, "objects/pack/*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// blobs are the ids of the files.
func (d *damagedMirrors) blobs() map[string]string {
	ids := make(map[string]string)
	for line := range strings.Lines(d.sound.Git("ls-tree", "-r", "main") + "\n") {
		facts, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if words := strings.Fields(facts); len(words) == 3 {
			ids[path] = words[2]
		}
	}
	return ids
}

// offsets are where the files' entries begin in the pack.
func (d *damagedMirrors) offsets(t *testing.T) map[string]int {
	t.Helper()
	names := make(map[string]string)
	for path, id := range d.blobs() {
		names[id] = path
	}
	found := make(map[string]int)
	for line := range strings.Lines(d.sound.Git("verify-pack", "-v", file(t, d.sound, "objects/pack/*.idx"))) {
		words := strings.Fields(line)
		if path := names[words[0]]; path != "" {
			at, err := strconv.Atoi(words[4])
			if err != nil {
				t.Fatal(err)
			}
			found[path] = at
		}
	}
	return found
}

// outcomes count what became of requests.
type outcomes struct{ right, refused, aborted, wrong int }

// judge holds an answer against what it should be.
func (o *outcomes) judge(t *testing.T, what string, a answer, status int, span string, want []byte) {
	t.Helper()
	switch {
	case a.status >= 400:
		o.refused++
	case !bytes.HasPrefix(want, a.body) || a.status != status || a.header.Get("Content-Range") != span:
		o.wrong++
		t.Errorf("%s: %d, range %q, %d bytes that are others, %v", what, a.status, a.header.Get("Content-Range"),
			len(a.body), a.err)
	case a.err != nil:
		o.aborted++ // after right bytes, which may be gone on from
	case len(a.body) != len(want):
		o.wrong++
		t.Errorf("%s: a clean end after %d of %d bytes", what, len(a.body), len(want))
	default:
		o.right++
	}
}

// chosen says whether this mirror gets the i-th of n requests that are alike: one
// of them, by turns, so that damages of each kind meet all. A soak makes them all.
func chosen(mirror, i, n int) bool { return mirror%gittest.Volume(n, 1) == i%gittest.Volume(n, 1) }

// attack asks for parts before and after the whole, and for the rest of what was
// aborted once the mirror is mended. Packed archives and parts take turns.
func (d *damagedMirrors) attack(t *testing.T, o *outcomes, number int, damage damage) {
	t.Helper()
	repo := d.copy(t)
	damage.do(t, repo)
	s := &target{root: filepath.Dir(repo.Dir)}
	s.serve(t, targetOptions{})
	begun := make(map[string]answer)
	for i, path := range rangedRoutes {
		if strings.HasPrefix(path, "/archive/") && !chosen(number, i, 2) {
			continue
		}
		whole := d.whole[path]
		n := len(whole)
		part := func(turn, first, last int) {
			if !chosen(number/2+i, turn, 2) {
				return
			}
			span := fmt.Sprintf("bytes %d-%d/%d", first, last, n)
			o.judge(t, damage.name+": "+span+" of "+path,
				s.get(t, path, fmt.Sprintf("Range: bytes=%d-%d", first,
					last)), http.StatusPartialContent, span, whole[first:last+1])
		}
		part(0, 0, n/3)
		part(1, n/2, n/2+10)
		begun[path] = s.get(t, path)
		o.judge(t, damage.name+": the whole of "+path, begun[path], http.StatusOK, "", whole)
		at := d.random.IntN(n)
		part(0, at, min(at+100_000, n-1))
		part(1, n-1, n-1)
	}
	if err := errors.Join(os.RemoveAll(repo.Dir), gittest.LinkTree(d.sound.Dir, repo.Dir)); err != nil {
		t.Fatal(err)
	}
	for path, a := range begun {
		if a.err == nil || len(a.body) == 0 {
			continue
		}
		rest := s.get(t, path, fmt.Sprintf("Range: bytes=%d-", len(a.body)), "If-Range: "+a.header.Get("Etag"))
		if rest.err != nil || rest.status != http.StatusPartialContent || !bytes.Equal(append(a.body, rest.body...),
			d.whole[path]) {
			o.wrong++
			t.Errorf("%s: %s was aborted after %d bytes, and goes on with %d and %d others, %v", damage.name, path,
				len(a.body), rest.status, len(rest.body), rest.err)
			continue
		}
		o.right++
	}
}

// A bit that flipped, or an index that is wrong with a right checksum, never
// gives wrong bytes, in parts as little as in the whole; and what came before a
// connection broke is right.
func TestDamagedMirrorsGiveNoWrongByte(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	d := newDamagedMirrors(t)
	var o outcomes
	damages := d.damages(t)
	for number, damage := range damages {
		d.attack(t, &o, number, damage)
	}
	t.Logf("%d damaged mirrors: %+v", len(damages), o)
	if o.right < 6*len(damages) || o.refused < 2*len(damages) || o.aborted == 0 {
		t.Errorf("too few cases of a kind: %d mirrors, %+v", len(damages), o)
	}
}

// A proof that a file was compared with its id does not outlast a change of the
// mirror under the running server, without a trace in its times.
func TestRangesOfAFileThatIsDamagedAfterwards(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	d := newDamagedMirrors(t)
	repo := d.copy(t)
	s := &target{root: filepath.Dir(repo.Dir)}
	s.serve(t, targetOptions{})
	const path = "/raw/m/main/noise.bin"
	whole := d.whole[path]
	part := func() answer { return s.get(t, path, "Range: bytes=2000000-2999999") }
	if a := part(); a.err != nil || !bytes.Equal(a.body, whole[2000000:3000000]) {
		t.Fatal("the sound mirror: ", a)
	}
	pack := file(t, repo, "objects/pack/*.pack")
	info, err := os.Stat(pack)
	if err != nil {
		t.Fatal(err)
	}
	at := d.offsets(t)["noise.bin"] + 2_500_000
	content := d.pack(t)
	binary.BigEndian.PutUint64(content[at:], 0x0123456789abcdef)
	out, err := os.OpenFile(pack, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteAt(content[at:at+8], int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(pack, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if a := part(); a.status != http.StatusPartialContent || a.err == nil || !bytes.HasPrefix(whole[2000000:], a.body) {
		t.Errorf("after the damage: %d, %d bytes, %v", a.status, len(a.body), a.err)
	}
}
