package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/base/ticks"
	"github.com/repomcp/repomcp/internal/cache"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// faultInterval is the interval at which new faults of the cache are logged, in one line: an
// unavailable store fails every request.
const faultInterval = time.Minute

type cacheFlags struct {
	dir     string
	bytes   int64
	objects string
	public  string
}

func (f *cacheFlags) define(set *pflag.FlagSet) {
	set.StringVar(&f.dir, "cache-dir", "", "folder for cached archives, used by this process only")
	set.Var(cli.NewSize(&f.bytes, 0), "cache-bytes",
		"limit of the archives in --cache-dir; 0 generates each archive again")
	set.StringVar(&f.objects, "object-store", "",
		"bucket that servers share archives in, as s3://BUCKET?region=REGION, or azblob://CONTAINER, gs://BUCKET and "+
			"file:///DIR of builds with the tag cloud; needs --cache-bytes")
	set.StringVar(&f.public, "object-store-public", "",
		"the same bucket under the address that clients reach, such as "+
			"s3://BUCKET?region=REGION&endpoint=https://HOST: they are redirected there")
}

// check refuses contradictory flags.
func (f cacheFlags) check() error {
	switch {
	case f.bytes > 0 && f.dir == "":
		return errors.New("--cache-bytes needs a folder: --cache-dir")
	case f.objects != "" && f.bytes == 0:
		return errors.New("--object-store needs --cache-dir and --cache-bytes: what is uploaded is read from the disk")
	case f.dir != "" && f.bytes == 0:
		return errors.New("--cache-dir needs a bound: --cache-bytes, such as 10GB")
	case f.public != "" && f.objects == "":
		return errors.New("--object-store-public needs --object-store, the same bucket as this server reaches it")
	default:
		return nil
	}
}

// caching is the cache of archives with its parts; empty if disabled.
type caching struct {
	cache   *cache.Cache
	disk    *cache.Disk
	buckets []cache.Bucket
	shared  cache.Bucket // as this server reaches it; nil: none
	redis   *redis.Client
	logger  *slog.Logger
}

func (f cacheFlags) open(ctx context.Context, redisURL string, logger *slog.Logger) (*caching, error) {
	c := &caching{logger: logger}
	if err := f.check(); err != nil {
		return nil, cli.Misused(err)
	}
	if f.bytes == 0 {
		return c, nil
	}
	options := cache.Options{Disk: c.openDisk(f)}
	if f.objects != "" {
		objects, err := c.openObjects(ctx, f)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		options.Objects = objects
		if redisURL != "" {
			o, err := cache.RedisOptions(redisURL)
			if err != nil {
				return nil, errors.Join(cli.Misused(fmt.Errorf("--redis: %w", err)), c.close())
			}
			c.redis = redis.NewClient(o)
			options.Leases = cache.NewRedisLeases(c.redis)
		}
	}
	c.cache = cache.New(options)
	return c, nil
}

// openDisk returns nil for an unusable folder: archives are then generated each time, as after any
// fault of the disk.
func (c *caching) openDisk(f cacheFlags) *cache.Disk {
	disk, err := cache.OpenDisk(f.dir, f.bytes)
	if err != nil {
		c.logger.Error("there is no disk cache", "folder", f.dir, "error", err)
		return nil
	}
	c.disk = disk
	return disk
}

func (c *caching) openObjects(ctx context.Context, f cacheFlags) (*cache.Objects, error) {
	var own, public cache.Bucket
	for _, b := range []struct {
		flag, url string
		to        *cache.Bucket
	}{{"--object-store", f.objects, &own}, {"--object-store-public", f.public, &public}} {
		if b.url == "" {
			continue
		}
		bucket, err := cache.OpenBucket(context.WithoutCancel(ctx), b.url)
		if err != nil {
			return nil, cli.Misused(fmt.Errorf("%s: %w", b.flag, err))
		}
		c.buckets = append(c.buckets, bucket)
		*b.to = bucket
	}
	c.shared = own
	objects := cache.NewObjects(own, public)
	if f.public == "" {
		return objects, nil
	}
	switch err := objects.CheckRedirects(ctx); {
	case errors.Is(err, cache.ErrInsecure):
		return nil, cli.Misused(fmt.Errorf("--object-store-public: %w", err))
	case err != nil:
		// Credentials may become available later.
		c.logger.Warn("clients are not redirected as long as no URL can be signed", "error", err)
	}
	return objects, nil
}

// watch logs new faults until ctx ends. They do not affect clients.
func (c *caching) watch(ctx context.Context) {
	if c.cache == nil {
		return
	}
	known := int64(0)
	for range ticks.Every(ctx, faultInterval) {
		known = c.logFaults(known)
	}
}

// logFaults logs the counts if there are new faults.
func (c *caching) logFaults(known int64) int64 {
	s := c.cache.Stats()
	faults := s.DiskFaults + s.Damaged + s.UploadFaults + s.RemoteFaults + s.RemoteDamaged + s.LeaseFaults
	if faults > known {
		c.logger.Warn("the cache had faults, archives were made instead", "new", faults-known, "stats", s)
	}
	return faults
}

// close ends the builds, and then their resources.
func (c *caching) close() error {
	var failed []error
	if c.cache != nil {
		c.cache.Close()
		c.logger.Info("the cache has ended", "stats", c.cache.Stats())
	}
	if c.disk != nil {
		failed = append(failed, c.disk.Close())
	}
	for _, bucket := range c.buckets {
		failed = append(failed, bucket.Close())
	}
	if c.redis != nil {
		failed = append(failed, c.redis.Close())
	}
	return errors.Join(failed...)
}
