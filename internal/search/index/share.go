package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Servers that share object storage put their segments there, and a list of them. A server that starts takes what the
// list names and it lacks. Two servers that write the list at the same time can lose names: each adds all of its own
// again with its next segment. A lost or altered object costs time only, because a segment is compared with its name.
const (
	sharedPrefix = "search-index/"
	sharedList   = sharedPrefix + "list-"
	sharedType   = "application/octet-stream"
	// shareTime bounds the transfer of a segment.
	shareTime = 5 * time.Minute
	// maxShared bounds the list, 65 bytes for each segment.
	maxShared = 1 << 12
)

func sharedName(segment string) string { return sharedPrefix + segment + segmentSuffix }

// listName is that of the list of segments of this version.
func (x *Index) listName() string {
	sum := sha256.Sum256([]byte(x.version))
	return sharedList + hex.EncodeToString(sum[:8])
}

// share uploads a new segment, and removes those that it replaces.
func (b *builder) share(s *segment, replaced ...*segment) {
	if b.options.Shared == nil {
		return
	}
	b.own = append(b.own, s.name)
	err := b.upload(sharedName(s.name), io.NewSectionReader(s.from, 0, s.size))
	if err == nil {
		err = b.updateList(replaced)
	}
	for _, old := range replaced {
		ctx, cancel := context.WithTimeout(b.ctx, shareTime)
		if old.name != s.name && err == nil {
			err = ignoreMissing(b.options.Shared.Delete(ctx, sharedName(old.name)))
		}
		cancel()
	}
	if err != nil && b.ctx.Err() == nil {
		b.options.Logger.Warn("a segment of the search index is not shared", "error", err)
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (b *builder) upload(name string, content io.Reader) error {
	ctx, cancel := context.WithTimeout(b.ctx, shareTime)
	defer cancel()
	return b.options.Shared.Upload(ctx, name, sharedType, content)
}

// updateList adds the segments of this process to the list, and removes others.
func (b *builder) updateList(replaced []*segment) error {
	isReplaced := func(name string) bool {
		return slices.ContainsFunc(replaced, func(s *segment) bool { return s.name == name })
	}
	b.own = slices.DeleteFunc(b.own, isReplaced)
	names, err := b.shared(b.ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, isReplaced)
	for _, name := range b.own {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	names = names[max(len(names)-maxShared, 0):]
	return b.upload(b.listName(), strings.NewReader(strings.Join(names, "\n")))
}

// shared returns the names in the list, the oldest first.
func (x *Index) shared(ctx context.Context) ([]string, error) {
	var list strings.Builder
	if err := x.download(ctx, x.listName(), &list); err != nil {
		return nil, ignoreMissing(err)
	}
	return slices.DeleteFunc(strings.Fields(list.String()), isNoDigest), nil
}

// isNoDigest recognises what is no name of a segment: the list is on a disk of others.
func isNoDigest(name string) bool {
	sum, err := hex.DecodeString(name)
	return err != nil || len(sum) != sha256.Size
}

// download writes an object.
func (x *Index) download(ctx context.Context, name string, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	size, err := x.options.Shared.Size(ctx, name)
	if err != nil || size == 0 {
		return err
	}
	from, err := x.options.Shared.Open(ctx, name, 0, size)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, from.Close())
}

// receive takes the shared segments that this server lacks, the latest first, as far as there is room.
func (x *Index) receive(ctx context.Context) {
	if x.options.Shared == nil {
		return
	}
	names, err := x.shared(ctx)
	for _, name := range slices.Backward(names) {
		if x.has(name) {
			continue
		}
		err = x.take(ctx, name)
		if stats := x.Stats(); err != nil || stats.Bytes > x.bound/2 || stats.Documents > x.room/2 {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		x.options.Logger.Warn("the shared segments of the search index are not all used", "error", err)
	}
}

func (x *Index) has(name string) bool {
	return slices.ContainsFunc(x.now().segments, func(s *segment) bool { return s.name == name })
}

// take downloads a segment. One that has vanished or was altered is passed over.
func (x *Index) take(ctx context.Context, name string) error {
	o, err := x.storage.create(func(to io.Writer) (string, error) {
		sum := sha256.New()
		if err := x.download(ctx, sharedName(name), io.MultiWriter(to, sum)); err != nil {
			return "", err
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != name {
			return "", fmt.Errorf("%w: it is not named by its digest", errDamaged)
		}
		return name, nil
	})
	if errors.Is(err, errDamaged) {
		x.options.Logger.Warn("a shared segment of the search index is damaged", "segment", name)
		return nil
	}
	if err != nil {
		return ignoreMissing(err)
	}
	if o.version != x.version {
		return errors.Join(o.close())
	}
	x.replace(false, nil, o)
	return nil
}
