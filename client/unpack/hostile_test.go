package unpack

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// hostile archives are refused. What is completed before, has.
type hostile struct {
	name    string
	archive func(t testing.TB) []byte
	reason  Reason   // of a RefusedError
	paths   []string // of it
	err     error    // in the place of a reason
	limit   string   // of a LimitError
	has     []string
	before  func(t testing.TB, p place)
	options Options
}

func of(entries ...entry) func(testing.TB) []byte {
	return func(t testing.TB) []byte { return archive(t, entries...) }
}

func bytesOf(b []byte) func(testing.TB) []byte { return func(testing.TB) []byte { return b } }

// one is an archive with one file, behind which a good one would be.
func one(reason Reason, name string) hostile {
	return hostile{name: name, archive: of(reg(name, "evil"), reg("zz", "late")), reason: reason, paths: []string{name}}
}

var hostiles = []hostile{
	one(Dots, "../x"),
	one(Absolute, "/abs"),
	one(Dots, "a/../../x"),
	one(Dots, "a/../x"),
	one(Dots, "./x"),
	one(Dots, ".."),
	one(Dots, "a/.."),
	one(EmptyName, "a//b"),
	one(GitFolder, ".git/hooks/post-checkout"),
	one(GitFolder, ".GIT/config"),
	one(GitFolder, ".git /config"),
	one(GitFolder, ".git./config"),
	one(GitFolder, ".git::$INDEX_ALLOCATION/config"),
	one(GitFolder, "GIT~1/config"),
	one(GitFolder, "a/.g\u200cit/config"),
	one(GitFolder, "sub/.git"),
	one(ReservedName, ".repomcp/state"),
	one(ReservedName, ".RepoMCP/x"),
	one(ReservedName, "a/.repomcp/manifest.json"),
	one(ReservedName, ".repomcp/manifest.json"),
	one(ReservedName, "a/.repomcp-tmp-1"),
	{name: "absolute folder", archive: of(dir("/abs/")), reason: Absolute, paths: []string{"/abs"}},
	{name: "absolute link", archive: of(sym("/abs", "x")), reason: Absolute, paths: []string{"/abs"}},
	{name: "the root itself", archive: of(dir("./")), reason: Dots, paths: []string{"."}},
	{
		name: "no name", archive: bytesOf(raw(rawHeader("", '0', "00000000000\x00"))), reason: EmptyName,
		paths: []string{""},
	},
	{
		name: "file through a link of the archive", archive: of(sym("l", "../../canary"), reg("l/file", "evil")),
		reason: TwoKinds, paths: []string{"l"},
	},
	{
		name: "file through a link that was there", archive: of(reg("l/file", "evil")),
		before: linkToCanary, reason: ThroughLink, paths: []string{"l"}, has: []string{"l -> ../../canary"},
	},
	{
		name: "file through a link inside that was there", archive: of(reg("l/file", "evil")),
		before: func(t testing.TB, p place) {
			write(t, filepath.Join(p.dir, "d", "file"), "mine")
			linkAt(t, "d", filepath.Join(p.dir, "l"))
		},
		reason: ThroughLink, paths: []string{"l"}, has: []string{"d", `d/file "mine"`, "l -> d"},
	},
	{
		name: "folder that is a link, with leave to replace", archive: of(dir("l/"), reg("l/file", "new")),
		before: linkToCanary, options: Options{Choose: replace}, reason: ThroughLink, paths: []string{"l"},
		has: []string{"l -> ../../canary"},
	},
	{
		name: "chain of links", archive: of(sym("a", "b/.."), sym("b", "d/e"), sym("c", "b/../.."),
			reg("d/e/f", "good")),
		reason: Outside, paths: []string{"a", "c"}, has: []string{"b -> d/e", "d", "d/e", `d/e/f "good"`},
	},
	{
		name: "links outside", archive: of(sym("a", "/etc"), sym("b", "../canary"), sym("c/d", "../../x"),
			sym("e", "x")),
		reason: Outside, paths: []string{"a", "b", "c/d"}, has: []string{"c", "e -> x"},
	},
	{
		name: "link to nothing", archive: bytesOf(raw(rawHeader("l", '2', "00000000000\x00"))), reason: Outside,
		paths: []string{"l"},
	},
	{
		name: "hard link outside", archive: of(entry{name: "h", kind: tar.TypeLink, target: "../../canary/file"}),
		reason: HardLink, paths: []string{"h"},
	},
	{
		name:    "hard link to a link",
		archive: of(sym("l", "../../canary/file"), entry{name: "h", kind: tar.TypeLink, target: "l"}),
		reason:  HardLink, paths: []string{"h"},
	},
	{
		name:    "folder, then a link of its name",
		archive: of(reg("d/f", "good"), sym("d", "../../canary"), reg("d/file", "evil")),
		reason:  TwoKinds, paths: []string{"d"}, has: []string{"d", `d/f "good"`},
	},
	{
		name: "folder, then a file of its name", archive: of(dir("d/"), reg("d", "evil")), reason: TwoKinds,
		paths: []string{"d"}, has: []string{"d"},
	},
	{
		name: "file, then a folder of its name", archive: of(reg("d", "good"), reg("d/x", "evil")), reason: TwoKinds,
		paths: []string{"d"}, has: []string{`d "good"`},
	},
	{
		name: "twice", archive: of(reg("a", "first"), reg("a", "second")), reason: Twice, paths: []string{"a"},
		has: []string{`a "first"`},
	},
	{name: "folder twice", archive: of(dir("d/"), dir("d/")), reason: Twice, paths: []string{"d"}, has: []string{"d"}},
	{
		name: "folder that was left", archive: of(reg("d/a", "good"), reg("e", "good"), reg("d/b", "late")),
		reason: Scattered, paths: []string{"d"}, has: []string{"d", `d/a "good"`, `e "good"`},
	},
	{name: "pipe", archive: of(entry{name: "p", kind: tar.TypeFifo}), reason: Special, paths: []string{"p"}},
	{name: "device", archive: of(entry{name: "b", kind: tar.TypeBlock}), reason: Special, paths: []string{"b"}},
	{name: "character device", archive: of(entry{name: "c", kind: tar.TypeChar}), reason: Special,
		paths: []string{"c"}},
	{
		name: "type that is not known", archive: bytesOf(raw(rawHeader("u", 'Z', "00000000000\x00"))), reason: Special,
		paths: []string{"u"},
	},
	{
		name: "sparse file of GNU, 1 TiB", archive: bytesOf(sparseGNU()), reason: Sparse, paths: []string{"s"},
	},
	{
		name: "sparse file in pax headers", archive: bytesOf(sparsePAX()), reason: Sparse, paths: []string{"s"},
	},
	{
		name: "global header with a path",
		archive: of(entry{kind: tar.TypeXGlobalHeader, pax: map[string]string{"path": "../../canary/file"}},
			reg("a", "")),
		reason: GlobalHeader, paths: []string{"../../canary/file"},
	},
	{
		name:    "path in a pax header",
		archive: bytesOf(raw(pax("path=../../canary/file"), rawHeader("good", '0', "00000000001\x00"), []byte("x"))),
		reason:  Dots, paths: []string{"../../canary/file"},
	},
	{
		name:    "path twice in a pax header",
		archive: bytesOf(raw(pax("path=good", "path=../x"), rawHeader("good", '0', "00000000001\x00"), []byte("x"))),
		reason:  Dots, paths: []string{"../x"},
	},
	{
		name: "long name of GNU beside a pax header",
		archive: bytesOf(raw(pax("path=good"), rawHeader("././@LongLink", 'L', "00000000005\x00"), []byte("../x\x00"),
			rawHeader("short", '0', "00000000001\x00"), []byte("x"))),
		reason: Dots, paths: []string{"../x"},
	},
	{
		name:    "NUL in a pax header",
		archive: bytesOf(raw(pax("path=a\x00b"), rawHeader("good", '0', "00000000001\x00"), []byte("x"))),
		err:     tar.ErrHeader,
	},
	{
		name: "size in a pax header beyond the archive", err: ErrCut,
		archive: bytesOf(raw(pax("size=4096"), rawHeader("a", '0', "00000000001\x00"), []byte("x"))),
	},
	{
		name: "size beyond the archive, of a file that flows", err: ErrCut,
		archive: bytesOf(raw(rawHeader("a", '0', "00010000000\x00"), []byte("x"))),
	},
	{
		name: "size beyond the disk", err: ErrNoSpace,
		archive: bytesOf(raw(pax(fmt.Sprint("size=", int64(1)<<50)), rawHeader("a", '0', "00000000001\x00"),
			[]byte("x"))),
		options: Options{Limits: Limits{FileBytes: 1 << 60}},
	},
	{
		name: "size that is negative", err: tar.ErrHeader,
		archive: bytesOf(raw(rawHeader("a", '0', strings.Repeat("\xff", 12)))),
	},
	{
		name: "file too large", limit: "bytes of a file", archive: of(reg("a", "good"), reg("b", "12345")),
		options: Options{Limits: Limits{FileBytes: 4}}, has: []string{`a "good"`},
	},
	{
		name: "too many bytes", limit: "bytes", archive: of(reg("a", strings.Repeat("x", 1<<20))),
		options: Options{Limits: Limits{Bytes: 1 << 19}},
	},
	{
		name: "too many entries", limit: "entries", archive: of(reg("a", ""), reg("b", ""), reg("c", "")),
		options: Options{Limits: Limits{Entries: 2}}, has: []string{`a ""`, `b ""`},
	},
	{
		name: "too deep", limit: "depth", archive: of(reg(strings.Repeat("d/", 200)+"f", "")),
	},
	{
		name: "path too long", limit: "bytes of a path", archive: of(reg(strings.Repeat("d", 5000), "")),
	},
	{
		name: "target too long", limit: "bytes of a path", archive: of(sym("l", strings.Repeat("d", 5000))),
	},
	{
		name: "clash of case", archive: of(reg("d/README", "good"), reg("d/readme", "evil")), reason: Clash,
		paths: []string{"d/README", "d/readme"}, options: Options{RefuseClashes: true},
		has: []string{"d", `d/README "good"`},
	},
	{
		name: "clash of folders", archive: of(reg("D/a", "good"), reg("d/a", "evil")), reason: Clash,
		paths: []string{"D", "d"}, options: Options{RefuseClashes: true}, has: []string{"D", `D/a "good"`},
	},
	{
		name: "clash of a link and a folder", archive: of(sym("A", "../../canary"), reg("a/file", "evil")),
		reason: Clash,
		paths:  []string{"A", "a"}, options: Options{RefuseClashes: true},
	},
	{
		name: "clash of normalization", archive: of(reg("\u00e9", "good"), reg("e\u0301", "evil")), reason: Clash,
		paths: []string{"\u00e9", "e\u0301"}, options: Options{RefuseClashes: true}, has: []string{"\u00e9 \"good\""},
	},
	{
		name: "file where a folder is", archive: of(reg("d", "evil")), reason: InTheWay, paths: []string{"d"},
		before: func(t testing.TB, p place) { write(t, filepath.Join(p.dir, "d", "f"), "mine") },
		has:    []string{"d", `d/f "mine"`},
	},
	{
		name: "file where a folder is that is not empty, with leave", archive: of(reg("d", "evil")), reason: InTheWay,
		paths: []string{"d"}, before: func(t testing.TB, p place) { write(t, filepath.Join(p.dir, "d", "f"), "mine") },
		options: Options{Choose: replace},
		has:     []string{"d", `d/f "mine"`},
	},
	{
		name: "folder where a file is", archive: of(reg("f/a", "evil")), reason: InTheWay, paths: []string{"f"},
		before: func(t testing.TB, p place) { write(t, filepath.Join(p.dir, "f"), "mine") }, has: []string{`f "mine"`},
	},
	{
		name: "link where a folder is", archive: of(sym("d", "x")), reason: InTheWay, paths: []string{"d"},
		before: func(t testing.TB, p place) { write(t, filepath.Join(p.dir, "d", "f"), "mine") },
		has:    []string{"d", `d/f "mine"`},
	},
	{
		name: "own folder is a link", archive: of(reg("a", "evil")), reason: ThroughLink, paths: []string{".repomcp"},
		before: func(t testing.TB, p place) { linkAt(t, "../../canary", filepath.Join(p.dir, ".repomcp")) },
		has:    []string{".repomcp -> ../../canary"},
	},
	{
		name:    "junk after the end",
		archive: func(t testing.TB) []byte { return append(archive(t, reg("a", "good")), "junk"...) },
		err:     ErrTrailing, has: []string{`a "good"`},
	},
	{
		name: "second archive after the first", err: ErrTrailing, has: []string{`a "good"`},
		archive: func(t testing.TB) []byte {
			return append(archive(t, reg("a", "good")), archive(t, reg("b", "evil"))...)
		},
	},
	{
		name: "second gzip member", err: ErrTrailing, has: []string{`a "good"`},
		archive: func(t testing.TB) []byte {
			return append(gzipped(t, archive(t, reg("a", "good"))), gzipped(t, archive(t, reg("b", "evil")))...)
		},
	},
	{
		name: "junk after gzip", err: gzip.ErrHeader, has: []string{`a "good"`},
		archive: func(t testing.TB) []byte {
			return append(gzipped(t, archive(t, reg("a", "good"))), "junk of ten bytes"...)
		},
	},
	{
		name: "gzip with another CRC", err: gzip.ErrChecksum, has: []string{`a "good"`},
		archive: func(t testing.TB) []byte { return flip(gzipped(t, archive(t, reg("a", "good"))), 8) },
	},
	{
		name: "gzip with another size", err: gzip.ErrChecksum, has: []string{`a "good"`},
		archive: func(t testing.TB) []byte { return flip(gzipped(t, archive(t, reg("a", "good"))), 4) },
	},
	{
		name: "zstd with another checksum", err: zstd.ErrCRCMismatch, has: []string{`a "good"`},
		archive: func(t testing.TB) []byte { return flip(zstandard(t, archive(t, reg("a", "good"))), 1) },
	},
	{
		name: "zstd with a large window", err: zstd.ErrWindowSizeExceeded,
		archive: bytesOf([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00}),
	},
	{
		name: "bomb", limit: "ratio", archive: func(t testing.TB) []byte { return bomb(t) },
	},
	{name: "nothing", archive: bytesOf(nil), err: ErrCut},
	{name: "text", archive: bytesOf([]byte(strings.Repeat("not found\n", 100))), err: tar.ErrHeader},
	{name: "no end", archive: func(t testing.TB) []byte { return archive(t)[:0] }, err: ErrCut},
	{
		name:    "one block of the end",
		archive: func(t testing.TB) []byte { return archive(t, reg("a", "good"))[:1536] },
		err:     ErrCut, has: []string{`a "good"`},
	},
	{
		name: "setuid, owner and attributes",
		archive: of(
			entry{name: "a", mode: 0o6755, content: "good", pax: map[string]string{"SCHILY.xattr.user.x": "y"}},
			entry{name: "b", content: "good"},
		),
		has: []string{`a* "good"`, `b "good"`},
	},
	{
		name: "mtime beyond all", options: Options{Times: true}, has: []string{`a ""`},
		archive: bytesOf(raw(pax("mtime=99999999999999999"), rawHeader("a", '0', "00000000000\x00"))),
	},
	{
		name: "names that are odd", has: []string{
			`-rf ""`, `C:\x ""`, `CON ""`, `\\srv\s ""`, `a:b ""`, `aux.c ""`, "dot. \"\"", "new\nline \"\"",
			"space  \"\"",
		},
		archive: of(reg("-rf", ""), reg(`C:\x`, ""), reg("CON", ""), reg(`\\srv\s`, ""), reg("a:b", ""),
			reg("aux.c", ""),
			reg("dot.", ""), reg("new\nline", ""), reg("space ", "")),
	},
}

// replace takes the place of any file or link.
func replace(Member, io.Reader) (Choice, error) {
	return Choice{Yields: func(_ string, info fs.FileInfo) (bool, error) { return !info.IsDir(), nil }}, nil
}

func linkToCanary(t testing.TB, p place) { linkAt(t, "../../canary", filepath.Join(p.dir, "l")) }

func linkAt(t testing.TB, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		t.Fatal(err)
	}
}

func TestHostileArchives(t *testing.T) {
	for _, h := range hostiles {
		t.Run(h.name, func(t *testing.T) {
			p := newPlace(t)
			if h.before != nil {
				h.before(t, p)
			}
			_, err := p.unpack(t, h.archive(t), h.options)
			h.check(t, err)
			p.outside(t)
			slices.Sort(h.has)
			p.has(t, h.has...)
		})
	}
}

func (h hostile) check(t *testing.T, err error) {
	t.Helper()
	refused, limit := (*RefusedError)(nil), (*LimitError)(nil)
	switch {
	case h.reason != "":
		if !errors.As(err, &refused) || refused.Reason != h.reason || !slices.Equal(refused.Paths, h.paths) {
			t.Errorf("the error is %v, not that %q is refused, %s", err, h.paths, h.reason)
		}
	case h.limit != "":
		if !errors.As(err, &limit) || limit.Limit != h.limit {
			t.Errorf("the error is %v, not one of the limit %s", err, h.limit)
		}
	case !errors.Is(err, h.err):
		t.Errorf("the error is %v, not %v", err, h.err)
	}
}
