package resources

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/patch"
)

// missing says which part of a plain URL does not exist, and where its alternatives are listed. It
// never distinguishes a missing name from one that is not served. It returns "" if all parts exist:
// the original error says more.
func (s *Service) missing(ctx context.Context, kind Plain, rawPath string, err error) string {
	if needed := (*archive.FullNeededError)(nil); errors.As(err, &needed) && needed.Reason == archive.BaseUnknown {
		return "The option base names no branch, tag or commit of the repository, or one without what path or strip " +
			"names. Ask again without base, or with fallback=full."
	}
	if errors.As(err, new(*Error)) || errors.As(err, new(*git.KindError)) || !errors.Is(err, git.ErrNotFound) ||
		errors.Is(err, git.ErrEmpty) || errors.Is(err, patch.ErrMerge) || errors.Is(err, patch.ErrUnrelated) ||
		errors.As(err, new(*archive.NoMatchError)) {
		return ""
	}
	path, err := decodePath(rawPath)
	if err != nil {
		return ""
	}
	name, rest, err := s.names(ctx).LongestRepository(path)
	if err != nil {
		return fmt.Sprintf("There is no repository %q. GET /repositories lists them.", Clip(Text(path)))
	}
	rest = strings.TrimPrefix(rest, "/")
	if kind == PlainRefs {
		return fmt.Sprintf("GET /refs/%s lists all branches and tags; there is nothing below "+
			"it.", escape(name, pathBytes))
	}
	revision, path := rest, ""
	switch kind {
	case PlainArchive:
		bare := strings.TrimSuffix(rest, signatureSuffix)
		stem, _, ok := archive.SplitName(bare)
		if !ok || strings.HasSuffix(stem, "/") {
			return noFormat(bare)
		}
		revision = stem
	case PlainCompare, PlainCommit:
		return s.missingPatch(ctx, plainForms[kind], name, rest)
	case PlainRaw:
		resource, err := parseRaw(name, rest, s.names(ctx))
		if err != nil {
			return ""
		}
		revision, path = resource.Revision, resource.Path
	}
	return s.missingBelow(ctx, name, revision, path)
}

// missingPatch says which of the commits of a patch does not exist.
func (s *Service) missingPatch(ctx context.Context, parse shape, name, rest string) string {
	r, err := parse(name, rest, nil)
	if errors.Is(err, git.ErrNotFound) {
		return "End the URL of a patch with .diff or .patch."
	}
	if err != nil {
		return ""
	}
	if base := r.BaseRevision(); base != "" {
		if text := s.missingBelow(ctx, name, base, ""); text != "" {
			return text
		}
	}
	return s.missingBelow(ctx, name, r.Revision, "")
}

func noFormat(name string) string {
	format := strings.TrimPrefix(path.Ext(name), ".")
	return fmt.Sprintf("There is no format %q. End the URL with one of: "+
		".%s.", Clip(Text(format)), strings.Join(archive.FormatNames(), ", ."))
}

// missingBelow looks for a revision and then for a path in it.
func (s *Service) missingBelow(ctx context.Context, name, revision, path string) string {
	snapshot, err := s.options.Catalogue.For(ctx).Snapshot(name)
	if err != nil {
		return ""
	}
	defer func() { _ = snapshot.Close() }() // it was only read
	_, _, err = locate(ctx, snapshot, Resource{Revision: revision})
	refs := "GET /refs/" + escape(name, pathBytes) + " lists branches and tags."
	switch {
	case errors.Is(err, git.ErrNotFound):
		return fmt.Sprintf("The repository %s has no branch, tag or commit %q. "+
			"%s", Text(name), Clip(Text(revision)), refs)
	case err != nil || path == "":
		return ""
	default:
		return fmt.Sprintf("There is no file %q in %s there. The list of files is "+
			"/archive/%s/{ref}.manifest.json.", ClipLong(Text(path)), Text(name), escape(name, pathBytes))
	}
}
