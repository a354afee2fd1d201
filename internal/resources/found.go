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

// Found is a resource that was found. It does not change, no contents of files were read
// for it, and [Found.Open] is the way to its bytes. Close it.
type Found struct {
	// URI is the canonical one; that of an archive names full commit ids, and
	// has a base only if the content does.
	URI string
	// Asked is the URI that the client asked with, as it was sent; "" where it did
	// so in another way.
	Asked string
	// MIMEType is "" for a file: its bytes decide, so that [Body] has it.
	MIMEType string
	// FileName is what a download is saved as.
	FileName string
	// Size is what headers of objects tell, which can be damaged, or what earlier
	// requests learned, or [UnknownSize]. AtLeast is a length that the bytes are known
	// to have where Size is not known.
	Size, AtLeast int64
	// ETag is a validator without quotes. Unless Weak is set it names the bytes.
	ETag string
	// Weak says that the bytes depend on more than ETag names, such as on refs:
	// no part of them can be asked for, and nothing of them is remembered.
	Weak bool
	// Described says that the bytes are a description, whose ETag is made of them:
	// replies over HTTP give no digest of it.
	Described bool
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
	// the commit's id. Only [Service.FindDownload] fills it in.
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

	source source
	known  *known            // where what its bytes teach is remembered, by its ETag
	mirror *repos.Repository // nil for the list of all
	link   *use              // nil unless a link led here
	held   []io.Closer       // in the order in which they are closed
}

// Close releases the repository. Bodies have to be closed before.
func (f *Found) Close() (err error) {
	for _, held := range f.held {
		err = errors.Join(err, held.Close())
	}
	return err
}

// Fetched is when git last fetched into the repository; zero where that is not known.
func (f *Found) Fetched() time.Time {
	if f.mirror == nil {
		return time.Time{}
	}
	return f.mirror.Fetched()
}

// remember connects what was found with what earlier requests learned of the same
// bytes. A weak ETag names no bytes: what is learned of those is for this request.
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

// finder finds one kind of resource in a snapshot, which the caller closes where it fails.
type finder func(ctx context.Context, s *git.Snapshot, r Resource) (*Found, error)

// Find finds the resource that a URI names.
func (s *Service) Find(ctx context.Context, uri string) (*Found, error) {
	found, err := s.find(ctx, uri, false)
	if err == nil {
		found.Asked = uri
	}
	return found, err
}

// FindPage is Find, but of a list only a page.
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
		Signature: findSignature, Checksum: s.findChecksum,
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
	AccountOf(ctx).ask(resource.Repository, resource.Revision)
	stale := !resource.isPinned() && s.Freshen(ctx, repository)
	found, err := find(ctx, snapshot, resource)
	if err != nil {
		if resource.isPinned() && errors.Is(err, git.ErrNotFound) {
			s.Freshen(ctx, repository) // it may have the commit then
		}
		return nil, errors.Join(err, snapshot.Close())
	}
	if stale {
		found.Meta = MergeMeta(found.Meta, StaleMeta(repository))
	}
	AccountOf(ctx).Find(found.Commit)
	found.mirror = repository
	found.held = append(found.held, snapshot)
	return found, nil
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
