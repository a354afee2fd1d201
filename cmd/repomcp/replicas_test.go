package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	// held is how many downloads stand still while a replica is killed.
	held = 12
	// heldBytes of each are more than the sockets between a replica and a client
	// that does not read take over two connections.
	heldBytes = 24 << 20
	// prefixes are how many archives of one commit the load asks for: some are
	// made while a replica dies.
	prefixes = 16
)

// fillOrigin has a small tree on main, and a large one on the branches held0 to
// held11.
func fillOrigin(repo *gittest.Repo) {
	files := []gittest.File{gittest.Regular("noise", gittest.Noise(1<<20)), gittest.Executable("run.sh", "#!/bin/sh\n"),
		gittest.Symlink("link", "noise")}
	for i := range 200 {
		files = append(files, gittest.Regular(fmt.Sprintf("dir%d/file%d.txt", i%7, i),
			strings.Repeat(fmt.Sprintln("line", i), i)))
	}
	repo.Commit("main", files...)
	id := repo.Commit("large", gittest.Regular("large", gittest.Noise(heldBytes)))
	for i := range held {
		repo.Git("update-ref", fmt.Sprint("refs/heads/held", i), id)
	}
}

// story is clients of a fleet.
type story struct {
	*fleet
	client  *http.Client
	follows atomic.Int64 // redirects to the bucket
	mu      sync.Mutex
	wanted  map[string][]byte
}

func newStory(t *testing.T) *story {
	s := &story{fleet: newFleet(t), wanted: make(map[string][]byte)}
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true}, CheckRedirect: func(r *http.Request,
		_ []*http.Request) error {
		s.follows.Add(1)
		if r.URL.Host != s.gateway.address || r.Method != http.MethodGet {
			return fmt.Errorf("redirected to %s of %s", r.Method, r.URL)
		}
		return nil
	}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// want is git's own tar.
func (s *story) want(revision, prefix string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := revision + ":" + prefix
	if s.wanted[name] == nil {
		s.wanted[name] = s.origin.Archive("--format=tar", "--prefix="+prefix, revision)
	}
	return s.wanted[name]
}

// asked is an archive that a client wants.
type asked struct {
	revision, format, prefix string
	// exclude matches nothing: it makes another archive of the same bytes.
	exclude string
}

func (a asked) query() string {
	query := url.Values{}
	for name, value := range map[string]string{"prefix": a.prefix, "exclude": a.exclude} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

func (a asked) uri() string {
	return "repo://team/app/archive/" + a.revision + "." + a.format + a.query()
}

func (a asked) path() string {
	return "/archive/team/app/" + a.revision + "." + a.format + a.query()
}

// ways are how a client gets an archive from a server.
var ways = map[string]func(s *story, base string, a asked) (*http.Request, error){
	"plain": func(s *story, base string, a asked) (*http.Request, error) {
		return getRequest(s.t, base+a.path()), nil
	},
	"stream": func(s *story, base string, a asked) (*http.Request, error) {
		return mcpRequest(s.t, base, "resources/stream", a.uri(), nil), nil
	},
	"downloadUrl": func(s *story, base string, a asked) (*http.Request, error) {
		link, err := s.downloadURL(base, a)
		return getRequest(s.t, link), err
	},
	"httpUrl": func(s *story, base string, _ asked) (*http.Request, error) {
		link, err := s.httpURL(base)
		return getRequest(s.t, link), err
	},
}

// message sends an MCP request and decodes its result.
func (s *story) message(r *http.Request, result any) error {
	response, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errVisible, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%w: %s, %w", errVisible, response.Status, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s %s", errWrong, response.Status, body)
	}
	var reply struct{ Result json.RawMessage }
	if err := errors.Join(json.Unmarshal(body, &reply), json.Unmarshal(reply.Result, result)); err != nil {
		return fmt.Errorf("%w: %w: %s", errWrong, err, body)
	}
	return nil
}

func (s *story) downloadURL(base string, a asked) (string, error) {
	var result struct{ DownloadURL string }
	err := s.message(mcpRequest(s.t, base, "resources/stream", a.uri(),
		map[string]any{"io.github.repomcp/delivery": "downloadUrl"}), &result)
	return result.DownloadURL, err
}

func (s *story) httpURL(base string) (string, error) {
	var result struct {
		Resources []struct{ URI, HTTPURL string }
	}
	if err := s.message(mcpRequest(s.t, base, "resources/list", "", nil), &result); err != nil {
		return "", err
	}
	for _, r := range result.Resources {
		if r.HTTPURL != "" {
			return r.HTTPURL, nil
		}
	}
	return "", fmt.Errorf("%w: no resource has an httpUrl", errWrong)
}

// load gets an archive in some way and compares every byte with git's.
func (s *story) load(base, way string, a asked) error {
	request, err := ways[way](s, base, a)
	if err != nil {
		return err
	}
	if way == "httpUrl" {
		a = asked{revision: "main", format: "tar.gz"}
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errVisible, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch status := response.StatusCode; {
	case status == http.StatusOK:
		return s.check(response, a)
	case status == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		return fmt.Errorf("%w: %w", errVisible, errBusy)
	case status >= http.StatusInternalServerError, status == http.StatusNotFound && way == "downloadUrl":
		// Where the connection breaks before the reply net/http asks again, and
		// the replica that died may have used the link.
		return fmt.Errorf("%w: %s", errVisible, response.Status)
	default:
		return fmt.Errorf("%w: %s", errWrong, response.Status)
	}
}

// check reads a whole body. Its end and the digest that the server announced
// must be right as well.
func (s *story) check(response *http.Response, a asked) error {
	sum := sha256.New()
	body := &broken{r: io.TeeReader(response.Body, sum)}
	err := s.compare(body, a)
	if body.err != nil { // whatever decoders made of it
		return fmt.Errorf("%w: %w", errVisible, body.err)
	}
	digest := response.Header.Get("Repr-Digest") + response.Trailer.Get("Repr-Digest")
	if err == nil && digest != "" && digest != "sha-256=:"+base64.StdEncoding.EncodeToString(sum.Sum(nil))+":" {
		err = fmt.Errorf("%w: the digest is another one", errWrong)
	}
	return err
}

// compare reads a body to its end.
func (s *story) compare(body io.Reader, a asked) error {
	source := body
	if a.format == "tar.gz" {
		zr, err := gzip.NewReader(body)
		if err != nil {
			return fmt.Errorf("%w: %w", errWrong, err)
		}
		source = zr
	}
	if _, err := same(source, s.want(a.revision, a.prefix)); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, body); n != 0 || err != nil {
		return fmt.Errorf("%w: %d bytes after the end, %w", errWrong, n, err)
	}
	return nil
}

// broken remembers how a body broke.
type broken struct {
	r   io.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// TestReplicasServeAsOne is the deployment of deploy/ with real processes: what
// comes is what git makes, whichever replica answers, also when one of them is
// killed, and what cannot be had is refused visibly.
func TestReplicasServeAsOne(t *testing.T) {
	s := newStory(t)
	for _, chapter := range []func(*story){
		(*story).everyWayGivesTheArchive, (*story).objectsAreRedirectedTo, (*story).killUnderLoad, (*story).oneRedeems,
		(*story).laggingReplica, (*story).withoutRedisAndBucket,
	} {
		chapter(s)
	}
}

func (s *story) everyWayGivesTheArchive() {
	var all sync.WaitGroup
	var loads atomic.Int64
	for way := range ways {
		for i := range 8 {
			all.Go(func() {
				a := asked{revision: "main", format: []string{"tar", "tar.gz"}[i%2], prefix: []string{"", "p/"}[i/2%2]}
				err := s.load(s.balancer.url(), way, a)
				for tries := 1; errors.Is(err, errBusy) && tries < 5; tries++ { // Redis may take long on a busy machine
					err = s.load(s.balancer.url(), way, a)
				}
				if err != nil {
					s.t.Errorf("%s, %v: %v", way, a, err)
				}
				loads.Add(1)
			})
		}
	}
	all.Wait()
	var by []int
	for _, replica := range s.replicas {
		by = append(by, replica.answered(s.t))
	}
	if loads.Load() != int64(8*len(ways)) || slices.Contains(by, 0) {
		s.t.Errorf("%d downloads, the replicas answered %v", loads.Load(), by)
	}
}

// objectsAreRedirectedTo has one replica make an archive, and the others send
// clients to it.
func (s *story) objectsAreRedirectedTo() {
	a, before := asked{revision: "main", format: "tar.gz", prefix: "redirected/"}, s.seals()
	if err := s.load(s.replicas[0].url(), "plain", a); err != nil {
		s.t.Fatal(err)
	}
	wait(s.t, "the archive is in the bucket", func() bool { return s.seals() > before })
	for _, way := range []string{"plain", "stream", "downloadUrl"} {
		for _, replica := range s.replicas[1:] {
			follows := s.follows.Load()
			if err := s.load(replica.url(), way, a); err != nil {
				s.t.Errorf("%s: %v", way, err)
			}
			// A downloadUrl is of the balancer, which may pick the first.
			if s.follows.Load() != follows+1 && way != "downloadUrl" {
				s.t.Errorf("%s: no redirect", way)
			}
		}
	}
}

// download is one that stands still while a replica is killed.
type download struct {
	url, etag string
	body      io.ReadCloser
	at        int64
	err       error
}

// hold begins downloads and leaves them after their first bytes: some of them
// by links that are good for one download.
func (s *story) hold() []*download {
	s.t.Helper()
	list := make([]*download, held)
	for i := range list {
		a := asked{revision: fmt.Sprint("held", i), format: "tar", exclude: fmt.Sprint("none", i)}
		address, response := s.begin(a, i%3 == 2)
		head := make([]byte, 64<<10)
		if _, err := io.ReadFull(response.Body, head); err != nil ||
			!bytes.Equal(head, s.want("large", "")[:len(head)]) {
			s.t.Fatalf("%s: the first bytes are wrong, or %v", a.revision, err)
		}
		list[i] = &download{url: address, etag: response.Header.Get("ETag"), body: response.Body, at: int64(len(head))}
	}
	return list
}

// begin asks for an archive, by a link or not. On a machine that is too busy for
// Redis to answer in time a link may be refused for the moment.
func (s *story) begin(a asked, byLink bool) (address string, response *http.Response) {
	s.t.Helper()
	wait(s.t, "a download begins", func() (begun bool) {
		address = s.balancer.url() + a.path()
		var err error
		if byLink {
			if address, err = s.downloadURL(s.balancer.url(), a); err != nil {
				s.t.Fatal(err)
			}
		}
		if response, err = s.client.Do(getRequest(s.t, address)); err != nil {
			s.t.Fatal(err)
		}
		if begun = response.StatusCode == http.StatusOK; !begun &&
			(!byLink || response.StatusCode != http.StatusServiceUnavailable) {
			s.t.Fatalf("%v: %s", a, response.Status)
		}
		return begun
	})
	return address, response
}

// busiest is the replica with the most connections.
func (s *story) busiest() *server {
	s.t.Helper()
	return slices.MaxFunc(s.replicas, func(a, b *server) int { return a.connections(s.t) - b.connections(s.t) })
}

// rest reads what is left of a held download.
func (s *story) rest(d *download) {
	n, err := same(d.body, s.want("large", "")[d.at:])
	d.at, d.err = d.at+n, err
	_ = d.body.Close() // the connection may be gone
}

// resume goes on with a download that broke, at whatever replica answers.
func (s *story) resume(d *download) error {
	request := getRequest(s.t, d.url)
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
	request.Header.Set("If-Range", d.etag)
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("%s", response.Status)
	}
	_, err = same(response.Body, s.want("large", "")[d.at:])
	return err
}

// crowd asks for archives in all ways until it is stopped.
type crowd struct {
	stop          chan struct{}
	all           sync.WaitGroup
	good, visible atomic.Int64
}

func (s *story) gather(clients int) *crowd {
	c := &crowd{stop: make(chan struct{})}
	names := []string{"downloadUrl", "httpUrl", "plain", "stream"}
	for i := range clients {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		c.all.Go(func() {
			for {
				select {
				case <-c.stop:
					return
				default:
				}
				a := asked{revision: "main", format: []string{"tar", "tar.gz"}[random.IntN(2)],
					prefix: fmt.Sprintf("load%d/", random.IntN(prefixes))}
				way := names[random.IntN(len(names))]
				switch err := s.load(s.balancer.url(), way, a); {
				case err == nil:
					c.good.Add(1)
				case errors.Is(err, errVisible):
					c.visible.Add(1)
				default:
					s.t.Errorf("%s, %v: %v", way, a, err)
				}
			}
		})
	}
	return c
}

func (s *story) killUnderLoad() {
	downloads := s.hold()
	victim := s.busiest()
	c := s.gather(6)
	wait(s.t, "downloads before the kill", func() bool { return c.good.Load() >= 20 })
	victim.kill(s.t)
	before := c.good.Load()
	var reading sync.WaitGroup
	for _, d := range downloads {
		reading.Go(func() { s.rest(d) })
	}
	reading.Wait()
	whole, resumed := 0, 0
	for _, d := range downloads {
		switch {
		case d.err == nil:
			whole++
		case errors.Is(d.err, errWrong):
			s.t.Errorf("%s: %v", d.url, d.err)
		default:
			if err := s.resume(d); err != nil {
				s.t.Errorf("%s, the rest from %d of %d: %v", d.url, d.at, len(s.want("large", "")), err)
				continue
			}
			resumed++
		}
	}
	wait(s.t, "downloads after the kill", func() bool { return c.good.Load() >= before+40 })
	back := victim.answered(s.t)
	victim.start(s.t)
	wait(s.t, "the replica is asked again", func() bool { return victim.answered(s.t) > back })
	close(c.stop)
	c.all.Wait()
	s.cameBack(victim)
	s.t.Logf("%d downloads went on, %d broke and were resumed; of the load %d were whole and %d failed visibly; %d "+
		"redirects",
		whole, resumed, c.good.Load(), c.visible.Load(), s.follows.Load())
	if whole == 0 || resumed == 0 {
		s.t.Errorf("%d downloads went on and %d were resumed: the kill proves nothing", whole, resumed)
	}
}

// cameBack asks a replica that was killed for what it may have been making.
func (s *story) cameBack(victim *server) {
	for i := range prefixes {
		a := asked{revision: "main", format: "tar", prefix: fmt.Sprintf("load%d/", i)}
		if err := s.load(victim.url(), "plain", a); err != nil {
			s.t.Errorf("%v of the replica that came back: %v", a, err)
		}
	}
}

// fetch asks for an address as it is, and follows no redirect.
func (s *story) fetch(address string) (status int, header http.Header) {
	s.t.Helper()
	client := *s.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(getRequest(s.t, address))
	if err != nil {
		s.t.Error(err)
		return 0, nil
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		s.t.Error(err)
	}
	return response.StatusCode, response.Header
}

// at is a link at one replica.
func at(t *testing.T, link string, s *server) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = s.address
	return u.String()
}

// oneRedeems uses a link for one download everywhere at once.
func (s *story) oneRedeems() {
	wait(s.t, "Redis answers in time", func() bool {
		won, gone, refused := s.redeemAtOnce()
		if won > 1 || won+gone+refused != 100 || refused == 0 && won != 1 {
			s.t.Errorf("one link: %d downloads, %d are told that it was used, %d that it cannot be known", won, gone,
				refused)
		}
		return refused == 0
	})
}

func (s *story) redeemAtOnce() (won, gone, refused int64) {
	s.t.Helper()
	link, err := s.downloadURL(s.balancer.url(), asked{revision: "main", format: "tar.gz"})
	if err != nil {
		s.t.Fatal(err)
	}
	var statuses [600]atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			status, _ := s.fetch(at(s.t, link, append([]*server{s.balancer}, s.replicas...)[i%4]))
			statuses[status].Add(1)
		})
	}
	all.Wait()
	won = statuses[http.StatusOK].Load() + statuses[http.StatusFound].Load()
	return won, statuses[http.StatusNotFound].Load(), statuses[http.StatusServiceUnavailable].Load()
}

// laggingReplica has a push reach all mirrors but the last.
func (s *story) laggingReplica() {
	s.origin.Commit("late", gittest.Regular("late", gittest.Noise(1<<20)))
	first, last := s.replicas[0], s.replicas[2]
	s.follow(s.replicas[:2]...)
	a := asked{revision: "late", format: "tar.gz"}
	link, err := s.downloadURL(first.url(), a)
	if err != nil {
		s.t.Fatal(err)
	}
	if status, header := s.fetch(at(s.t, link, last)); status != http.StatusServiceUnavailable ||
		header.Get("Retry-After") == "" {
		s.t.Errorf("a commit that has not come: %d, %v", status, header)
	}
	before := s.seals()
	if err := s.load(first.url(), "plain", a); err != nil {
		s.t.Error(err)
	}
	wait(s.t, "the archive is in the bucket", func() bool { return s.seals() > before })
	response, err := s.client.Do(getRequest(s.t, at(s.t, link, last)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := s.check(response, a); err != nil || response.Request.URL.Host != last.address {
		s.t.Errorf("a commit that has not come, and is in the bucket: %s, %v", response.Status, err)
	}
	s.follow(last)
	if err := s.load(last.url(), "downloadUrl", a); err != nil {
		s.t.Errorf("after the commit has come: %v", err)
	}
}

// withoutRedisAndBucket ends what replicas share: only links for one download
// need it.
func (s *story) withoutRedisAndBucket() {
	link, err := s.downloadURL(s.balancer.url(), asked{revision: "main", format: "tar.gz"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.redis.kill(s.t)
	if status, header := s.fetch(link); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		s.t.Errorf("a link for one download without Redis: %d, %v", status, header)
	}
	s.gateway.kill(s.t)
	start := time.Now()
	for i, way := range []string{"plain", "stream", "httpUrl", "plain", "stream", "httpUrl"} {
		if err := s.load(s.balancer.url(), way, asked{revision: "main", format: "tar.gz",
			prefix: fmt.Sprintf("alone%d/", i)}); err != nil {
			s.t.Errorf("%s without Redis and the bucket: %v", way, err)
		}
	}
	s.t.Logf("6 downloads without Redis and the bucket took %v", time.Since(start))
	s.redisIsLogged("Redis has trouble")
	s.redis.start(s.t)
	wait(s.t, "links are redeemed again", func() bool {
		status, _ := s.fetch(link)
		return status == http.StatusOK
	})
}

// redisIsLogged looks for what go-redis says in the logs, where it belongs.
func (s *story) redisIsLogged(message string) {
	s.t.Helper()
	found := 0
	for _, replica := range s.replicas {
		log, err := os.ReadFile(replica.log)
		if err != nil {
			s.t.Fatal(err)
		}
		found += strings.Count(string(log), `"msg":"`+message+`"`)
		if strings.Contains(string(log), "\nredis: ") {
			s.t.Errorf("go-redis writes past the log of %s", replica.address)
		}
	}
	if found == 0 {
		s.t.Errorf("no log has %q", message)
	}
}
