package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// UnknownSize says that a length is known only after everything was written.
const UnknownSize = -1

// Content is a resource that was found and can be written. Close it.
type Content struct {
	// URI is the canonical one; that of an archive names full commit ids, and
	// has a base only if the content does.
	URI string
	// Asked is the URI that the client asked with, as it was sent; "" where it did
	// so in another way.
	Asked    string
	MIMEType string
	// FileName is what a download is saved as.
	FileName string
	// Size in bytes, or [UnknownSize]. As long as [Content.Count] was not asked it
	// may be what the header of an object tells, which can be damaged.
	Size int64
	// AtLeast is a length that the bytes are known to have while Size is not.
	AtLeast int64
	// ETag is a validator without quotes. Unless Weak is set it names the bytes.
	ETag string
	// Weak says that the bytes depend on more than ETag names, such as on refs:
	// no part of them can be asked for, and nothing of them is remembered.
	Weak bool
	// Digest is the SHA-256 of the bytes, or nil while nobody knows it.
	Digest []byte
	// Commit is the full id of the commit that a file or an archive is of; "" for an
	// archive of a tree alone. Revision names that commit or tree for ever, and
	// Modified is the date of the committer or tagger.
	Commit   string
	Revision string
	Modified time.Time
	// Repository is the name of what it is of, and Frozen the canonical URI by
	// the revision.
	Repository string
	Frozen     string
	// FrozenName is the FileName that Frozen has.
	FrozenName string
	// Permalink is the path and query of the same bytes on the plain routes by
	// the commit's id. Only [Service.OpenDownload] fills it in.
	Permalink string
	// Immutable says that the URI that was asked for names these bytes for ever.
	Immutable bool
	// Streamable says that resources/stream serves it.
	Streamable bool
	// UnknownEncodings are those of [archive.Plan.UnknownEncodings]: files of the archive
	// were to be converted to them, and are not.
	UnknownEncodings []string
	// Meta is shown to clients in _meta.
	Meta map[string]any

	mirror *repos.Repository // nil for the list of all
	write  func(ctx context.Context, w io.Writer) error
	// writeRange writes a part without making all that is before it; nil where
	// that cannot be done.
	writeRange func(ctx context.Context, w io.Writer, offset, length int64) error
	// prove compares a file with its id; nil for all that is no file.
	prove func(ctx context.Context, begin func() io.Writer) (size int64, err error)
	// prepare makes what the bytes tell of, so that a failure is a reply; nil where that
	// takes nothing.
	prepare func(ctx context.Context) error
	plan    *archive.Plan // of archives whose commit is here
	held    []io.Closer   // in the order in which they are closed
	extents *extents      // of archives, and of files
	tag     string        // that extents know it by
	certain bool          // so many bytes were made, or compared with an id
	cached  *cachedBytes  // nil: the bytes are generated for each request
	limits  *limits.Limiter
	memory  int64         // that its bytes take on their way
	grant   *limits.Grant // what was reserved for it
}

// Close releases the repository, and what is kept of the bytes.
func (c *Content) Close() (err error) {
	c.release()
	c.grant.Release()
	for _, held := range c.held {
		err = errors.Join(err, held.Close())
	}
	return err
}

// Fetched is when git last fetched into the repository; zero where that is not known.
func (c *Content) Fetched() time.Time {
	if c.mirror == nil {
		return time.Time{}
	}
	return c.mirror.Fetched()
}

// opener finds one kind of resource in a snapshot. On success the content
// owns the snapshot.
type opener func(ctx context.Context, s *git.Snapshot, r Resource) (*Content, error)

// Open finds the resource that a URI names.
func (s *Service) Open(ctx context.Context, uri string) (*Content, error) {
	content, err := s.open(ctx, uri, false)
	if err == nil {
		content.Asked = uri
	}
	return content, err
}

// OpenPage is Open, but of a list only a page.
func (s *Service) OpenPage(ctx context.Context, uri string) (*Content, error) {
	return s.open(ctx, uri, true)
}

func (s *Service) open(ctx context.Context, uri string, paged bool) (*Content, error) {
	resource, err := Parse(uri, s.names(ctx))
	if err != nil {
		s.freshenMissed(ctx, err)
		return nil, err
	}
	resource.paged = paged
	return s.openResource(ctx, resource)
}

func (s *Service) openResource(ctx context.Context, resource Resource) (*Content, error) {
	if resource.Kind == Catalogue {
		return s.openCatalogue(ctx, resource)
	}
	openers := map[Kind]opener{
		Card: s.openCard, Refs: openRefs, Ref: openRef, Contents: openContents, Archive: s.openArchive,
		Signature: openSignature, Checksum: s.openChecksum,
	}
	return s.openWith(ctx, resource, openers[resource.Kind])
}

// openWith takes a snapshot and finds a resource in it.
func (s *Service) openWith(ctx context.Context, resource Resource, open opener) (*Content, error) {
	defer AccountOf(ctx).Stage("open")()
	repository, err := s.options.Catalogue.For(ctx).Get(resource.Repository)
	if err != nil {
		return nil, err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return nil, err
	}
	AccountOf(ctx).ask(resource.Repository, resource.Revision)
	stale := !resource.isPinned() && s.Freshen(ctx, repository)
	content, err := open(ctx, snapshot, resource)
	if err != nil {
		if resource.isPinned() && errors.Is(err, git.ErrNotFound) {
			s.Freshen(ctx, repository) // it may have the commit then
		}
		return nil, errors.Join(err, snapshot.Close())
	}
	if stale {
		content.Meta = MergeMeta(content.Meta, StaleMeta(repository))
	}
	AccountOf(ctx).Find(content.Commit)
	content.mirror = repository
	content.limits = s.options.Limits
	if content.prove != nil {
		content.remember(s.files)
	}
	content.held = append(content.held, snapshot)
	return content, nil
}

// names looks names up for the parser, among those that the visitor may know of.
type names struct{ repos.View }

func (s *Service) names(ctx context.Context) names { return names{s.options.Catalogue.For(ctx)} }

// LongestRepository implements [Namespace].
func (n names) LongestRepository(p string) (name, rest string, err error) {
	repository, rest, err := n.Longest(p)
	if err != nil {
		return "", "", err
	}
	return repository.Name(), rest, nil
}

// LongestRef implements [Namespace].
func (n names) LongestRef(repository, prefix, p, marker string) (name, rest string, err error) {
	r, err := n.Get(repository)
	if err != nil {
		return "", "", err
	}
	name, rest, err = r.LongestRef(prefix, p, marker)
	if errors.Is(err, git.ErrNotFound) {
		err = &missedRef{r, err}
	}
	return name, rest, err
}

func (s *Service) openArchive(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Content, error) {
	turn, err := s.options.Limits.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.Release()
	view := s.options.Catalogue.For(ctx)
	repository, err := view.Get(r.Repository)
	if err != nil {
		return nil, err
	}
	siblings := NewSiblings(view, repository)
	content, err := s.planArchive(ctx, snapshot, r, siblings)
	if err != nil {
		return nil, errors.Join(err, siblings.Close())
	}
	content.held = []io.Closer{siblings}
	content.limits = s.options.Limits
	content.remember(s.extents)
	s.connectCache(ctx, content)
	return content, nil
}

func (s *Service) planArchive(
	ctx context.Context, snapshot *git.Snapshot, r Resource, siblings archive.Siblings,
) (*Content, error) {
	resolved := AccountOf(ctx).Stage("resolve")
	head, err := snapshot.ResolveTreeish(ctx, r.Revision)
	resolved()
	if err != nil {
		return nil, err
	}
	defer AccountOf(ctx).Stage("plan")()
	options := r.Options
	options.Limits, options.Siblings = s.options.ArchiveLimits, siblings
	if options.Base != "" { // both trees are looked at
		grant, err := s.options.Limits.Call(ctx, r.Repository, compareMemory)
		if err != nil {
			return nil, err
		}
		defer grant.Release()
	}
	plan, err := s.options.Engine.Plan(ctx, snapshot, head, options)
	if err != nil {
		return nil, err
	}
	validator, err := plan.Validator(ctx)
	if err != nil {
		return nil, err
	}
	asked := r
	r.Revision, r.Options = head.Revision, plan.Options()
	content := describedArchive(r, head.ID.String(), validator.Tag)
	content.FileName = archiveName(asked, head.ID.String())
	// Another base than the one that was asked for is that which a name had at
	// the moment, or none, as long as this one is not served.
	content.Immutable = asked.Revision == r.Revision && asked.Options.Base == r.Options.Base && !validator.Weak
	content.Weak, content.Modified = validator.Weak, head.When
	content.Meta = map[string]any{metaID: head.ID.String()}
	if !head.Commit.IsZero() {
		content.Commit = head.Commit.String()
		content.Meta = map[string]any{metaCommit: content.Commit}
	}
	content.plan, content.write, content.writeRange = plan, plan.WriteTo, plan.WriteRange
	return content, s.noteEncodings(ctx, content)
}

// noteEncodings tells the client, and the operator once, of encodings that are not known.
func (s *Service) noteEncodings(ctx context.Context, content *Content) error {
	names, first, err := content.plan.UnknownEncodings(ctx)
	if len(names) == 0 || err != nil {
		return err
	}
	content.UnknownEncodings = names
	content.Meta[metaUnknownEncodings] = names
	if first {
		s.options.Logger.WarnContext(ctx, "files of an archive stay UTF-8: their working-tree-encoding is not known",
			"repository", content.Repository, "uri", content.URI, "encodings", names)
	}
	return nil
}

// describedArchive is an archive by the id of what it is of. Nothing can be written of
// it yet.
func describedArchive(r Resource, id, tag string) *Content {
	name := archiveName(r, id)
	return &Content{
		URI: r.String(), MIMEType: r.Options.Format.MediaType(), FileName: name, Size: UnknownSize, ETag: tag,
		Streamable: true, Revision: r.Revision, Repository: r.Repository, Frozen: r.String(), FrozenName: name,
		memory: r.Options.Format.Memory(),
	}
}

// archiveName is "repository-revision.format" with the last part of the
// repository's name, as the large hosts name their archives.
func archiveName(r Resource, id string) string {
	const shortID = 12
	revision := strings.TrimPrefix(strings.TrimPrefix(r.Revision, "refs/heads/"), "refs/tags/")
	if revision == "HEAD" || revision == "@" || strings.ContainsAny(revision, "~^") {
		revision = id[:shortID]
	}
	return path.Base(r.Repository) + "-" + strings.ReplaceAll(revision, "/", "-") + "." + string(r.Options.Format)
}

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

func openContents(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Content, error) {
	commit, entry, err := locate(ctx, snapshot, r)
	if err != nil {
		return nil, err
	}
	var content *Content
	switch {
	case !entry.Mode.IsDir() && r.After != "":
		err = fmt.Errorf("%w: option \"after\" is for folders", ErrURI)
	case entry.Mode.IsDir():
		content, err = openFolder(ctx, snapshot, r, commit, entry)
	case entry.Mode.IsGitlink():
		content, err = jsonContent(r, submodule{Type: "submodule", Path: Text(r.Path), Commit: entry.ID.String()})
	default:
		content, err = openFile(snapshot, r, entry)
	}
	if err != nil {
		return nil, err
	}
	content.locatedAt(r, commit, entry)
	return content, nil
}

// locatedAt notes where a content was found.
func (c *Content) locatedAt(r Resource, commit git.Commit, entry git.TreeEntry) {
	c.Commit, c.Modified = commit.ID.String(), commit.Committer.When()
	c.Revision = c.Commit
	c.Repository, c.Frozen, c.FrozenName = r.Repository, frozen(r, c.Commit), c.FileName
	c.Immutable = r.Revision == c.Commit
	c.Meta = MergeMeta(
		c.Meta, map[string]any{metaCommit: c.Commit, metaID: entry.ID.String(), metaMode: entry.Mode.String()},
	)
}

// openFile looks at the first bytes for their type, no further.
func openFile(snapshot *git.Snapshot, r Resource, entry git.TreeEntry) (*Content, error) {
	head, size, err := snapshot.PeekBlob(entry.ID, sniffBytes)
	if err != nil {
		return nil, missingBlob(err)
	}
	kind := mimeSymlink
	if !entry.Mode.IsSymlink() {
		kind = mimeType(r.Path, head)
	}
	return &Content{
		URI: r.String(), MIMEType: kind, FileName: path.Base(r.Path), Size: size, ETag: entry.ID.String(),
		Streamable: true, memory: fileMemory,
		write: func(ctx context.Context, w io.Writer) error { return copyBlob(ctx, w, snapshot, entry.ID) },
		prove: func(ctx context.Context, begin func() io.Writer) (int64, error) {
			size, err := snapshot.ProveBlob(ctx, entry.ID, begin)
			return size, missingBlob(err)
		},
	}, nil
}

// missingBlob turns "not found" into damage: a tree names the blob.
func missingBlob(err error) error {
	if errors.Is(err, git.ErrNotFound) {
		return fmt.Errorf("%w: a tree names a missing object", git.ErrCorrupt)
	}
	return err
}

const copyBufferBytes = 128 << 10

// copyBlob writes a file that was compared with its id.
func copyBlob(ctx context.Context, w io.Writer, snapshot *git.Snapshot, id git.ID) (err error) {
	blob, err := snapshot.Blob(ctx, id)
	if err != nil {
		return missingBlob(err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	buffer := make([]byte, min(blob.Size()+1, copyBufferBytes))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := blob.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
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

// ErrTooLarge says that a whole resource does not fit into a result.
var ErrTooLarge = errors.New("larger than the limit")

// ReadAll returns the whole content when it has at most limit bytes.
func (c *Content) ReadAll(ctx context.Context, limit int64) ([]byte, error) {
	if c.Size > limit {
		return nil, ErrTooLarge
	}
	var out bytes.Buffer
	err := c.write(ctx, &countWriter{w: &out, limit: limit, excess: ErrTooLarge})
	return out.Bytes(), err
}

// Text makes a JSON text of any name: what is not UTF-8 is replaced, and the
// URI beside it still has the exact bytes.
func Text(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
