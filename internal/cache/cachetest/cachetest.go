// Package cachetest has object storage in memory, for tests only.
package cachetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bucket is a cache.Bucket in memory. Its zero value is empty.
type Bucket struct {
	// Base is the prefix of signed URLs, such as https://files.example/.
	Base string

	mu      sync.Mutex
	objects map[string][]byte
}

// Names lists the objects in order.
func (b *Bucket) Names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.objects))
}

// Object returns a copy of an object.
func (b *Bucket) Object(name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	object, ok := b.objects[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", fs.ErrNotExist, name)
	}
	return bytes.Clone(object), nil
}

// Put creates or replaces an object.
func (b *Bucket) Put(name string, object []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.objects == nil {
		b.objects = make(map[string][]byte)
	}
	b.objects[name] = bytes.Clone(object)
}

// Size implements cache.Bucket.
func (b *Bucket) Size(_ context.Context, name string) (int64, error) {
	object, err := b.Object(name)
	return int64(len(object)), err
}

// Open implements cache.Bucket.
func (b *Bucket) Open(_ context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	object, err := b.Object(name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(object), offset, length)), nil
}

// Upload implements cache.Bucket.
func (b *Bucket) Upload(ctx context.Context, name, _ string, r io.Reader) error {
	object, err := io.ReadAll(r)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		b.Put(name, object)
	}
	return err
}

// Delete implements cache.Bucket.
func (b *Bucket) Delete(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, name)
	return nil
}

// signature is the suffix of the URLs of SignURL.
const signature = "?signature=good"

// SignURL implements cache.Bucket.
func (b *Bucket) SignURL(_ context.Context, name, _ string, _ time.Duration) (string, error) {
	return b.Base + name + signature, nil
}

// Signed returns the name of the object of a signed URL.
func (b *Bucket) Signed(address string) (string, error) {
	name, known := strings.CutPrefix(address, b.Base)
	name, signed := strings.CutSuffix(name, signature)
	if !known || !signed {
		return "", fmt.Errorf("%s is not a signed URL of the bucket", address)
	}
	return name, nil
}

// Close implements cache.Bucket.
func (b *Bucket) Close() error { return nil }
