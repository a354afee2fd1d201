package resources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// copyMemory is what sending a file takes beside the open object: the copied piece, and the
	// buffers of its connection.
	copyMemory = 256 << 10
	// openMemory is what an open object holds at most, or takes while it is opened: the rest of a
	// large delta and its base is in temporary files.
	openMemory = 3 << 20
	// encodedTimes is how many copies of a result are held while it is encoded.
	encodedTimes = 6

	copyBufferBytes = 128 << 10
)

// locate finds the commit and the entry that a Contents names.
func locate(ctx context.Context, snapshot *git.Snapshot, r Resource) (git.Commit, git.TreeEntry, error) {
	revision := r.Revision
	if revision == "" {
		revision = "HEAD"
	}
	commit, err := snapshot.Resolve(ctx, revision)
	if err != nil {
		return git.Commit{}, git.TreeEntry{}, err
	}
	entry, err := snapshot.Lookup(commit.Tree, r.Path)
	return commit, entry, err
}

func (s *Service) findContents(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Found, error) {
	commit, entry, err := locate(ctx, snapshot, r)
	if err != nil {
		return nil, err
	}
	var found *Found
	switch {
	case !entry.Mode.IsDir() && r.After != "":
		err = fmt.Errorf("%w: option \"after\" is for folders", ErrURI)
	case entry.Mode.IsDir():
		found, err = findFolder(ctx, snapshot, r, commit, entry)
	case entry.Mode.IsGitlink():
		found, err = describedJSON(r, submodule{Type: "submodule", Path: Text(r.Path), Commit: entry.ID.String()})
	default:
		found, err = s.findFile(snapshot, r, entry)
	}
	if err != nil {
		return nil, err
	}
	found.locatedAt(r, commit, entry)
	return found, nil
}

// locatedAt notes the commit and the entry.
func (f *Found) locatedAt(r Resource, commit git.Commit, entry git.TreeEntry) {
	f.Commit, f.Modified = commit.ID.String(), commit.Committer.When()
	f.Revision = f.Commit
	f.Repository, f.Frozen, f.FrozenName = r.Repository, frozen(r, f.Commit), f.FileName
	f.Immutable = r.Revision == f.Commit
	f.Meta = MergeMeta(
		f.Meta, map[string]any{metaCommit: f.Commit, metaID: entry.ID.String(), metaMode: entry.Mode.String()},
	)
}

// findFile reads the object header of a file for its length, unless that is known.
func (s *Service) findFile(snapshot *git.Snapshot, r Resource, entry git.TreeEntry) (*Found, error) {
	found := &Found{
		URI: r.String(), FileName: path.Base(r.Path), Size: UnknownSize, ETag: entry.ID.String(), Streamable: true,
		source: &file{s.options.Limits, snapshot, entry.ID, r.Path, entry.Mode.IsSymlink()},
	}
	found.remember(s.files)
	if found.Size != UnknownSize {
		return found, nil
	}
	var err error
	found.Size, err = snapshot.Size(entry.ID)
	return found, git.MustExist(entry.ID, err)
}

// file is the source of a file of a commit.
type file struct {
	limits   *limits.Limiter
	snapshot *git.Snapshot
	id       git.ID
	path     string
	symlink  bool
}

// reserve takes what the file is known to hold while it is open, or may hold at most. A look at a
// known file reads nothing.
func (f *file) reserve(ctx context.Context, b *Body) error {
	x := b.recall()
	if b.certain && b.want.Method != Get {
		return nil
	}
	memory := int64(openMemory)
	if x.memory > 0 {
		memory = x.memory
	}
	return b.reserve(ctx, f.limits, copyMemory+memory, false)
}

// measure compares the file with its id, unless that was done before, so that a damaged file is
// refused before the first byte. A file that is to be sent stays open.
func (f *file) measure(ctx context.Context, b *Body, _ bool) error {
	if !b.certain && !b.want.Reply {
		if err := f.prove(ctx, b); err != nil {
			return err
		}
	}
	x := b.recall()
	if b.blob == nil && b.want.Method == Get {
		if err := f.open(ctx, b, &x); err != nil {
			return err
		}
	}
	b.MIMEType = f.typeOf(x.kind)
	return nil
}

// prove reads the file once, for its length, digest and type.
func (f *file) prove(ctx context.Context, b *Body) error {
	done, err := b.Found.known.begin(ctx, b.Found.ETag)
	if err != nil {
		return err
	}
	defer done()
	if b.recall(); b.certain {
		return nil
	}
	sum, head := sha256.New(), new(headWriter)
	size, err := f.snapshot.ProveBlob(ctx, f.id, func() io.Writer {
		sum.Reset()
		head.bytes = nil
		return io.MultiWriter(sum, head)
	})
	if err != nil {
		return git.MustExist(f.id, err)
	}
	b.learn(size, sum.Sum(nil))
	b.Found.known.put(b.Found.ETag, facts{size: UnknownSize, kind: kindOf(head.bytes)})
	return nil
}

// open opens the file, which is compared with its id before it is read, and releases the memory
// that it does not hold.
func (f *file) open(ctx context.Context, b *Body, x *facts) (err error) {
	if b.blob, err = f.snapshot.Blob(ctx, f.id); err != nil {
		return git.MustExist(f.id, err)
	}
	b.Size = b.blob.Size()
	b.grant.Shrink(copyMemory + b.blob.Held())
	b.Found.known.put(b.Found.ETag, facts{size: UnknownSize, memory: b.blob.Held()})
	if x.kind != (kind{}) {
		return nil
	}
	b.head = make([]byte, min(b.Size, sniffBytes))
	if _, err = io.ReadFull(b.blob, b.head); err != nil {
		return err
	}
	x.kind = kindOf(b.head)
	b.Found.known.put(b.Found.ETag, facts{size: UnknownSize, kind: x.kind})
	return nil
}

func (f *file) typeOf(k kind) string {
	if f.symlink {
		return mimeSymlink
	}
	return k.typeOf(f.path)
}

// write writes the file. part stops it at the end of the range.
func (f *file) write(ctx context.Context, b *Body, p *part) error {
	if _, err := p.Write(b.head); err != nil {
		return err
	}
	buffer := make([]byte, min(b.blob.Size()+1, copyBufferBytes))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := b.blob.Read(buffer)
		if n > 0 {
			if _, err := p.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// peek returns the type of a file whose content is not wanted. The caller has reserved what an open
// file holds.
func (f *file) peek(found *Found) (string, error) {
	x, _ := found.known.get(found.ETag)
	if x.kind == (kind{}) && !f.symlink {
		head, _, err := f.snapshot.PeekBlob(f.id, sniffBytes)
		if err != nil {
			return "", git.MustExist(f.id, err)
		}
		x.kind = kindOf(head)
		found.known.put(found.ETag, facts{size: UnknownSize, kind: x.kind})
	}
	return f.typeOf(x.kind), nil
}

// headWriter keeps the first bytes, which decide the type.
type headWriter struct{ bytes []byte }

func (h *headWriter) Write(p []byte) (int, error) {
	h.bytes = append(h.bytes, p[:min(len(p), sniffBytes-len(h.bytes))]...)
	return len(p), nil
}
