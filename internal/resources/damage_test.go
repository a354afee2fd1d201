package resources

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
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
	random *rand.Rand
	whole  map[string][]byte // by URI, from the sound mirror
}

// damagedURIs name large files, of which one is a delta, small ones, and archives of all of them.
var damagedURIs = []string{
	"repo://m/contents/noise.bin", "repo://m/contents/grown.bin", "repo://m/contents/half.txt",
	"repo://m/contents/z/small.txt", "repo://m/archive/main.tar", "repo://m/archive/main.tar?prefix=p/",
	"repo://m/archive/main.tar.gz", "repo://m/archive/main.tar.zst", "repo://m/archive/main.zip",
}

func newDamagedMirrors(t *testing.T) *damagedMirrors {
	t.Helper()
	root := t.TempDir()
	d := &damagedMirrors{sound: gittest.At(t, filepath.Join(root, "m.git")),
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
	d.sound.Commit("main", files(noise[3<<20:4<<20]+"more", 2)...)
	d.sound.Git("repack", "-adfq", "--depth=10", "--window=10")
	s := newService(t, root, Options{})
	for _, uri := range damagedURIs {
		d.whole[uri] = contentOf(t, mustFind(t, s, uri))
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

// writable returns the only file of a pattern, after it was made writable.
func writable(t *testing.T, repo *gittest.Repo, pattern string) string {
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
				flip(t, writable(t, repo, "objects/pack/*.pack"), min(at, size-21), bit)
			}})
	}
	blobs := d.blobs()
	for path, at := range d.offsets(t) {
		bit := bit()
		all = append(all, damage{fmt.Sprintf("bit %d of the header of %s", bit, path),
			func(t *testing.T, repo *gittest.Repo) {
				flip(t, writable(t, repo, "objects/pack/*.pack"), at, bit)
			}})
		all = append(all, damage{fmt.Sprintf("a bit of the length of %s", path),
			func(t *testing.T, repo *gittest.Repo) {
				flip(t, writable(t, repo, "objects/pack/*.pack"), at+1, 1)
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
				pack := writable(t, repo, "objects/pack/*.pack")
				content, err := os.ReadFile(pack)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{pack, writable(t, repo, "objects/pack/*.idx")} {
					if err := os.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
				repo.GitInput(content, "unpack-objects", "-q")
				loose := writable(t, repo, filepath.Join("objects", id[:2], id[2:]))
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
	content, err := os.ReadFile(writable(t, d.sound, "objects/pack/*.pack"))
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
	for line := range strings.Lines(d.sound.Git("verify-pack", "-v", writable(t, d.sound, "objects/pack/*.idx"))) {
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
type outcomes struct{ right, refused, broken, wrong int }

// download asks for a part, or for the whole, and compares what comes with what is wanted.
func (o *outcomes) download(
	t *testing.T, s *Service, what, uri string, part *Range, want []byte,
) (got []byte, etag string) {
	t.Helper()
	found, err := s.Find(t.Context(), uri)
	if err != nil {
		o.refused++
		return nil, ""
	}
	defer func() {
		if err := found.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out bytes.Buffer
	body, err := write(t, found, Want{Range: part}, &out)
	switch got = out.Bytes(); {
	case body == nil:
		o.refused++
		return nil, ""
	case !bytes.HasPrefix(want, got) || part != nil && (body.Offset != part.First || body.Length != int64(len(want))):
		o.wrong++
		t.Errorf("%s: %s: %d bytes that are others, %v", what, uri, len(got), err)
	case err != nil:
		o.broken++ // after right bytes, after which a client can go on
	case len(got) != len(want):
		o.wrong++
		t.Errorf("%s: %s: a clean end after %d of %d bytes", what, uri, len(got), len(want))
	default:
		o.right++
		return nil, ""
	}
	return got, found.ETag
}

// chosen reports whether this mirror gets the i-th of n requests that are alike: it gets one of them, in turn, so
// that damages of each kind meet all. A soak makes them all.
func chosen(mirror, i, n int) bool { return mirror%gittest.Volume(n, 1) == i%gittest.Volume(n, 1) }

// attack asks for parts before and after the whole, and for the rest of broken downloads once the mirror is mended.
// Packed archives and parts take turns.
func (d *damagedMirrors) attack(t *testing.T, o *outcomes, number int, damage damage) {
	t.Helper()
	repo := d.copy(t)
	damage.do(t, repo)
	s := newService(t, filepath.Dir(repo.Dir), Options{})
	begun, tags := make(map[string][]byte), make(map[string]string)
	for i, uri := range damagedURIs {
		if strings.Contains(uri, "/archive/") && !chosen(number, i, 2) {
			continue
		}
		whole := d.whole[uri]
		n := len(whole)
		part := func(turn, first, last int) {
			if chosen(number/2+i, turn, 2) {
				o.download(t, s, damage.name, uri, newRange(int64(first), int64(last-first+1)), whole[first:last+1])
			}
		}
		part(0, 0, n/3)
		part(1, n/2, n/2+10)
		if got, etag := o.download(t, s, damage.name, uri, nil, whole); len(got) > 0 {
			begun[uri], tags[uri] = got, etag
		}
		at := d.random.IntN(n)
		part(0, at, min(at+100_000, n-1))
		part(1, n-1, n-1)
	}
	if err := errors.Join(os.RemoveAll(repo.Dir), gittest.LinkTree(d.sound.Dir, repo.Dir)); err != nil {
		t.Fatal(err)
	}
	for uri, got := range begun {
		found := mustFind(t, s, uri)
		rest, err := bytesOf(t, found, Want{Range: newRange(int64(len(got)), -1)})
		if err != nil || found.ETag != tags[uri] || !bytes.Equal(append(got, rest...), d.whole[uri]) {
			o.wrong++
			t.Errorf("%s: %s broke after %d bytes, and goes on with %d others, %v", damage.name, uri, len(got), len(rest), err)
			continue
		}
		o.right++
	}
}

// A bit that flipped, or an index that is wrong with a right checksum, never gives wrong bytes, neither in parts nor
// in the whole. All bytes before a break are right.
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
	if o.right < 6*len(damages) || o.refused < 2*len(damages) || o.broken == 0 {
		t.Errorf("too few cases of a kind: %d mirrors, %+v", len(damages), o)
	}
}

// The memory that a file was compared with its id does not outlast a change of the mirror under the running server,
// which leaves no trace in its times.
func TestRangesOfAFileThatIsDamagedAfterwards(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	d := newDamagedMirrors(t)
	repo := d.copy(t)
	s := newService(t, filepath.Dir(repo.Dir), Options{})
	const uri = "repo://m/contents/noise.bin"
	want := d.whole[uri][2_000_000:3_000_000]
	part := func() ([]byte, error) {
		return bytesOf(t, mustFind(t, s, uri), Want{Range: newRange(2_000_000, 1_000_000)})
	}
	if got, err := part(); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the sound mirror: %d bytes, %v", len(got), err)
	}
	pack := writable(t, repo, "objects/pack/*.pack")
	info, err := os.Stat(pack)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(pack, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = out.WriteAt(binary.BigEndian.AppendUint64(nil, 0x0123456789abcdef), int64(d.offsets(t)["noise.bin"]+2_500_000))
	if err := errors.Join(err, out.Close(), os.Chtimes(pack, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if got, err := part(); err == nil || !bytes.HasPrefix(want, got) {
		t.Errorf("after the damage: %d bytes, %v, want a break after right ones", len(got), err)
	}
}
