package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/repomcp/repomcp/internal/cache"
)

const (
	// probeName is the prefix of temporary files and objects. The cache ignores files with such
	// names.
	probeName = "repomcp-doctor-"
	// bucketPatience bounds all requests to a bucket.
	bucketPatience = 15 * time.Second
	// probeExpiry is the lifetime of the signed URL.
	probeExpiry = time.Minute
	// spareDisk is the free space that a disk needs beyond the cache's limit.
	spareDisk = 256 << 20
)

var errOtherContent = errors.New("what is read is not what was written")

// checkTemporary makes a temporary file, as reading a large file does that git stores as a delta.
func (e *examination) checkTemporary(context.Context) {
	dir := os.TempDir()
	if err := probeFolder(dir); err != nil {
		e.fault("TMPDIR "+dir, withoutPath(err).Error(),
			"large files that are stored as deltas cannot be read until it can be written: mount a volume there")
		return
	}
	e.ok("files can be made in " + dir)
}

func (e *examination) checkCache(context.Context) {
	if e.CacheDir == "" || e.CacheBytes == 0 {
		return
	}
	info, err := os.Stat(e.CacheDir)
	if errors.Is(err, fs.ErrNotExist) {
		e.ok("the folder is made when the server starts")
		return
	}
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err == nil {
		err = probeFolder(e.CacheDir)
	}
	if err != nil {
		e.fault("--cache-dir "+e.CacheDir, withoutPath(err).Error(),
			"archives are made anew each time until it can be written")
		return
	}
	if info.Mode().Perm()&0o007 != 0 {
		e.warn("--cache-dir "+e.CacheDir, "every user of this machine can look into archives of all repositories",
			"chmod o-rwx")
	}
	e.checkSpace()
	if e.quiet() {
		e.ok("the folder can be written")
	}
}

// checkSpace compares the free space with the possible growth of the cache.
func (e *examination) checkSpace() {
	free, err := e.machine.free(e.CacheDir)
	if err != nil {
		return // unknown on this system
	}
	used := folderBytes(e.CacheDir)
	if grows := max(e.CacheBytes-used, 0) + spareDisk; free < grows {
		e.warn("--cache-dir "+e.CacheDir, fmt.Sprintf("the disk has %s free, and the cache may take %s more",
			size(free), size(grows-spareDisk)), "lower --cache-bytes, or give it a larger disk")
	}
}

// folderBytes sums the files directly in a folder, where the cache keeps all of its files.
func folderBytes(dir string) (sum int64) {
	entries, _ := os.ReadDir(dir) // an unreadable folder counts as empty
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

func probeFolder(dir string) (err error) {
	name := filepath.Join(dir, probeName+rand.Text())
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(name)) }()
	if _, err = file.WriteString(probeName); err != nil {
		return err
	}
	if err = file.Sync(); err != nil {
		return err
	}
	back := make([]byte, len(probeName))
	if _, err = file.ReadAt(back, 0); err == nil && string(back) != probeName {
		err = errOtherContent
	}
	return err
}

func withoutPath(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (e *examination) checkBucket(ctx context.Context) {
	if e.Bucket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, bucketPatience)
	defer cancel()
	bucket, err := cache.OpenBucket(ctx, e.Bucket)
	if err != nil {
		e.fault("--object-store", err.Error(), notStarted)
		return
	}
	defer func() { _ = bucket.Close() }() // all requests are done
	if err := e.probeBucket(ctx, bucket); err != nil {
		e.fault("--object-store", err.Error(), "let the server's credentials put, get and delete objects in it")
	}
	if e.quiet() {
		e.ok("an object was written, read by a signed URL and removed")
	}
}

// probeBucket uploads, reads and deletes a small object, as the cache does with archives.
func (e *examination) probeBucket(ctx context.Context, bucket cache.Bucket) (err error) {
	name, content := probeName+rand.Text(), []byte(probeName+rand.Text())
	if err := bucket.Upload(ctx, name, "application/octet-stream", bytes.NewReader(content)); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	removed := false
	defer func() { // even after a timeout
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bucketPatience)
		defer cancel()
		if !removed {
			err = errors.Join(err, bucket.Delete(ctx, name))
		}
	}()
	switch size, err := bucket.Size(ctx, name); {
	case err != nil:
		return fmt.Errorf("asking for the size: %w", err)
	case size != int64(len(content)):
		return fmt.Errorf("the size is %d bytes, not %d: %w", size, len(content), errOtherContent)
	}
	body, err := bucket.Open(ctx, name, 0, int64(len(content)))
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	got, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err == nil && !bytes.Equal(got, content) {
		err = errOtherContent
	}
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	e.probeURL(ctx, bucket, name, content)
	if err := bucket.Delete(ctx, name); err != nil {
		return fmt.Errorf("deleting: %w", err)
	}
	removed = true
	switch _, err := bucket.Size(ctx, name); {
	case err == nil:
		return errors.New("what was deleted is there still")
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("what is not there is not told from a failure: %w", err)
	}
	return nil
}

// probeURL requests a signed URL without credentials, as a redirected client does: once plainly,
// and once with the known ETag.
func (e *examination) probeURL(ctx context.Context, bucket cache.Bucket, name string, content []byte) {
	const subject = "--object-store"
	if e.PublicBucket != "" {
		public, err := cache.OpenBucket(ctx, e.PublicBucket)
		if err != nil {
			e.fault("--object-store-public", err.Error(), notStarted)
			return
		}
		defer func() { _ = public.Close() }() // all requests are done
		bucket = public
	}
	signed, err := bucket.SignURL(ctx, name, "probe.bin", probeExpiry)
	if err != nil {
		e.warn(subject, "no URL can be signed: "+err.Error(), "clients are not redirected to the bucket")
		return
	}
	first, err := get(ctx, signed, "")
	if err == nil && first.status != http.StatusOK {
		err = fmt.Errorf("the status is %d", first.status)
	}
	if err == nil && !bytes.Equal(first.body, content) {
		err = errOtherContent
	}
	if err != nil {
		e.warn(subject, "a signed URL does not work from this machine: "+withoutURL(err),
			"clients that are redirected may fail; see the bucket's address and rights")
		return
	}
	if theirs, err := http.ParseTime(first.header.Get("Date")); err == nil {
		e.clocks["the object storage"] = reading{theirs, e.now()}
	}
	again, err := get(ctx, signed, first.header.Get("ETag"))
	if err == nil && again.status != http.StatusNotModified {
		e.warn(subject, "the bucket does not honour If-None-Match", "clients load again what they have")
	}
}

// reply is the response of a signed URL.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// get follows no redirect, because buckets do not redirect.
func get(ctx context.Context, url, etag string) (reply, error) {
	const mostBytes = 64 << 10 // an error in XML
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return reply{}, err
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	return reply{response.StatusCode, response.Header, body}, errors.Join(err, response.Body.Close())
}
