package resources

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/gittest"
)

// newRepo makes a root folder with the mirror "repo".
func newRepo(t *testing.T) (root string, repo *gittest.Repo) {
	t.Helper()
	root = t.TempDir()
	return root, gittest.At(t, filepath.Join(root, "repo.git"))
}

func TestArchiveWithABaseSaysWhichOneItIs(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	files := []gittest.File{gittest.Regular("a", "1")}
	for i := range 30 {
		files = append(files, gittest.Regular(fmt.Sprintf("same/%d", i), "x"))
	}
	base := repo.Commit("main", files...)
	repo.Git("tag", "v1", base)
	files[0] = gittest.Regular("a", "2")
	head := repo.Commit("main", files...)
	s := newService(t, root, Options{})
	full := "repo://repo/archive/" + head + ".tar"
	delta := full + "?base=" + base
	for _, c := range []struct {
		uri, canonical string
		immutable      bool
	}{
		{full, full, true},
		{delta, delta, true},
		{delta + "&fallback=full", delta, true},
		{full + "?base=v1", delta, false},
		{"repo://repo/archive/main.tar?base=" + base, delta, false},
		{full + "?base=" + strings.Repeat("a", 40) + "&fallback=full", full, false},
		{full + "?fallback=full", full, true},
		{full + "?base=&fallback=", full, true},
	} {
		found := mustFind(t, s, c.uri)
		if found.Asked != c.uri || found.URI != c.canonical || found.Immutable != c.immutable {
			t.Errorf("%s: %+v, want %s, immutable %t", c.uri, found, c.canonical, c.immutable)
		}
		hasList := slices.Contains(members(t, found), ".repomcp/manifest.json")
		if hasList != (c.canonical == delta) {
			t.Errorf("%s is not the archive that it says: a list of changes %t", c.uri, hasList)
		}
	}
}

func TestFullArchiveNeededIsSaidBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	first := repo.Commit("main", gittest.Regular("a", "1"))
	repo.Commit("main", gittest.Regular(".gitattributes", ""))
	s := newService(t, root, Options{})
	for base, want := range map[string]struct {
		cause string
		plain Reason // of a plain URL
	}{"nothing": {archive.BaseUnknown, ReasonNotFound}, first: {archive.AttributesChanged, ReasonFullNeeded}} {
		failure := refusal(t, s, "repo://repo/archive/main.tar?base="+base, Want{Method: Get})
		if failure == nil || failure.Reason != ReasonFullNeeded || failure.Data["cause"] != want.cause ||
			!strings.Contains(failure.Message, "fallback=full") {
			t.Errorf("base %s: %+v, want %s because of %s", base, failure, ReasonFullNeeded, want.cause)
		}
		_, failure = download(t, s, "/archive/repo/main.tar?base="+base)
		if failure == nil || failure.Reason != want.plain || !strings.Contains(failure.Message, "fallback=full") {
			t.Errorf("base %s of a plain URL: %+v, want %s", base, failure, want.plain)
		}
	}
}

func TestUnknownEncodingsAreTold(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main",
		gittest.Regular(".gitattributes", "a working-tree-encoding=EUC-TW\nb working-tree-encoding=no,such\n"+
			"c working-tree-encoding=SHIFT-JIS\n"),
		gittest.Regular("a", "\u4e2d"), gittest.Regular("b", "x"), gittest.Regular("c", "\u65e5"))
	var log bytes.Buffer
	s := newService(t, root, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, format := range archive.Formats() {
		for query, want := range map[string][]string{
			"": {"EUC-TW", "no,such"}, "?exclude=a&exclude=b": nil, "?profile=full": nil,
		} {
			for range 2 {
				found := mustFind(t, s, "repo://repo/archive/main."+string(format)+query)
				told, _ := found.Meta[metaUnknownEncodings].([]string)
				if !slices.Equal(found.UnknownEncodings, want) || !slices.Equal(told, want) {
					t.Errorf("%s: %q, and %q in _meta, want %q", found.URI, found.UnknownEncodings, told, want)
				}
			}
		}
	}
	if warned := strings.Count(log.String(), "working-tree-encoding is not known"); warned != len(archive.Formats()) {
		t.Errorf("%d warnings about %d archives:\n%s", warned, len(archive.Formats()), &log)
	}
}

// An archive of a tag of a tree has a name that lasts.
func TestArchiveOfATagOfATree(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a/file", strings.Repeat("content\n", 1000)), gittest.Regular("b", "x"))
	id := repo.GitInput([]byte("object "+repo.Git("rev-parse", "main^{tree}")+
		"\ntype tree\ntag data\ntagger A <a@b.c> 1110000000 +0000\n\nof a folder\n"), "mktag")
	repo.SetRef("refs/tags/data", id)
	s := newService(t, root, Options{})
	for _, format := range []string{"tar", "tar.gz", "zip", "manifest.json"} {
		byTag, byID := mustDownload(t, s, "/archive/repo/data."+format), mustDownload(t, s, "/archive/repo/"+id+"."+format)
		whole := contentOf(t, byTag)
		last := mustDownload(t, s, byTag.Permalink)
		stream := mustFind(t, s, "repo://repo/archive/data."+format)
		for _, found := range []*Found{byTag, byID, last, stream} {
			if found.Weak || found.ETag != byTag.ETag || found.Frozen != "repo://repo/archive/"+id+"."+format ||
				found.Immutable != (found == byID || found == last) || found.Commit != "" ||
				!found.Modified.IsZero() && found.Modified.Unix() != 1110000000 {
				t.Errorf("%s: %+v", format, found)
			}
			if !bytes.Equal(contentOf(t, found), whole) {
				t.Errorf("%s: %s has other bytes", format, found.URI)
			}
		}
		n := int64(len(whole))
		if part, err := bytesOf(t, byTag, Want{Range: newRange(n/3, n/6)}); err != nil ||
			!bytes.Equal(part, whole[n/3:n/3+n/6]) {
			t.Errorf("%s: a part has %d bytes, %v", format, len(part), err)
		}
	}
	for _, unserved := range []string{"main:a", "main^{tree}", "main:b"} {
		if _, failure := download(t, s, "/archive/repo/"+repo.Git("rev-parse", unserved)+".tar"); failure == nil {
			t.Errorf("the id of %s is served", unserved)
		}
	}
	if _, failure := download(t, s, "/archive/repo/main:a.tar"); failure == nil {
		t.Error("main:a is served")
	}
	of := mustDownload(t, s, "/archive/repo/main%5E%7Btree%7D.tar")
	if want := repo.Git("rev-parse", "main") + "%5E%7Btree%7D"; !strings.Contains(of.Permalink, want) ||
		!bytes.Equal(contentOf(t, mustDownload(t, s, of.Permalink)), contentOf(t, of)) {
		t.Errorf("main^{tree} has the link %s, want one with %s to the same bytes", of.Permalink, want)
	}
}

// A tag of a file has no archive and no paths. The request is refused with this reason, and the repository is not
// called damaged.
func TestATagOfAFileIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("key", "of a person\n"))
	blob := repo.Git("rev-parse", "main:key")
	repo.SetRef("refs/tags/light", blob)
	repo.Git("tag", "-m", "x", "annotated", blob)
	repo.Git("tag", "-m", "x", "nested", "annotated")
	var log bytes.Buffer
	s := newService(t, root, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, tag := range []string{"light", "annotated", "nested"} {
		if _, ok := repo.TryArchive("--format=tar", tag); ok {
			t.Errorf("git archives %s", tag)
		}
	}
	for _, tag := range []string{"light", "annotated", "nested", "refs/tags/nested", "annotated%5E%7B%7D", "nested~1"} {
		_, failure := download(t, s, "/raw/repo/"+tag+"/key")
		failures := map[string]*Error{"raw": failure}
		for _, format := range archive.Formats() {
			file := tag + "." + string(format)
			_, failures[file] = download(t, s, "/archive/repo/"+file)
			failures["URI of "+file] = refusal(t, s, "repo://repo/archive/"+file, Want{})
		}
		for what, failure := range failures {
			if failure == nil || failure.Reason != ReasonNotFound ||
				!strings.Contains(failure.Message, "leads to a file (blob ") {
				t.Errorf("%s of %s: %v, want %s with the reason", what, tag, failure, ReasonNotFound)
			}
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("a sound repository is in the log: %s", &log)
	}
}

func TestSignaturesComeFromNotes(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	tagged := repo.Commit("main", gittest.Regular("a", "1"))
	repo.Git("tag", "-a", "-m", "one", "v1.0", tagged)
	plain := repo.Commit("main", gittest.Regular("a", "2"))
	repo.Git("notes", "--ref=signatures/tar", "add", "-m", "of the tag", "v1.0")
	repo.Git("notes", "--ref=signatures/tar.gz", "add", "-m", "of the commit", plain)
	s := newService(t, root, Options{})
	for file, want := range map[string]string{
		"v1.0.tar.asc": "of the tag\n", "refs/tags/v1.0.tar.asc": "of the tag\n", tagged + ".tar.asc": "",
		"v1.0.tar.gz.asc": "", "v1.0.zip.asc": "",
		"main.tar.gz.asc": "of the commit\n", plain + ".tgz.asc": "of the commit\n", "main.tar.asc": "",
		"nothing.tar.asc": "",
	} {
		found, failure := download(t, s, "/archive/repo/"+file)
		switch {
		case want == "" && (failure == nil || failure.Reason != ReasonNotFound):
			t.Errorf("%s: %v, want %s", file, failure, ReasonNotFound)
		case want == "":
		case failure != nil:
			t.Errorf("%s: %v, want %q", file, failure, want)
		default:
			if got := string(contentOf(t, found)); got != want || found.MIMEType != mimeSignature {
				t.Errorf("%s: %q of type %s, want %q of %s", file, got, found.MIMEType, want, mimeSignature)
			}
		}
	}
}

// An archive describes itself, and has one sequence of bytes for each ETag.
func TestArchiveDescribesItself(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	head := gittest.At(t, filepath.Join(root, "team/hello.git")).Commit("main", gittest.Regular("a", gittest.Noise(5000)))
	gittest.At(t, filepath.Join(root, "caf\u00e9.git")).Commit("main", gittest.Regular("a", "1"))
	s := newService(t, root, Options{})
	contents := make(map[string][]byte)
	for _, c := range []struct{ uri, name, kind string }{
		{"repo://team/hello/archive/main.tar", "hello-main.tar", "application/x-tar"},
		{"repo://team/hello/archive/refs/heads/main.tgz", "hello-main.tar.gz", "application/gzip"},
		{"repo://team/hello/archive/HEAD.tar.gz", "hello-" + head[:12] + ".tar.gz", "application/gzip"},
		{"repo://team/hello/archive/" + head + ".tar", "hello-" + head + ".tar", "application/x-tar"},
		{"repo://caf%C3%A9/archive/main.tar", "caf\u00e9-main.tar", "application/x-tar"},
		{"repo://team/hello/archive/main.tar?prefix=%22%0A%C3%A9/", "hello-main.tar", "application/x-tar"},
	} {
		for range 2 {
			found := mustFind(t, s, c.uri)
			before, known := contents[found.ETag]
			body, err := found.Open(t.Context(), Want{Method: Head})
			if err != nil {
				t.Fatal(err)
			}
			size, whole := body.Size, contentOf(t, found)
			// The length of a tar is known before it is made, and that of all formats from the second time on.
			if want := int64(len(whole)); size != want && (known || c.kind == "application/x-tar") {
				t.Errorf("%s: size %d of %d bytes", c.uri, size, want)
			}
			if found.FileName != c.name || found.MIMEType != c.kind || found.Weak ||
				found.Immutable != strings.Contains(c.uri, head) || !strings.Contains(found.URI, found.Commit) {
				t.Errorf("%s: %+v, want %s of type %s", c.uri, found, c.name, c.kind)
			}
			if known && !bytes.Equal(before, whole) {
				t.Errorf("%s: two archives have the ETag %s", c.uri, found.ETag)
			}
			contents[found.ETag] = whole
		}
	}
}

// The length of a tar is known from trees, and that of a tar.gz after it was written once.
func TestArchiveKnownToOutgrowTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(20_000)))
	s := newService(t, root, Options{})
	for _, format := range []archive.Format{archive.Tar, archive.TarGz} {
		found := mustFind(t, s, "repo://repo/archive/main."+string(format))
		excess := (*TooLargeError)(nil)
		_, err := found.Open(t.Context(), Want{Method: Get, Limit: 100})
		if refused := errors.As(err, &excess); refused != (format == archive.Tar) {
			t.Errorf("%s that was never written: %v", format, err)
		}
		n := int64(len(contentOf(t, found)))
		for _, limit := range []int64{1, 100, n / 2, n - 1, n, n + 1} {
			body, err := found.Open(t.Context(), Want{Method: Get, Limit: limit})
			if limit < n && (!errors.As(err, &excess) || excess.Size != n || excess.Limit != limit) {
				t.Errorf("%s of %d bytes beyond the limit %d: %v", format, n, limit, err)
			}
			if limit >= n && (err != nil || body.Size != n) {
				t.Errorf("%s of %d bytes within the limit %d: %v", format, n, limit, err)
			}
			if err := body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Some clients load several parts at the same time.
func TestPartsSideBySide(t *testing.T) {
	t.Parallel()
	const parts = 16
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)))
	found := mustFind(t, newService(t, root, Options{}), "repo://repo/archive/main.tar.gz")
	want := contentOf(t, mustFind(t, newService(t, root, Options{}), "repo://repo/archive/main.tar.gz"))
	size := int64(len(want)+parts-1) / parts
	got := make([][]byte, parts)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			var err error
			if got[i], err = bytesOf(t, found, Want{Range: newRange(int64(i)*size, size)}); err != nil {
				t.Errorf("part %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if !bytes.Equal(bytes.Join(got, nil), want) {
		t.Error("the parts are not the whole")
	}
}

// A download that broke anywhere goes on at any replica, which has never written the archive.
func TestResumedDownloadsAreWhole(t *testing.T) {
	t.Parallel()
	root, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)), gittest.Regular("b", "x"))
	random := rand.New(rand.NewPCG(1, 2))
	s := newService(t, root, Options{})
	for _, uri := range []string{"repo://repo/contents/a", "repo://repo/archive/main.tar", "repo://repo/archive/main.tar.gz",
		"repo://repo/archive/main.tar.zst", "repo://repo/archive/main.zip?prefix=p/"} {
		first := mustFind(t, s, uri)
		whole := contentOf(t, first)
		again := mustFind(t, newService(t, root, Options{}), uri)
		for range 20 {
			cut := 1 + random.IntN(len(whole)-1)
			rest, err := bytesOf(t, again, Want{Range: newRange(int64(cut), -1)})
			if err != nil || again.ETag != first.ETag || !bytes.Equal(append(whole[:cut:cut], rest...), whole) {
				t.Errorf("%s from %d: %d bytes of %d, %v", uri, cut, len(rest), len(whole), err)
			}
		}
	}
}
