package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
)

// Plain is a kind of plain download: the first segment of its URL's path.
type Plain string

// The plain downloads.
const (
	// PlainArchive is /archive/{repo}/{ref}.{format}{?options}: what
	// repo://{repo}/archive/{ref}.{format} is.
	PlainArchive Plain = "archive"
	// PlainRaw is /raw/{repo}/{ref}/{path}: the file that
	// repo://{repo}/…/contents/{path} is.
	PlainRaw Plain = "raw"
	// PlainCompare is /compare/{repo}/{base}...{head}.diff and .patch: what
	// repo://{repo}/compare/{base}...{head}.diff is.
	PlainCompare Plain = "compare"
	// PlainCommit is /commit/{repo}/{commit}.diff and .patch: what repo://{repo}/commit/{sha}.diff
	// is.
	PlainCommit Plain = "commit"
	// PlainRefs is /refs/{repo}: what repo://{repo}/refs is.
	PlainRefs Plain = "refs"
	// PlainRepositories is /repositories: what repo:// is.
	PlainRepositories Plain = "repositories"
)

// lockOption is the option that a link to an archive adds for Nix (its Lockable HTTP Tarball
// Protocol): the commit, which clients that follow the link send back.
const lockOption = "rev"

// IsOption reports whether a plain URL may have an option of that name.
func IsOption(name string) bool {
	return name == lockOption ||
		slices.ContainsFunc(archive.Parameters(), func(p archive.Parameter) bool { return p.Name == name })
}

// plainForms are the forms of a plain URL after the repository's name.
var plainForms = map[Plain]shape{
	PlainArchive: parseArchive, PlainRaw: parseRaw, PlainCompare: parseCompare, PlainCommit: parseCommit,
	PlainRefs: parsePlainRefs, PlainRepositories: parseNothing,
}

// ParseDownload parses a plain URL: the path after its kind, and its query, both as they were sent.
// Percent-encoding is undone once, by the code of [Parse], and the options of an archive are those
// of its URI. If names have several segments, the longest repository wins, and then the longest
// ref.
func ParseDownload(kind Plain, rawPath, rawQuery string, hasQuery bool, names Namespace) (Resource, error) {
	if len(rawPath)+len(rawQuery) > MaxURIBytes {
		return Resource{}, fmt.Errorf("%w: longer than %d bytes", ErrURI, MaxURIBytes)
	}
	query, err := parseQuery(rawQuery, hasQuery)
	if err != nil {
		return Resource{}, err
	}
	path := ""
	if kind != PlainRepositories || rawPath != "" {
		if path, err = decodePath(rawPath); err != nil {
			return Resource{}, err
		}
	}
	return parseNamed(path, query, names, plainForms[kind])
}

// parseRaw finds where a ref ends. HEAD and full ids are not looked up: a branch whose name begins
// with a commit's id must not hide that commit.
func parseRaw(name, rest string, names Namespace) (Resource, error) {
	segment, path, _ := strings.Cut(rest, "/")
	if segment == "HEAD" {
		return Resource{Repository: name, Kind: Contents, Path: path}, nil
	}
	found := Resource{Repository: name, Kind: Contents, Revision: segment, Path: path}
	if _, err := git.ParseID(segment); err == nil {
		return found, nil
	}
	if revision, path, err := suffixedRef(name, rest, names); err != nil || revision != "" {
		found.Revision, found.Path = revision, path
		return found, err
	}
	longest := 0
	// The order is that of gitrevisions(7), for refs of the same length.
	for _, prefix := range git.RefPrefixes() {
		ref, after, err := names.LongestRef(name, prefix, rest, "")
		if errors.Is(err, git.ErrNotFound) {
			continue
		}
		if err != nil {
			return Resource{}, err
		}
		if length := len(rest) - len(after); length > longest {
			longest, found.Revision, found.Path = length, ref, strings.TrimPrefix(after, "/")
		}
	}
	return found, nil // without a ref it may be an abbreviated id
}

// suffixedRef splits off a ref with a ~ or ^ suffix. Names of refs have neither character, so the
// suffix ends with its segment. The revision is "" if no ref precedes the suffix, since file names
// may have both characters.
func suffixedRef(name, rest string, names Namespace) (revision, path string, err error) {
	at := strings.IndexAny(rest, "~^")
	if at < 0 {
		return "", "", nil
	}
	suffix, path, _ := strings.Cut(rest[at:], "/")
	for _, prefix := range git.RefPrefixes() {
		ref, after, err := names.LongestRef(name, prefix, rest[:at], "")
		if errors.Is(err, git.ErrNotFound) || err == nil && after != "" {
			continue
		}
		return ref + suffix, path, err
	}
	return "", "", nil
}

func parsePlainRefs(name, rest string, _ Namespace) (Resource, error) {
	if rest != "" {
		return Resource{}, fmt.Errorf("no single ref is a download: %w", git.ErrNotFound)
	}
	return Resource{Repository: name, Kind: Refs}, nil
}

func parseNothing(string, string, Namespace) (Resource, error) {
	return Resource{}, fmt.Errorf("there is nothing below the list: %w", git.ErrNotFound)
}

// FindDownload finds the resource of a plain URL: see [ParseDownload].
func (s *Service) FindDownload(
	ctx context.Context, kind Plain, rawPath, rawQuery string, hasQuery bool,
) (*Found, *Error) {
	found, err := s.findDownload(ctx, kind, rawPath, rawQuery, hasQuery)
	if err != nil {
		failure := s.Failure(ctx, err, string(kind)+"/"+Clip(rawPath))
		if what := s.missing(ctx, kind, rawPath, err); what != "" {
			failure.Reason, failure.Message = ReasonNotFound, what
		}
		return nil, failure
	}
	return found, nil
}

func (s *Service) findDownload(
	ctx context.Context, kind Plain, rawPath, rawQuery string, hasQuery bool,
) (*Found, error) {
	locked := ""
	if kind == PlainArchive && hasQuery {
		locked, rawQuery, hasQuery = cutLock(rawQuery)
	}
	resource, err := ParseDownload(kind, rawPath, rawQuery, hasQuery, s.names(ctx))
	if err != nil {
		s.freshenMissed(ctx, err)
		return nil, err
	}
	var found *Found
	if resource.Kind == Contents {
		found, err = s.findWith(ctx, resource, s.findRaw)
	} else {
		found, err = s.findResource(ctx, resource)
	}
	if err != nil {
		return nil, err
	}
	if locked != "" && locked != found.Commit {
		return nil, errors.Join(fmt.Errorf("%w: %s is another commit than that of the "+
			"path", ErrURI, lockOption), found.Close())
	}
	// Lists, signatures and patches may change.
	if resource.Kind == Contents || resource.Kind == Archive {
		found.Permalink = permalink(resource, found)
	}
	return found, nil
}

// cutLock removes the lock option from a query; more reports whether options are left.
func cutLock(rawQuery string) (locked, rest string, more bool) {
	var kept []string
	for pair := range strings.SplitSeq(rawQuery, "&") {
		value, ok := strings.CutPrefix(pair, lockOption+"=")
		if ok && locked == "" && value != "" {
			locked = value
			continue
		}
		kept = append(kept, pair)
	}
	return locked, strings.Join(kept, "&"), len(kept) > 0
}

// findRaw is findContents, for files only.
func (s *Service) findRaw(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Found, error) {
	commit, entry, err := locate(ctx, snapshot, r)
	if err != nil {
		return nil, err
	}
	branchOrTag := strings.HasPrefix(r.Revision, "refs/heads/") || strings.HasPrefix(r.Revision, "refs/tags/")
	if strings.HasPrefix(r.Revision, "refs/") && (!branchOrTag || strings.ContainsAny(r.Revision, "~^")) {
		// Only branches and tags have URIs of their own.
		r.Revision = commit.ID.String()
	}
	if r.After != "" {
		return nil, fmt.Errorf("%w: option \"after\" is for folders, which are no download", ErrURI)
	}
	if entry.Mode.IsDir() || entry.Mode.IsGitlink() {
		return nil, notAFile(r, commit, entry)
	}
	found, err := s.findFile(snapshot, r, entry)
	if err != nil {
		return nil, err
	}
	found.locatedAt(r, commit, entry)
	return found, nil
}

func notAFile(r Resource, commit git.Commit, entry git.TreeEntry) *Error {
	if entry.Mode.IsGitlink() {
		return &Error{Reason: ReasonNotFound, Message: fmt.Sprintf("The path is a submodule at commit %s: its "+
			"files are in another repository.", entry.ID)}
	}
	archive := "/" + string(PlainArchive) + "/" + escape(r.Repository, pathBytes) + "/" + commit.ID.String() + ".tar.gz"
	return &Error{Reason: ReasonNotFound, Message: fmt.Sprintf("The path is a folder. List it with resources/read "+
		"of %s, or download all files with GET %s.", r, archive)}
}

// permalink returns the plain URL of the same bytes by commit. An archive's has the commit as its
// lock, for clients that follow a moving link.
func permalink(r Resource, found *Found) string {
	route := plainRoute(r, found)
	if r.Kind == Contents || found.Commit == "" {
		return route
	}
	separator := "?"
	if strings.Contains(route, separator) {
		separator = "&"
	}
	return route + separator + lockOption + "=" + found.Commit
}

// plainRoute is the path and query of a list, or of a file, a patch or an archive by commit. The options of
// an archive are those of its canonical URI.
func plainRoute(r Resource, found *Found) string {
	repository := "/" + escape(r.Repository, pathBytes)
	switch r.Kind {
	case Catalogue:
		return "/" + string(PlainRepositories) + r.query()
	case Refs:
		return "/" + string(PlainRefs) + repository + r.query()
	case Contents:
		return "/" + string(PlainRaw) + repository + "/" + found.Revision + "/" + escape(r.Path, pathBytes)
	case Compare, Commit:
		plain := map[Kind]Plain{Compare: PlainCompare, Commit: PlainCommit}[r.Kind]
		file := strings.TrimPrefix(found.Frozen, Scheme+repository[1:]+"/"+string(plain)+"/")
		return "/" + string(plain) + repository + "/" + file
	}
	r.Revision = found.Revision
	route := "/" + string(PlainArchive) + repository + "/" + r.archiveFile()
	if _, options, ok := strings.Cut(found.URI, "?"); ok {
		route += "?" + options
	}
	return route
}
