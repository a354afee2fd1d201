package cache

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"
)

// Bucket is the part of object storage that the cache needs. Operations on a missing object fail
// with [io/fs.ErrNotExist].
type Bucket interface {
	// Size returns the size of an object in bytes.
	Size(ctx context.Context, name string) (int64, error)
	// Open reads a part of an object, which has at least one byte, or as much of it as exists. The
	// context bounds the reading as well.
	Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Upload creates an object from r. The object appears whole, after r has ended; it does not
	// appear if r fails or the context ends earlier.
	Upload(ctx context.Context, name, mediaType string, r io.Reader) error
	Delete(ctx context.Context, name string) error
	// SignURL returns a URL from which anyone can GET an object. Clients save the content as
	// fileName, if the service supports that.
	SignURL(ctx context.Context, name, fileName string, expiry time.Duration) (string, error)
	Close() error
}

const (
	// partBytes is the smallest part that S3 accepts; smaller objects are sent in one request. An
	// upload holds at most three parts.
	partBytes = 5 << 20
	// partsAtOnce is the number of parts in transit, while the next one is filled.
	partsAtOnce = 2

	// Browsers and caches treat an object as they treat the same bytes from the server.
	uploadDisposition  = "attachment"
	uploadCacheControl = "private"
)

// OpenBucket opens a bucket by its URL: s3://NAME and, with the build tag cloud, azblob://NAME,
// gs://NAME and file:///FOLDER. It sends no request to the service.
func OpenBucket(ctx context.Context, address string) (Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("not the URL of a bucket: %w", err)
	}
	if u.Scheme == "s3" {
		return openS3(u)
	}
	return openCloud(ctx, u)
}
