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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repomcp/repomcp/internal/gittest"
)

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
	s.client = &http.Client{Transport: s.fleet, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		s.follows.Add(1)
		if r.URL.Host != s.gateway.address || r.Method != http.MethodGet {
			return fmt.Errorf("redirected to %s of %s", r.Method, r.URL)
		}
		return nil
	}}
	t.Cleanup(s.transport.CloseIdleConnections)
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

// insist is load, again where a machine is too busy for Redis to answer in time.
func (s *story) insist(base, way string, a asked) error {
	return patiently(func() error { return s.load(base, way, a) })
}

func patiently(do func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Second) {
		if err := do(); !errors.Is(err, errBusy) || time.Now().After(deadline) {
			return err
		}
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
	gittest.Await(s.t, "a download begins", func() (begun bool) {
		address = s.balancer.url() + a.path()
		var err error
		if byLink {
			if address, err = s.downloadURL(s.balancer.url(), a); errors.Is(err, errVisible) {
				return false
			} else if err != nil {
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
	if response.StatusCode == http.StatusServiceUnavailable {
		return errBusy
	}
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
