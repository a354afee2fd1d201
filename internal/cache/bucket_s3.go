package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	amazonHost = "s3.amazonaws.com"
	// s3Attempts is the number of attempts per request, within its caller's time.
	s3Attempts = 3
)

// s3Bucket is a bucket of Amazon S3 or of a compatible service.
type s3Bucket struct {
	client minio.Core
	name   string
	prefix string
	close  func()
}

// s3Settings are the parameters of an s3:// URL.
type s3Settings struct {
	region    string
	endpoint  string // http://HOST:PORT or https://HOST; Amazon's if there is none
	profile   string // in the shared configuration
	prefix    string // of object names
	pathStyle bool   // the path, rather than the host, contains the bucket's name
	plain     bool   // no TLS to Amazon
}

func parseS3(query string) (s3Settings, error) {
	s := s3Settings{region: os.Getenv("AWS_REGION")}
	if s.region == "" {
		s.region = os.Getenv("AWS_DEFAULT_REGION")
	}
	texts := map[string]*string{
		"region": &s.region, "endpoint": &s.endpoint, "profile": &s.profile, "prefix": &s.prefix,
	}
	switches := map[string]*bool{
		"use_path_style": &s.pathStyle, "s3ForcePathStyle": &s.pathStyle, "disable_https": &s.plain,
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, fmt.Errorf("the parameters of the bucket: %w", err)
	}
	for name := range values {
		value := values.Get(name)
		if to := texts[name]; to != nil {
			*to = value
			continue
		}
		to := switches[name]
		if to == nil {
			known := slices.AppendSeq(slices.Sorted(maps.Keys(texts)),
				slices.Values(slices.Sorted(maps.Keys(switches))))
			return s, fmt.Errorf("an s3:// URL has no parameter %q: there are %s", name, strings.Join(known, ", "))
		}
		if *to, err = strconv.ParseBool(value); err != nil {
			return s, fmt.Errorf("%s of an s3:// URL is true or false, not %q", name, value)
		}
	}
	return s, nil
}

// server returns the host, and the addressing of buckets. Amazon has a host per bucket, unless no
// certificate can match it; other services are assumed to do the same unless they are addressed by
// IP.
func (s s3Settings) server() (host string, o *minio.Options, err error) {
	host, o = amazonHost, &minio.Options{
		Region: s.region, Secure: !s.plain, BucketLookup: minio.BucketLookupAuto,
		MaxRetries: s3Attempts, Creds: s.credentials(),
	}
	if s.endpoint != "" {
		u, err := url.Parse(s.endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return "", nil, fmt.Errorf("the endpoint %q is not http://HOST:PORT or https://HOST", s.endpoint)
		}
		host, o.Secure = u.Host, u.Scheme == "https"
		if _, err := netip.ParseAddr(u.Hostname()); err != nil {
			o.BucketLookup = minio.BucketLookupDNS
		}
	}
	if s.pathStyle {
		o.BucketLookup = minio.BucketLookupPath
	}
	return host, o, nil
}

// credentials looks for credentials in the environment, in the shared configuration and at the
// machine, and refreshes expired ones.
func (s s3Settings) credentials() *credentials.Credentials {
	file := &credentials.FileAWSCredentials{Profile: s.profile}
	if s.profile != "" {
		return credentials.New(file)
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, file, &credentials.IAM{Region: s.region},
	})
}

func openS3(u *url.URL) (Bucket, error) {
	settings, err := parseS3(u.RawQuery)
	if err != nil {
		return nil, err
	}
	if u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the URL of a bucket is s3://BUCKET?region=REGION")
	}
	host, options, err := settings.server()
	if err != nil {
		return nil, err
	}
	transport, err := minio.DefaultTransport(options.Secure)
	if err != nil {
		return nil, err
	}
	options.Transport = transport
	client, err := minio.NewCore(host, options)
	if err != nil {
		return nil, err
	}
	// Signed URLs use the host that Amazon documents.
	client.SetS3EnableDualstack(false)
	return &s3Bucket{client: *client, name: u.Host, prefix: settings.prefix, close: transport.CloseIdleConnections}, nil
}

func (b *s3Bucket) Size(ctx context.Context, name string) (int64, error) {
	o, err := b.client.StatObject(ctx, b.name, b.prefix+name, minio.StatObjectOptions{})
	return o.Size, s3Error(err)
}

func (b *s3Bucket) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	var part minio.GetObjectOptions
	if err := part.SetRange(offset, offset+length-1); err != nil {
		return nil, err
	}
	// The client's own reader would read again from the start after a broken connection; the cache
	// uses a build instead.
	body, _, _, err := b.client.GetObject(ctx, b.name, b.prefix+name, part)
	return body, s3Error(err)
}

// Upload sends a small object in one request, and others as a multipart upload of unknown length.
// The client removes the parts on failure.
func (b *s3Bucket) Upload(ctx context.Context, name, mediaType string, r io.Reader) error {
	options := minio.PutObjectOptions{
		ContentType: mediaType, ContentDisposition: uploadDisposition, CacheControl: uploadCacheControl,
		PartSize: partBytes, NumThreads: partsAtOnce, ConcurrentStreamParts: true,
	}
	first := make([]byte, partBytes)
	n, err := io.ReadFull(r, first)
	switch {
	case err == nil:
		_, err = b.client.Client.PutObject(ctx, b.name, b.prefix+name, io.MultiReader(bytes.NewReader(first), r), -1,
			options)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		_, err = b.client.Client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(first[:n]), int64(n), options)
	}
	return s3Error(err)
}

func (b *s3Bucket) Delete(ctx context.Context, name string) error {
	return s3Error(b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{}))
}

func (b *s3Bucket) SignURL(ctx context.Context, name, fileName string, expiry time.Duration) (string, error) {
	saved := mime.FormatMediaType("attachment", map[string]string{"filename": fileName})
	u, err := b.client.PresignedGetObject(ctx, b.name, b.prefix+name, expiry,
		url.Values{"response-content-disposition": {saved}})
	if err != nil {
		return "", s3Error(err)
	}
	return u.String(), nil
}

func (b *s3Bucket) Close() error {
	b.close()
	return nil
}

// s3Error distinguishes missing objects from other failures.
func s3Error(err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
