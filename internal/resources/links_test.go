package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/cache/cachetest"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/links"
)

// linkKeys are what replicas with links have in common.
type linkKeys struct {
	keys   *links.Keyring
	nonces links.Nonces
	offset atomic.Int64 // of their clock
}

func newKeys(t *testing.T) *linkKeys {
	t.Helper()
	keys, err := links.RandomKeyring()
	if err != nil {
		t.Fatal(err)
	}
	k := &linkKeys{keys: keys}
	k.nonces = links.NewMemory(k.now)
	return k
}

func (k *linkKeys) now() time.Time          { return time.Now().Add(time.Duration(k.offset.Load())) }
func (k *linkKeys) advance(d time.Duration) { k.offset.Add(int64(d)) }

func (k *linkKeys) linking(t *testing.T) Linking {
	t.Helper()
	base, err := links.ParseBase("https://git.example")
	if err != nil {
		t.Fatal(err)
	}
	authority, err := links.New(links.Options{Keys: k.keys, Base: base, Nonces: k.nonces, Now: k.now})
	if err != nil {
		t.Fatal(err)
	}
	return Linking{Authority: authority, Base: base}
}

// newLink makes a link for one download, and returns its token.
func newLink(t *testing.T, s *Service, uri string) (token string) {
	t.Helper()
	url, _, err := s.DownloadLink(t.Context(), mustFind(t, s, uri))
	if err != nil {
		t.Fatal(err)
	}
	return path.Base(url)
}

// redeem downloads by a link. Resume is the secret of the download that goes on, or "".
func redeem(t *testing.T, s *Service, token, resume string, part *Range) (content []byte, etag string, err error) {
	t.Helper()
	linked, err := s.FindLink(t.Context(), token, links.Use{Method: "GET", Resume: resume})
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, linked.Close()) }()
	var out bytes.Buffer
	body, err := write(t, linked.Found, Want{Range: part}, &out)
	if body != nil {
		etag = body.ETag
	}
	return out.Bytes(), etag, err
}

// look is a HEAD of a link.
func look(t *testing.T, s *Service, token string) (found *Found, err error) {
	t.Helper()
	linked, err := s.FindLink(t.Context(), token, links.Use{Method: "HEAD"})
	if err == nil {
		closeAfter(t, linked.Found)
	}
	return linked.Found, err
}

// newHello makes a root folder with a small mirror.
func newHello(t *testing.T) (root string, repo *gittest.Repo) {
	t.Helper()
	root = t.TempDir()
	repo = gittest.At(t, filepath.Join(root, "hello.git"))
	repo.Commit("main", gittest.Regular("README.md", "hello\n"), gittest.Regular("noise", gittest.Noise(100_000)))
	return root, repo
}

func TestOneOfManyRedeems(t *testing.T) {
	t.Parallel()
	root, _ := newHello(t)
	keys := newKeys(t)
	replicas := []*Service{newService(t, root, Options{Links: keys.linking(t)}),
		newService(t, root, Options{Links: keys.linking(t)})}
	token := newLink(t, replicas[0], "repo://hello/archive/main.tar.gz")
	var won, used atomic.Int32
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			switch content, _, err := redeem(t, replicas[i%2], token, "", nil); {
			case err == nil && len(content) > 0:
				won.Add(1)
			case errors.Is(err, links.ErrUsed):
				used.Add(1)
			default:
				t.Errorf("redemption %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || used.Load() != 99 {
		t.Errorf("%d downloads and %d refusals, want 1 and 99", won.Load(), used.Load())
	}
}

// lostNonces are those of a Redis that is away.
type lostNonces struct{}

func (lostNonces) Reserve(time.Time) (links.Place, error)                        { return links.Place{}, nil }
func (lostNonces) Claim(context.Context, links.Claim) (bool, error)              { return false, errAway }
func (lostNonces) Charge(context.Context, links.Claim, int) (sum int, err error) { return 0, errAway }
func (lostNonces) Used(context.Context, links.Claim) (bool, error)               { return false, errAway }

var errAway = errors.New("dial tcp 10.0.0.1:6379: redis:secret@host")

// A server that cannot find out whether a link was used sends no bytes. Links that need no record go on.
func TestRecordOfUsedLinksIsAway(t *testing.T) {
	t.Parallel()
	root, _ := newHello(t)
	keys := newKeys(t)
	s := newService(t, root, Options{Links: keys.linking(t)})
	away := newService(t, root, Options{Links: (&linkKeys{keys: keys.keys, nonces: lostNonces{}}).linking(t)})
	const uri = "repo://hello/archive/main.tar.gz"
	token, begun := newLink(t, s, uri), newLink(t, s, uri)
	_, etag, err := redeem(t, s, begun, "", newRange(0, 10))
	if err != nil {
		t.Fatal(err)
	}
	_, secret := links.SplitETag(etag)
	for what, c := range map[string]struct {
		token, resume string
		part          *Range
	}{
		"the whole": {token, "", nil}, "a part": {token, "", newRange(0, 10)}, "the rest": {begun, secret, newRange(10, -1)},
	} {
		got, _, err := redeem(t, away, c.token, c.resume, c.part)
		if !errors.Is(err, links.ErrUnavailable) || len(got) > 0 {
			t.Errorf("%s without the record: %d bytes, %v, want %v", what, len(got), err, links.ErrUnavailable)
		}
	}
	if _, err := look(t, away, token); !errors.Is(err, links.ErrUnavailable) {
		t.Errorf("a look without the record: %v, want %v", err, links.ErrUnavailable)
	}
	many := keys.linking(t)
	many.ManyUses = true
	lasting := newLink(t, newService(t, root, Options{Links: many}), uri)
	for range 2 {
		if _, _, err := redeem(t, away, lasting, "", nil); err != nil {
			t.Errorf("a link for many uses: %v", err)
		}
	}
	if _, _, err := redeem(t, s, token, "", nil); err != nil {
		t.Errorf("the link, once its record is there: %v", err)
	}
}

func TestLinksExpireAndNameACommitForEver(t *testing.T) {
	t.Parallel()
	root, repo := newHello(t)
	keys := newKeys(t)
	linking := keys.linking(t)
	linking.ManyUses = true
	s := newService(t, root, Options{Links: linking})
	token := newLink(t, s, "repo://hello/refs/heads/main/contents/README.md")
	repo.Commit("main", gittest.Regular("README.md", "second\n"))
	for range 2 {
		if got, _, err := redeem(t, s, token, "", nil); string(got) != "hello\n" {
			t.Errorf("after a push: %q, %v", got, err)
		}
	}
	keys.advance(5 * time.Minute)
	if _, _, err := redeem(t, s, token, "", nil); !errors.Is(err, links.ErrExpired) {
		t.Errorf("after five minutes: %v, want %v", err, links.ErrExpired)
	}
}

// A client with a used link and the tag of its first reply does not get the content any number of times.
func TestResumesOfAUsedLinkAreBounded(t *testing.T) {
	t.Parallel()
	root, _ := newHello(t)
	s := newService(t, root, Options{Links: newKeys(t).linking(t)})
	for _, uri := range []string{"repo://hello/archive/main.tar", "repo://hello/contents/README.md"} {
		token := newLink(t, s, uri)
		whole, etag, err := redeem(t, s, token, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, secret := links.SplitETag(etag)
		for first := range int64(2) {
			got := 0
			for range 20 {
				content, _, err := redeem(t, s, token, secret, newRange(first, -1))
				if err != nil && !errors.Is(err, links.ErrUsed) {
					t.Fatalf("%s: %v", uri, err)
				}
				got += len(content)
			}
			if most := 3 * len(whole); got > most || first == 0 && got < len(whole) {
				t.Errorf("%s: %d bytes again from %d on, want at most %d, and one more attempt at least", uri, got, first, most)
			}
		}
	}
}

// A resumed download gets no whole: a replica that does not know the length sends one for a range from 0 on.
func TestAResumeGetsNoWhole(t *testing.T) {
	t.Parallel()
	root, _ := newHello(t)
	keys := newKeys(t)
	s := newService(t, root, Options{Links: keys.linking(t)})
	replica := newService(t, root, Options{Links: keys.linking(t)})
	token := newLink(t, s, "repo://hello/archive/main.tar.gz")
	_, etag, err := redeem(t, s, token, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, secret := links.SplitETag(etag)
	if got, _, err := redeem(t, replica, token, secret, newRange(0, -1)); !errors.Is(err, links.ErrUsed) {
		t.Errorf("%d bytes, %v, want %v", len(got), err, links.ErrUsed)
	}
}

// A replica without the commit, and without a cache, uses no link up.
func TestReplicaThatLagsAsksForPatience(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	newer, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", "new"))
	older, repo := newRepo(t)
	repo.Commit("main", gittest.Regular("a", "old"))
	s := newService(t, newer, Options{Links: keys.linking(t)})
	behind := newService(t, older, Options{Links: keys.linking(t)})
	token := newLink(t, s, "repo://repo/archive/main.tar.gz")
	if _, _, err := redeem(t, behind, token, "", nil); !errors.Is(err, ErrLinkGone) {
		t.Errorf("a replica without the commit: %v, want %v", err, ErrLinkGone)
	}
	if _, _, err := redeem(t, s, token, "", nil); err != nil {
		t.Errorf("the link was used by the attempt: %v", err)
	}
}

// lagging are two replicas with one bucket. The second one does not have the newest commit of the first one.
func lagging(t *testing.T) (s, behind *Service, repo *gittest.Repo, bucket *cachetest.Bucket) {
	t.Helper()
	keys, root := newKeys(t), t.TempDir()
	bucket = &cachetest.Bucket{Base: "https://files.example/"}
	repo = gittest.At(t, filepath.Join(root, "team/app.git"))
	repo.Commit("main", gittest.Regular("a", "old"))
	copied := t.TempDir()
	gittest.At(t, filepath.Join(copied, "team/app.git")).Commit("main", gittest.Regular("a", "old"))
	first := newCache(t, t.TempDir(), cache.NewObjects(bucket, nil))
	s = newService(t, root, Options{Links: keys.linking(t), Cache: first})
	behind = newService(t, copied, Options{Links: keys.linking(t),
		Cache: newCache(t, t.TempDir(), cache.NewObjects(bucket, nil))})
	repo.Commit("main", gittest.Regular("a", gittest.Noise(300_000)))
	contentOf(t, mustFind(t, s, "repo://team/app/archive/main.tar.gz"))
	gittest.Await(t, "an archive is uploaded", func() bool { return first.Stats().Uploads > 0 })
	return s, behind, repo, bucket
}

const laggingURI = "repo://team/app/archive/main.tar.gz"

func TestReplicaThatLagsAnswersFromTheBucket(t *testing.T) {
	t.Parallel()
	s, behind, repo, _ := lagging(t)
	want := contentOf(t, mustFind(t, s, laggingURI))
	token := newLink(t, s, laggingURI)
	found, err := look(t, behind, token)
	if err != nil {
		t.Fatal(err)
	}
	body, err := found.Open(t.Context(), Want{Method: Head})
	if err != nil || body.Size != int64(len(want)) || found.ETag != mustFind(t, s, laggingURI).ETag {
		t.Errorf("a look: %+v, %v, want %d bytes", body, err, len(want))
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if got, _, err := redeem(t, behind, token, "", nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if _, _, err := redeem(t, behind, token, "", nil); !errors.Is(err, links.ErrUsed) {
		t.Errorf("a second use: %v, want %v", err, links.ErrUsed)
	}
	token = newLink(t, s, laggingURI)
	part, etag, err := redeem(t, behind, token, "", newRange(0, 100))
	if err != nil {
		t.Fatal(err)
	}
	_, secret := links.SplitETag(etag)
	rest, _, err := redeem(t, behind, token, secret, newRange(100, -1))
	if err != nil || !bytes.Equal(append(part, rest...), want) {
		t.Errorf("a part and the rest: %d and %d bytes of %d, %v", len(part), len(rest), len(want), err)
	}
	// Content that is in no bucket is still to come, and the bucket gives nothing without a link.
	for _, uri := range []string{"repo://team/app/archive/main.zip",
		laggingURI + "?lfs=content", "repo://team/app/refs/heads/main/contents/a"} {
		token := newLink(t, s, uri)
		if _, _, err := redeem(t, behind, token, "", nil); !errors.Is(err, ErrLinkGone) {
			t.Errorf("%s: %v, want %v", uri, err, ErrLinkGone)
		}
		if _, _, err := redeem(t, s, token, "", nil); err != nil {
			t.Errorf("%s: the attempt used the link: %v", uri, err)
		}
	}
	byCommit := fmt.Sprintf("repo://team/app/archive/%s.tar.gz", repo.Git("rev-parse", "main"))
	if _, err := behind.Find(t.Context(), byCommit); !errors.Is(err, git.ErrNotFound) {
		t.Errorf("without a link: %v, want %v", err, git.ErrNotFound)
	}
}

// A commit that is in the mirror, and that no ref leads to, was withdrawn: the bucket does not serve it. A link to
// it behaves as if the commit were still to come.
func TestBucketDoesNotOutliveARef(t *testing.T) {
	t.Parallel()
	s, _, repo, _ := lagging(t)
	token := newLink(t, s, laggingURI)
	repo.Git("update-ref", "refs/heads/main", "main^")
	if _, _, err := redeem(t, s, token, "", nil); !errors.Is(err, ErrLinkGone) {
		t.Errorf("the link of a withdrawn commit: %v, want %v", err, ErrLinkGone)
	}
}

// If kept bytes turn out to be damaged, and nothing can make them anew, the download breaks.
func TestReplicaThatLagsGivesNoWrongByte(t *testing.T) {
	t.Parallel()
	s, behind, _, bucket := lagging(t)
	altered := 0
	for _, name := range bucket.Names() {
		if strings.HasSuffix(name, ".seal") {
			continue
		}
		content, err := bucket.Object(name)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)-1] ^= 1
		bucket.Put(name, content)
		altered++
	}
	got, etag, err := redeem(t, behind, newLink(t, s, laggingURI), "", nil)
	if whole := contentOf(t, mustFind(t, s, laggingURI)); altered != 1 || err == nil || etag == "" ||
		!bytes.HasPrefix(whole, got) {
		t.Errorf("%d damaged objects: %d bytes, then %v, want a break after right bytes", altered, len(got), err)
	}
}
