package tar

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
)

// headed is what a header says, and what it is to be read as.
type headed struct {
	path, link string
	size       int64
}

// checkHeader compares what Go's reader makes of a header with what went in, and
// its length with the computed one.
func checkHeader(t *testing.T, format Format, want headed) {
	t.Helper()
	e := Member{Path: []byte(want.path), Mode: git.ModeRegular}
	if want.link != "" {
		e.Mode = git.ModeSymlink
	}
	raw := format.Header(nil, e, want.size, []byte(want.link))
	if computed := HeaderLength(e.Path, want.size, len(want.link)); computed != int64(len(raw)) {
		t.Errorf("path of %d, link of %d, size %d: computed %d bytes, written %d", len(want.path), len(want.link),
			want.size, computed, len(raw))
	}
	h, err := tar.NewReader(bytes.NewReader(raw)).Next()
	if err != nil || h.Name != want.path || h.Linkname != want.link || h.Size != want.size {
		t.Errorf("path of %d, link of %d, size %d: %v", len(want.path), len(want.link), want.size, err)
	}
}

// TestHeadersOfEveryLengthAreRead goes over every length of a path and of a link
// up to where a record's length has five digits for long, over that where it gets
// six, and over the numbers around what octal digits hold.
func TestHeadersOfEveryLengthAreRead(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	const most, six = 12_000, 100_000
	format := Format{MTime: 1}
	checked := 0
	check := func(h headed) {
		checkHeader(t, format, h)
		checked++
	}
	long := strings.Repeat("0123456789abcde/", six/16+1)
	for length := 1; length <= most; length++ {
		check(headed{path: long[len(long)-length-1 : len(long)-1]})
		check(headed{path: "l", link: long[:length]})
	}
	for length := six - 200; length <= six; length++ {
		check(headed{path: long[:length-1] + "x"})
		check(headed{path: long[:length-1] + "x", link: long[:length]})
	}
	for size := int64(maxUstarSize - 2); size <= maxUstarSize+2; size++ {
		check(headed{path: "s", size: size})
		check(headed{path: long[:997] + "x", size: size})
	}
	if want := 2*most + 2*201 + 2*5; checked != want {
		t.Errorf("checked %d headers, want %d", checked, want)
	}
	for mtime := uint64(maxUstarTime - 1); mtime <= maxUstarTime+1; mtime++ {
		format.MTime = mtime
		raw := append(format.GlobalHeader(nil, git.ID{}),
			format.Header(nil, Member{Path: []byte("a"), Mode: git.ModeRegular}, 0, nil)...)
		tr := tar.NewReader(bytes.NewReader(raw))
		h, err := tr.Next()
		if err != nil || (h.PAXRecords["mtime"] != "") != (mtime > maxUstarTime) {
			t.Errorf("time %d: %+v, %v", mtime, h, err)
		}
		if h, err := tr.Next(); err != nil || h.ModTime.Unix() != int64(min(mtime, maxUstarTime)) {
			t.Errorf("time %d: %+v, %v", mtime, h, err)
		}
	}
}

// TestPathsAreSplitAtEverySlash has one slash at every place of paths around what
// the two fields of a header hold, and a folder's final slash.
func TestPathsAreSplitAtEverySlash(t *testing.T) {
	t.Parallel()
	split, pax := 0, 0
	for length := nameLen - 1; length <= prefixLen+nameLen+3; length++ {
		for slash := 1; slash < length-1; slash++ {
			path := strings.Repeat("p", slash) + "/" + strings.Repeat("n", length-slash-1)
			checkHeader(t, Format{}, headed{path: path})
			if HeaderLength([]byte(path), 0, 0) == RecordSize {
				split++
			} else {
				pax++
			}
		}
	}
	if split < 10_000 || pax < 10_000 {
		t.Errorf("%d paths were split and %d not", split, pax)
	}
}

// TestLengthOfAnyEntriesIsWhatIsWritten draws entries, half of them with lengths
// around which a number gets another digit, and adds up.
func TestLengthOfAnyEntriesIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	boundaries := []int{nameLen, prefixLen, 256, 512, 990, 986, 1000, 9_989, 9_985, 10_000, 99_988}
	length := func() int {
		if random.IntN(2) == 0 {
			return 1 + random.IntN(12_000)
		}
		return boundaries[random.IntN(len(boundaries))] + random.IntN(7) - 3
	}
	for archive := range 50 {
		format := Format{MTime: 1}
		var out []byte
		computed := int64(0)
		var want []headed
		for range 40 {
			h := headed{path: strings.Repeat("p", length())}
			content := ""
			mode := git.ModeRegular
			if random.IntN(2) == 0 {
				mode, h.link = git.ModeSymlink, strings.Repeat("t", length())
			} else {
				content = strings.Repeat("c", length())
				h.size = int64(len(content))
			}
			out = format.Header(out, Member{Path: []byte(h.path), Mode: mode}, h.size, []byte(h.link))
			out = Pad(append(out, content...), int64(len(content)))
			computed += HeaderLength([]byte(h.path), h.size, len(h.link)) + PaddedLength(h.size)
			want = append(want, h)
		}
		if computed != int64(len(out)) {
			t.Errorf("archive %d: computed %d bytes, written %d", archive, computed, len(out))
		}
		end := Trailer(computed)
		if total := computed + int64(len(end)); total%blockSize != 0 || len(end) < 2*RecordSize ||
			len(end) >= blockSize+2*RecordSize {
			t.Errorf("archive %d: a trailer of %d after %d bytes", archive, len(end), computed)
		}
		tr := tar.NewReader(bytes.NewReader(append(out, end...)))
		for _, w := range want {
			h, err := tr.Next()
			if err != nil || h.Name != w.path || h.Linkname != w.link || h.Size != w.size {
				t.Fatalf("archive %d: %v", archive, err)
			}
		}
		if _, err := tr.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("archive %d: after the last entry: %v", archive, err)
		}
	}
}
