//go:build cloud

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	"gocloud.dev/gcerrors"
)

// cloudBucket is a bucket of a service with a gocloud driver. The clients of Azure and Google would
// double the program, add gRPC and 8 ms to every start: only builds with the tag, such as the
// container image, include them.
type cloudBucket struct{ bucket *blob.Bucket }

func openCloud(ctx context.Context, u *url.URL) (Bucket, error) {
	b, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, err
	}
	return cloudBucket{b}, nil
}

func (b cloudBucket) Size(ctx context.Context, name string) (int64, error) {
	attributes, err := b.bucket.Attributes(ctx, name)
	if err != nil {
		return 0, cloudError(err)
	}
	return attributes.Size, nil
}

func (b cloudBucket) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.bucket.NewRangeReader(ctx, name, offset, length, nil)
	if err != nil {
		return nil, cloudError(err)
	}
	return r, nil
}

// Upload lets the driver read: Azure's panics when a writer is closed after its upload has failed.
// A driver whose reader fails keeps the earlier bytes, unless its context has ended.
func (b cloudBucket) Upload(ctx context.Context, name, mediaType string, r io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := b.bucket.Upload(ctx, name, &cancelingReader{r, cancel}, &blob.WriterOptions{
		ContentType: mediaType, ContentDisposition: uploadDisposition, CacheControl: uploadCacheControl,
		BufferSize: partBytes, MaxConcurrency: partsAtOnce,
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return cloudError(err)
}

// cancelingReader cancels a context before it returns an error.
type cancelingReader struct {
	r      io.Reader
	cancel context.CancelCauseFunc
}

func (c *cancelingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		c.cancel(err)
	}
	return n, err
}

func (b cloudBucket) Delete(ctx context.Context, name string) error {
	return cloudError(b.bucket.Delete(ctx, name))
}

// SignURL cannot name the file: the drivers do not support that.
func (b cloudBucket) SignURL(ctx context.Context, name, _ string, expiry time.Duration) (string, error) {
	return b.bucket.SignedURL(ctx, name, &blob.SignedURLOptions{Expiry: expiry, Method: "GET"})
}

func (b cloudBucket) Close() error { return b.bucket.Close() }

// cloudError distinguishes missing objects from other failures.
func cloudError(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
