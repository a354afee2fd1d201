package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/unpack"
)

// stream begins the download of an archive, with patches if bytes are costly and the server
// supports them. A server that does not refuses the option, and is not asked again.
func (r *run) stream(
	ctx context.Context, c *client.Client, revision string, query url.Values,
) (*client.Download, error) {
	o := r.options
	if r.base == "" || o.Plain || o.DryRun || r.unpatched {
		return c.Stream(ctx, o.archive(revision, query))
	}
	query.Set("delta", "patch")
	d, err := c.Stream(ctx, o.archive(revision, query))
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.NotFound() || refused.Busy() {
		return d, err
	}
	query.Del("delta")
	d, err = c.Stream(ctx, o.archive(revision, query))
	r.unpatched = err == nil
	return d, err
}

// patched applies a patch to the present content of a file. If that is not the patch's base, for
// example because the file is missing, it downloads the file: the unpacker compares the result with
// its id.
func (r *run) patched(m unpack.Member, patch io.Reader) (io.Reader, error) {
	base, err := r.disk.read(m.Path)
	if err != nil {
		return nil, err
	}
	change, err := unpack.ReadPatch(m, patch)
	if err != nil {
		return nil, err
	}
	content, err := m.Patch.Apply(base, change)
	if errors.Is(err, unpack.ErrBase) {
		return r.whole(m.Path)
	}
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(content), nil
}

// whole downloads a file of the new commit. If that is gone by now, the next run takes another one.
func (r *run) whole(path string) (io.Reader, error) {
	d, err := r.fetch(path)
	if isMissing(err) {
		return nil, fmt.Errorf("%w: %w", client.ErrNotResumed, err)
	}
	if err != nil {
		return nil, err
	}
	d.Size = -1 // only the progress of the archive is reported
	return &counted{Download: d, run: r}, nil
}

// read returns the content of a file that may be patched, and nothing for any other.
func (d *disk) read(at string) ([]byte, error) {
	there, err := d.look(at)
	if err != nil || there.info == nil || !there.info.Mode().IsRegular() || there.info.Size() > unpack.MaxPatched {
		return nil, err
	}
	content, err := os.ReadFile(d.at(at))
	return content, notAbsent(err)
}

func (r *run) file(path string) string {
	return "repo://" + escape(r.options.Repository) + "/sha/" + r.head + "/contents/" + escape(path)
}
