package resources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// compareMemory is what a comparison of two trees holds.
const compareMemory = 4 << 20

func (s *Service) findArchive(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Found, error) {
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
	if err := s.setOrigin(ctx, repository, &r.Options); err != nil {
		return nil, err
	}
	siblings := NewSiblings(view, repository)
	found, err := s.planArchive(ctx, snapshot, r, siblings)
	if err != nil {
		return nil, errors.Join(err, siblings.Close())
	}
	found.held = []io.Closer{siblings}
	return found, nil
}

func (s *Service) planArchive(
	ctx context.Context, snapshot *git.Snapshot, r Resource, siblings archive.Siblings,
) (*Found, error) {
	resolved := AccountOf(ctx).Stage("resolve")
	head, options, err := archive.Resolve(ctx, snapshot, r.Revision, r.Options)
	resolved()
	if err != nil {
		return nil, err
	}
	defer AccountOf(ctx).Stage("plan")()
	options.Limits, options.Siblings = s.options.ArchiveLimits, siblings
	if options.Base != "" { // both trees are read
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
	found := describedArchive(r, head.ID.String(), validator.Tag)
	found.FileName = archiveName(asked, head.ID.String())
	// If the base differs from the one that was asked for, it was a name's base at this moment, or
	// none because that commit is not served.
	found.Immutable = asked.Revision == r.Revision && asked.Options.Base == r.Options.Base &&
		asked.Options.Ref == r.Options.Ref && asked.Options.Origin == r.Options.Origin && !validator.Weak
	found.Weak, found.Modified = validator.Weak, head.When
	found.Meta = map[string]any{metaID: head.ID.String()}
	if !head.Commit.IsZero() {
		found.Commit = head.Commit.String()
		found.Meta = map[string]any{metaCommit: found.Commit}
	}
	s.connectArchive(ctx, found, &packed{s.options.Limits, r.Options.Format, plan, plan.WriteTo})
	return found, s.noteEncodings(ctx, found, plan)
}

// setOrigin sets where a checkout fetches from and where it pushes to, if its options do not say so:
// to the repository that the operator's template names, to this server's own address, or to where
// the mirror comes from.
func (s *Service) setOrigin(ctx context.Context, repository *repos.Repository, options *archive.Options) error {
	if options.Profile != archive.ProfileCheckout || options.Origin != "" {
		return nil
	}
	upstream, err := archive.OriginOf(repository)
	if err != nil {
		return err
	}
	name := escape(repository.Name(), pathBytes)
	switch address := s.address(ctx); {
	case s.options.CheckoutOrigin != "":
		options.Origin = strings.ReplaceAll(s.options.CheckoutOrigin, repositoryField, name)
	case s.options.GitClients && address != "":
		options.Origin = address + "/git/" + name
		if upstream != archive.OriginNone {
			options.PushURL = upstream
		}
	default:
		options.Origin = upstream
	}
	return nil
}

// repositoryField stands for the name of a repository in [Options.CheckoutOrigin].
const repositoryField = "{repo}"

// CheckOriginTemplate refuses a value of [Options.CheckoutOrigin] that makes no origins.
func CheckOriginTemplate(template string) error {
	if !strings.Contains(template, repositoryField) {
		return fmt.Errorf("%q has no %s, which stands for the name of the repository", template, repositoryField)
	}
	if err := archive.CheckOrigin(strings.ReplaceAll(template, repositoryField, "name")); err != nil {
		return fmt.Errorf("%q %w", template, err)
	}
	return nil
}

// noteEncodings reports unknown encodings to the client and, once, to the operator.
func (s *Service) noteEncodings(ctx context.Context, found *Found, plan *archive.Plan) error {
	names, first, err := plan.UnknownEncodings(ctx)
	if len(names) == 0 || err != nil {
		return err
	}
	found.UnknownEncodings = names
	found.Meta[metaUnknownEncodings] = names
	if first {
		s.options.Logger.WarnContext(ctx, "files of an archive stay UTF-8: their working-tree-encoding is not known",
			"repository", found.Repository, "uri", found.URI, "encodings", names)
	}
	return nil
}

// describedArchive describes an archive by the id of its commit or tree. It has no source yet.
func describedArchive(r Resource, id, tag string) *Found {
	name := archiveName(r, id)
	return &Found{
		URI: r.String(), MIMEType: r.Options.Format.MediaType(), FileName: name, Size: UnknownSize, ETag: tag,
		Streamable: true, Revision: r.Revision, Repository: r.Repository, Frozen: r.String(), FrozenName: name,
	}
}

// archiveName is "repository-revision.format" with the last part of the repository's name, as the
// large hosts name their archives.
func archiveName(r Resource, id string) string {
	return path.Base(r.Repository) + "-" + revisionName(r.Revision, id) + "." + string(r.Options.Format)
}

// revisionName is a revision as a part of a file name.
func revisionName(revision, id string) string {
	const shortID = 12
	revision = strings.TrimPrefix(strings.TrimPrefix(revision, "refs/heads/"), "refs/tags/")
	if revision == "HEAD" || revision == "@" || strings.ContainsAny(revision, "~^") {
		revision = id[:shortID]
	}
	return strings.ReplaceAll(revision, "/", "-")
}

// connectArchive gives an archive its source: the cache, or the files of the repository. An archive
// with a weak ETag is generated for each request.
func (s *Service) connectArchive(ctx context.Context, found *Found, source *packed) {
	found.remember(s.archives)
	found.source = source
	if s.options.Cache != nil && !found.Weak {
		found.source = s.newCached(ctx, found, source)
	}
}

// packed is the source of a generated archive.
type packed struct {
	limits *limits.Limiter
	format archive.Format
	plan   *archive.Plan // nil if the commit is not in the mirror
	all    func(ctx context.Context, w io.Writer) error
}

// plan returns the plan of an archive that was found here, or of its checksum.
func (f *Found) plan() *archive.Plan {
	switch source := f.source.(type) {
	case *packed:
		return source.plan
	case *cached:
		return source.plan
	default:
		return nil
	}
}

// reserve takes the memory of a compressor and the files. A look needs only a turn, which measure
// waits for.
func (a *packed) reserve(ctx context.Context, b *Body) error {
	part := b.want.Range != nil || b.makesDigest()
	if !part && b.want.Method != Get {
		return nil
	}
	return b.reserve(ctx, a.limits, a.memory(), part)
}

// memory is what an archive takes while it is written.
func (a *packed) memory() int64 {
	if a.plan == nil {
		return a.format.Memory()
	}
	return a.plan.Memory()
}

// makesDigest reports whether an archive has to be generated for its digest.
func (b *Body) makesDigest() bool { return b.want.Digest && b.Digest == nil }

// measure computes the length of a plain tar from trees and object headers. If certain is set, it
// generates the archive, with all files compared with their ids, unless that was done before.
func (a *packed) measure(ctx context.Context, b *Body, certain bool) error {
	if b.makesDigest() || certain && !b.certain {
		if err := b.count(ctx); err != nil {
			return err
		}
	}
	if b.Size != UnknownSize || b.want.Reply || a.plan == nil || a.format != archive.Tar {
		return nil
	}
	turn, err := a.limits.Open(ctx)
	if err != nil {
		return err
	}
	defer turn.Release()
	measured, err := a.plan.Measure(ctx)
	if errors.Is(err, archive.ErrUnmeasured) {
		return nil
	}
	if err != nil {
		return err
	}
	b.Size = measured.Bytes
	b.Found.known.put(b.Found.ETag, facts{size: UnknownSize, measured: b.Size})
	return nil
}

// count generates the bytes for their length and their digest.
func (b *Body) count(ctx context.Context) error {
	done, err := b.Found.known.begin(ctx, b.Found.ETag)
	if err != nil {
		return err
	}
	defer done()
	if b.recall(); b.certain {
		return nil
	}
	return b.generate(ctx, io.Discard)
}

func (a *packed) write(ctx context.Context, _ *Body, p *part) error {
	if a.plan == nil || p.isWhole() {
		return a.all(ctx, p)
	}
	offset, length := p.rest()
	return a.plan.WriteRange(ctx, p, offset, length)
}
