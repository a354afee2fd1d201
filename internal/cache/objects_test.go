package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/repomcp/repomcp/internal/cache/cachetest"
	"github.com/repomcp/repomcp/internal/gittest"
)

// buckets are the object storages of a build, each of them empty.
func buckets(t *testing.T, test func(t *testing.T, b Bucket)) {
	kinds := cloudBuckets()
	kinds["memory"] = func(*testing.T) Bucket { return &cachetest.Bucket{} }
	kinds["s3"] = func(t *testing.T) Bucket { return newGateway(t).bucket(t) }
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			defer func() { _ = b.Close() }()
			test(t, b)
		})
	}
}

// names lists a bucket.
func names(t *testing.T, b Bucket) (list []string) {
	t.Helper()
	switch b := b.(type) {
	case *cachetest.Bucket:
		return b.Names()
	case *s3Bucket:
		for o := range b.client.Client.ListObjects(t.Context(), b.name, minio.ListObjectsOptions{Recursive: true}) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			list = append(list, o.Key)
		}
		return list
	default:
		return cloudNames(t, b)
	}
}

// replica is a cache with a disk of its own over a bucket.
func replica(t *testing.T, b Bucket) *Cache {
	t.Helper()
	return testCache(t, Options{Disk: testDisk(t, t.TempDir(), 1<<30),
		Objects: NewObjects(b, b)})
}

func TestReplicasShareObjects(t *testing.T) {
	buckets(t, func(t *testing.T, b Bucket) {
		for _, size := range []int{0, 1, chunkBytes, 2*chunkBytes + 5, partBytes + 3*chunkBytes + 1} {
			s := &source{bytes: content(1, size)}
			key := KeyOf(fmt.Sprint(size))
			first := replica(t, b)
			mustRead(t, first, key, s)
			idle(first)
			if stats := first.Stats(); stats.Uploads != 1 || stats.RemoteFaults != 0 {
				t.Errorf("%+v", stats)
			}
			second := replica(t, b)
			e, err := second.Get(t.Context(), key, media, s.build, unreserved)
			if err != nil {
				t.Fatal(err)
			}
			if id, ok := e.Identity(); !ok || id.Size != int64(size) || e.object == nil {
				t.Errorf("size %d: the entry is %+v", size, e)
			}
			e.Close()
			mustRead(t, second, key, s)
			idle(second)
			mustRead(t, second, key, s)
			stats := second.Stats()
			if s.runs.Load() != 1 || stats.RemoteHits != 2 || stats.Hits != 1 || stats.Uploads != 0 {
				t.Errorf("size %d: %d builds, %+v", size, s.runs.Load(), stats)
			}
			e, ok := replica(t, b).Find(t.Context(), key, media, s.build, unreserved)
			if !ok {
				t.Fatal("nothing is found")
			}
			checkRanges(t, e, s.bytes)
			e.Close()
		}
	})
}

func TestAnAbortedBuildLeavesNoObject(t *testing.T) {
	buckets(t, func(t *testing.T, b Bucket) {
		for _, size := range []int{chunkBytes, 2*partBytes + chunkBytes} {
			broken := errors.New("a damaged object")
			c := replica(t, b)
			fails := &source{bytes: content(1, size), before: func(_ context.Context, offset int) error {
				if offset+pieceBytes >= size {
					return broken
				}
				return nil
			}}
			if _, err := read(t, c, KeyOf("fails"), fails.build); !errors.Is(err, broken) {
				t.Errorf("%v", err)
			}
			left := &source{bytes: content(1, size), before: newGate(size - pieceBytes).wait}
			e, err := c.Get(t.Context(), KeyOf("left"), media, left.build, unreserved)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.WriteRange(t.Context(), io.Discard, 0, int64(size-pieceBytes)); err != nil {
				t.Error(err)
			}
			e.Close()
			idle(c)
			if list := names(t, b); len(list) != 0 {
				t.Errorf("there are %v", list)
			}
			if stats := c.Stats(); stats.Uploads != 0 || stats.UploadFaults != 0 {
				t.Errorf("%+v", stats)
			}
		}
	})
}

func TestAnObjectThatIsNotWholeIsNone(t *testing.T) {
	b := &cachetest.Bucket{}
	s := &source{bytes: content(1, 3*chunkBytes+1)}
	key := KeyOf("x")
	c := replica(t, b)
	mustRead(t, c, key, s)
	idle(c)
	whole, err := b.Object(key.String())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := b.Object(key.String() + sealSuffix)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(sealed)
	flipped[sizeAt+7] ^= 1
	other := bytes.Clone(sealed)
	other[keyAt] ^= 1
	for name, pair := range map[string][2][]byte{
		"no seal": {whole, nil}, "no object": {nil, sealed}, "a short object": {whole[:len(whole)-1], sealed},
		"a long object": {append(bytes.Clone(whole), 0), sealed}, "a short seal": {whole, sealed[:footerBytes-1]},
		"a wrong seal": {whole, flipped}, "another's seal": {whole, other},
	} {
		for i, suffix := range []string{"", sealSuffix} {
			_ = b.Delete(t.Context(), key.String()+suffix)
			if pair[i] != nil {
				b.Put(key.String()+suffix, pair[i])
			}
		}
		if _, ok := replica(t, b).Find(t.Context(), key, media, s.build, unreserved); ok {
			t.Errorf("%s: it is found", name)
		}
		builds := s.runs.Load()
		c := replica(t, b)
		mustRead(t, c, key, s)
		idle(c)
		if s.runs.Load() != builds+1 {
			t.Errorf("%s: no build", name)
		}
		if _, ok := replica(t, b).Find(t.Context(), key, media, s.build, unreserved); !ok {
			t.Errorf("%s: it is not mended", name)
		}
	}
}

func TestAnAlteredObjectIsDroppedAndBuiltOnFrom(t *testing.T) {
	b := &cachetest.Bucket{}
	const size = 4*chunkBytes + 9
	s := &source{bytes: content(1, size)}
	cases := 0
	for at := 0; at < size; at += chunkBytes - 1 {
		for _, inSeal := range []bool{false, true} {
			cases++
			key := KeyOf(fmt.Sprint(at, inSeal))
			first := replica(t, b)
			mustRead(t, first, key, s)
			idle(first)
			name, place := key.String(), at
			if inSeal {
				name, place = name+sealSuffix, footerBytes+at/chunkBytes
			}
			raw, err := b.Object(name)
			if err != nil {
				t.Fatal(err)
			}
			raw[place] ^= 4
			b.Put(name, raw)
			second := replica(t, b)
			mustRead(t, second, key, s)
			idle(second)
			if stats := second.Stats(); stats.RemoteDamaged != 1 || stats.Builds != 1 || stats.Entries != 1 {
				t.Errorf("byte %d, seal %v: %+v", at, inSeal, stats)
			}
			if _, err := b.Object(key.String() + sealSuffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("byte %d, seal %v: it is there, %v", at, inSeal, err)
			}
		}
	}
	if cases < 10 {
		t.Errorf("only %d cases", cases)
	}
}

func TestRedirects(t *testing.T) {
	b := &cachetest.Bucket{Base: "https://files.example/"}
	s := &source{bytes: content(1, 1000)}
	first := testCache(t, Options{Objects: NewObjects(b, nil)})
	e, err := first.Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Redirect(t.Context(), "x.tar"); !errors.Is(err, ErrNoRedirect) {
		t.Errorf("before there is an object: %v", err)
	}
	if err := e.WriteTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	e.Close()
	idle(first)
	for public, want := range map[Bucket]bool{nil: false, b: true} {
		c := testCache(t, Options{Objects: NewObjects(b, public)})
		e, err := c.Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
		if err != nil {
			t.Fatal(err)
		}
		address, err := e.Redirect(t.Context(), "x.tar")
		if want != (err == nil) || !want && !errors.Is(err, ErrNoRedirect) {
			t.Errorf("%q and %v", address, err)
		}
		// Clients that cannot follow redirects get the bytes.
		var out bytes.Buffer
		if err := e.WriteTo(t.Context(), &out); err != nil || !bytes.Equal(out.Bytes(), s.bytes) {
			t.Errorf("%d bytes and %v", out.Len(), err)
		}
		e.Close()
	}
	if s.runs.Load() != 1 {
		t.Errorf("%d builds", s.runs.Load())
	}
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var open []net.Conn
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open = append(open, conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	return l.Addr().String()
}

// refusing is an address without a listener.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// patience is how long a test waits for what takes much less, so that a hang
// fails it.
const patience = 30 * time.Second

func TestObjectStorageThatDoesNotAnswer(t *testing.T) {
	gittest.Long(t)
	answering := func(status int, after time.Duration) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(after):
			case <-r.Context().Done():
			}
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	for name, address := range map[string]string{
		"silent": silent(t), "refusing": refusing(t), "slow": answering(http.StatusOK, 2*remoteTimeout),
		"forbidden": answering(http.StatusForbidden, 0), "broken": answering(http.StatusInternalServerError, 0),
	} {
		t.Run(name, func(t *testing.T) {
			b := gatewayBucket(t, "http://"+address)
			defer func() { _ = b.Close() }()
			o := NewObjects(b, b)
			c := testCache(t, Options{Objects: o, Disk: testDisk(t, t.TempDir(), 1<<30)})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for i := range 2 * tripAfter {
				s := &source{bytes: content(uint64(i), chunkBytes)}
				e, err := c.Get(ctx, KeyOf(fmt.Sprint(i)), media, s.build, unreserved)
				if err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				if err := e.WriteTo(ctx, &out); err != nil || !bytes.Equal(out.Bytes(), s.bytes) {
					t.Errorf("%d bytes and %v", out.Len(), err)
				}
				e.Close()
			}
			if state := o.breaker.State().String(); state != "open" {
				t.Errorf("the breaker is %s", state)
			}
			stats := c.Stats()
			if stats.RemoteFaults < tripAfter || stats.UploadDrops < tripAfter || stats.Builds != 2*tripAfter {
				t.Errorf("%+v", stats)
			}
		})
	}
}

// A hanging upload delays no client, and ends.
func TestAnUploadThatHangs(t *testing.T) {
	b := gatewayBucket(t, "http://"+silent(t))
	defer func() { _ = b.Close() }()
	o := NewObjects(b, nil)
	o.stall, o.slots = 100*time.Millisecond, make(chan struct{}, 1)
	for _, disk := range []bool{true, false} {
		c := New(Options{Objects: o, WindowBytes: 2 * chunkBytes})
		if disk {
			c.disk = testDisk(t, t.TempDir(), 1<<30)
		}
		mustRead(t, c, KeyOf("x"), &source{bytes: content(1, 4*partBytes)})
		idle(c)
		c.Close()
	}
	stats := testCache(t, Options{Objects: o}).Stats()
	if stats.Uploads != 0 || stats.UploadDrops+stats.UploadFaults != 2 || len(o.slots) != 0 {
		t.Errorf("%+v", stats)
	}
}

// stoppingBucket calls stop when the first bytes of an object were read.
type stoppingBucket struct {
	Bucket
	stop func()
}

func (b *stoppingBucket) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.Bucket.Open(ctx, name, offset, length)
	if err == nil && !strings.HasSuffix(name, sealSuffix) {
		r = &stoppingReader{ReadCloser: r, stop: b.stop}
	}
	return r, err
}

type stoppingReader struct {
	io.ReadCloser
	stop func()
	once sync.Once
}

func (r *stoppingReader) Read(p []byte) (int, error) {
	defer r.once.Do(r.stop)
	return r.ReadCloser.Read(p)
}

// shortBucket ends each reply of more than one byte half-way, as a broken connection does.
type shortBucket struct{ Bucket }

func (b shortBucket) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	return b.Bucket.Open(ctx, name, offset, (length+1)/2)
}

// A broken connection tells nothing of the object, which other replicas can still read.
func TestAShortReplyRemovesNoObject(t *testing.T) {
	b := &cachetest.Bucket{}
	s := &source{bytes: content(1, 3*chunkBytes)}
	first := replica(t, b)
	mustRead(t, first, KeyOf("x"), s)
	idle(first)
	whole, err := first.objects.find(t.Context(), KeyOf("x"))
	if err != nil || whole == nil {
		t.Fatalf("%+v and %v", whole, err)
	}
	for name, short := range map[string]func(bucket *Objects) error{
		"of the content": func(o *Objects) error {
			_, err := o.copyTo(t.Context(), whole, io.Discard)
			return err
		},
		"of the seal": func(o *Objects) error {
			_, err := o.lookUp(t.Context(), KeyOf("x"))
			return err
		},
	} {
		if err := short(NewObjects(shortBucket{b}, nil)); err == nil || errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	second := replica(t, shortBucket{b})
	mustRead(t, second, KeyOf("x"), s)
	idle(second)
	if stats := second.Stats(); stats.RemoteDamaged != 0 || stats.RemoteFaults == 0 || stats.Builds != 1 {
		t.Errorf("%+v", stats)
	}
	mustRead(t, replica(t, b), KeyOf("x"), s)
	if s.runs.Load() != 2 {
		t.Errorf("%d builds", s.runs.Load())
	}
}

// Reading that hangs half-way goes on with a build. The object is larger than what the system holds for a connection.
func TestAnObjectThatStopsHalfWay(t *testing.T) {
	g := newGateway(t)
	b := g.bucket(t)
	defer func() { _ = b.Close() }()
	s := &source{bytes: content(1, 160*chunkBytes)}
	c := replica(t, b)
	mustRead(t, c, KeyOf("x"), s)
	idle(c)
	second := replica(t, &stoppingBucket{b, func() { g.stop(t) }})
	second.objects.slow = 200 * time.Millisecond
	e, err := second.Get(t.Context(), KeyOf("x"), media, s.build, unreserved)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var out bytes.Buffer
	if err := e.WriteTo(t.Context(), &out); err != nil || !bytes.Equal(out.Bytes(), s.bytes) {
		t.Errorf("%d bytes and %v", out.Len(), err)
	}
	if stats := second.Stats(); stats.Builds != 1 || stats.RemoteFaults == 0 {
		t.Errorf("%+v", stats)
	}
}

func TestRealParts(t *testing.T) {
	for _, name := range []string{"versitygw", "redis-server", "curl"} {
		if installed(name) == "" {
			t.Logf("ABSENT: %s", name)
		} else {
			t.Logf("present: %s", name)
		}
	}
}
