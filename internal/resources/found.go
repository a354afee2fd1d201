package resources

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// UnknownSize says that a length is known only after everything was written.
const UnknownSize = -1

// Found is a resource that was found: a file without reading it, an archive after its folders and
// attributes were examined. It does not change, and [Found.Open] is the only way to its bytes. Close
// it.
type Found struct {
	// URI is the canonical URI; that of an archive has full commit ids, and has a base only if the
	// content does.
	URI string
	// Asked is the URI as the client sent it; "" if the request had no URI.
	Asked string
	// MIMEType is "" for a file, whose bytes decide: see [Body].
	MIMEType string
	// FileName is the name under which a download is saved.
	FileName string
	// Size is the size according to object headers, which can be damaged, or to earlier requests;
	// or [UnknownSize]. AtLeast is the known minimum if Size is unknown.
	Size, AtLeast int64
	// ETag is a validator without quotes. Unless Weak is set, it names the bytes.
	ETag string
	// Weak says that the bytes depend on more than ETag names, such as on refs: they have no
	// ranges, and nothing is remembered about them.
	Weak bool
	// Described says that the bytes are a description, whose ETag is made of them: HTTP replies
	// have no digest of it.
	Described bool
	// Commit is the full id of the commit of a file or an archive; "" for an archive of a tree
	// alone. Revision names that commit or tree for ever, and Modified is the date of the committer
	// or tagger.
	Commit   string
	Revision string
	Modified time.Time
	// Repository is the name of the repository, and Frozen the canonical URI with Revision.
	Repository string
	Frozen     string
	// FrozenName is the FileName of Frozen.
	FrozenName string
	// Permalink is the path and query of the same bytes on the plain routes, by commit id. Only
	// [Service.FindDownload] sets it.
	Permalink string
	// Immutable says that the requested URI names these bytes for ever.
	Immutable bool
	// Streamable says that resources/stream serves the resource.
	Streamable bool
	// UnknownEncodings are those of [archive.Plan.UnknownEncodings]: files of the archive were to
	// be converted to them, and are not.
	UnknownEncodings []string
	// Meta is shown to clients in _meta.
	Meta map[string]any

	source source
	known  *known            // facts about its bytes, by ETag
	mirror *repos.Repository // nil for the list of all repositories
	link   *use              // nil unless a link led here
	held   []io.Closer       // in the order of closing
}

// Close releases the repository. Close bodies first.
func (f *Found) Close() (err error) {
	for _, held := range f.held {
		err = errors.Join(err, held.Close())
	}
	return err
}

// Fetched is when git last fetched into the repository; zero if unknown.
func (f *Found) Fetched() time.Time {
	if f.mirror == nil {
		return time.Time{}
	}
	return f.mirror.Fetched()
}

// remember connects the resource with the facts of earlier requests about the same bytes. A weak
// ETag names no bytes, so its facts are for this request only.
func (f *Found) remember(known *known) {
	if f.Weak {
		known = newKnown()
	}
	f.known = known
	if x, ok := known.get(f.ETag); ok {
		f.AtLeast = x.atLeast
		f.Size = x.likelySize(f.Size)
	}
}

// finder finds one kind of resource in a snapshot, which the caller closes on failure.
type finder func(ctx context.Context, s *git.Snapshot, r Resource) (*Found, error)

// Find finds the resource of a URI.
func (s *Service) Find(ctx context.Context, uri string) (*Found, error) {
	found, err := s.find(ctx, uri, false)
	if err == nil {
		found.Asked = uri
	}
	return found, err
}

// FindPage is Find, but returns only a page of a list.
func (s *Service) FindPage(ctx context.Context, uri string) (*Found, error) {
	return s.find(ctx, uri, true)
}

func (s *Service) find(ctx context.Context, uri string, paged bool) (*Found, error) {
	resource, err := Parse(uri, s.names(ctx))
	if err != nil {
		s.freshenMissed(ctx, err)
		return nil, err
	}
	resource.paged = paged
	return s.findResource(ctx, resource)
}

func (s *Service) findResource(ctx context.Context, resource Resource) (*Found, error) {
	if resource.Kind == Catalogue {
		return s.findCatalogue(ctx, resource)
	}
	finders := map[Kind]finder{
		Card: s.findCard, Refs: findRefs, Ref: findRef, Contents: s.findContents, Archive: s.findArchive,
		Signature: findSignature, Checksum: s.findChecksum, Compare: s.findPatch, Commit: s.findPatch,
	}
	return s.findWith(ctx, resource, finders[resource.Kind])
}

// findWith takes a snapshot and finds a resource in it.
func (s *Service) findWith(ctx context.Context, resource Resource, find finder) (*Found, error) {
	defer AccountOf(ctx).Stage("open")()
	repository, err := s.options.Catalogue.For(ctx).Get(resource.Repository)
	if err != nil {
		return nil, err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return nil, err
	}
	AccountOf(ctx).ask(ctx, resource.Repository, resource.Revision, resource.Path)
	stale := !resource.isPinned() && s.Freshen(ctx, repository)
	found, err := find(ctx, snapshot, resource)
	if err != nil {
		if resource.isPinned() && errors.Is(err, git.ErrNotFound) {
			s.Freshen(ctx, repository) // it may get the commit
		}
		return nil, errors.Join(err, snapshot.Close())
	}
	if stale {
		found.Meta = MergeMeta(found.Meta, StaleMeta(repository))
	}
	if resource.isPinned() && !found.Weak {
		found.Meta = MergeMeta(found.Meta, ValidatorMeta(found.ETag))
	}
	AccountOf(ctx).Find(found.Commit)
	found.mirror = repository
	found.held = append(found.held, snapshot)
	return found, nil
}

// names looks names up for the parser, among those that the client may read.
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
