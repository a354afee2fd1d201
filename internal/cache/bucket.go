package cache

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"
)

// Bucket is object storage, as far as the cache needs it. What is done with an
// object that is not there fails with [io/fs.ErrNotExist].
type Bucket interface {
	// Size returns how many bytes an object has.
	Size(ctx context.Context, name string) (int64, error)
	// Open reads a part of an object, at least one byte long, or what there is
	// of it. The context bounds the reading as well.
	Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Upload makes an object of what r returns. It appears whole, after r has come
	// to its end; if r fails, or the context ends before, it does not appear.
	Upload(ctx context.Context, name, mediaType string, r io.Reader) error
	Delete(ctx context.Context, name string) error
	// SignURL makes a URL that anyone can GET an object with. What it loads is
	// saved as fileName, where the service can be told so.
	SignURL(ctx context.Context, name, fileName string, expiry time.Duration) (string, error)
	// Close ends what was opened with the bucket.
	Close() error
}

const (
	// partBytes is the smallest part that S3 takes; smaller objects are sent as
	// one. An upload holds at most three of them.
	partBytes = 5 << 20
	// partsAtOnce is how many are on their way, so that the next one can be
	// filled meanwhile.
	partsAtOnce = 2

	// Browsers and caches on the way treat an object as they do the same bytes
	// from the server.
	uploadDisposition  = "attachment"
	uploadCacheControl = "private"
)

// OpenBucket opens a bucket by its URL: s3://NAME and, with the build tag cloud,
// azblob://NAME, gs://NAME and file:///FOLDER. Nothing is asked of the service
// yet.
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
