package resources

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
)

const (
	// Scheme begins every URI of a resource.
	Scheme = "repo://"
	// MaxURIBytes bounds a URI: parsing a longer one costs more than any real path needs.
	MaxURIBytes = 4 << 10
)

// ErrURI says that a URI cannot name a resource.
var ErrURI = errors.New("malformed URI")

// Kind is the aspect of a repository that a resource shows.
type Kind int

// These are the kinds, with their URIs below repo://{repo}; the catalogue is repo:// alone.
const (
	Card      Kind = iota // the repository itself
	Refs                  // /refs
	Ref                   // /refs/heads/{branch} and /refs/tags/{tag}
	Contents              // [/refs/…|/sha/{sha}]/contents{/path*}
	Archive               // /archive/{+ref}.{format}
	Signature             // /archive/{+ref}.{format}.asc
	Checksum              // /archive/{+ref}.{format}.sha256
	Compare               // /compare/{+base}...{+head}.diff or .patch
	Commit                // /commit/{+sha}.diff or .patch
	Catalogue             // the names of all repositories
)

// Resource is a parsed URI. It says what is wanted, not whether it exists, except for the
// repository and for branches and tags before /contents: those had to be looked up to find where
// they end.
type Resource struct {
	Repository string
	Kind       Kind
	// Revision of a Contents is "", refs/heads/…, refs/tags/… or an object id; of an Archive also
	// HEAD or a bare name; of a Ref a full ref name; of a patch as of an Archive.
	Revision string
	// Path of Contents, slashes between names, raw bytes.
	Path string
	// Options of an Archive.
	Options archive.Options
	// Patch is set for a Compare or a Commit.
	Patch Patch
	// After is the name after which a page of a folder or a list begins, or "".
	After string
	// All says that Refs include more than branches and tags.
	All bool

	// paged says that a list is returned in pages, because it is read and not downloaded. A folder
	// is always returned in pages.
	paged bool
}

// Namespace finds where the names in a URI end. Both methods return [git.ErrNotFound] if no name
// fits.
type Namespace interface {
	// LongestRepository splits off the longest leading repository name.
	LongestRepository(path string) (name, rest string, err error)
	// LongestRef splits off the longest ref below prefix, followed by nothing or by the marker as a
	// whole segment.
	LongestRef(repository, prefix, path, marker string) (name, rest string, err error)
}

// Parse parses a URI. A URI outside of the grammar is ErrURI; a repository, branch or tag that does
// not exist is [git.ErrNotFound], as is any other Scheme.
//
// Percent-encoding is undone once, here, and nowhere after: slashes may be encoded or not, and no
// name is ever joined to a path of the host.
func Parse(uri string, names Namespace) (Resource, error) {
	path, query, err := decode(uri)
	if err != nil {
		return Resource{}, err
	}
	return parseNamed(path, query, names, parseBelow)
}

// shape parses the part of a URI after the repository's name.
type shape func(name, rest string, names Namespace) (Resource, error)

// parseNamed finds where the repository's name ends in a path. The empty path is the catalogue's.
func parseNamed(path string, query []pair, names Namespace, below shape) (Resource, error) {
	resource := Resource{Kind: Catalogue}
	if path != "" {
		name, rest, err := names.LongestRepository(path)
		if err != nil {
			return Resource{}, err
		}
		if resource, err = below(name, strings.TrimPrefix(rest, "/"), names); err != nil {
			return Resource{}, err
		}
	}
	return resource, resource.applyQuery(query)
}

// IsCatalogue reports whether a URI is that of the list of repositories.
func IsCatalogue(uri string) bool {
	before, _, _ := strings.Cut(uri, "?")
	return strings.EqualFold(before, Scheme) && len(uri) <= MaxURIBytes
}

// decode splits a URI into its path and options. The path of the catalogue is "".
func decode(uri string) (path string, query []pair, err error) {
	if len(uri) > MaxURIBytes {
		return "", nil, fmt.Errorf("%w: longer than %d bytes", ErrURI, MaxURIBytes)
	}
	if len(uri) < len(Scheme) || !strings.EqualFold(uri[:len(Scheme)], Scheme) {
		return "", nil, fmt.Errorf("another scheme: %w", git.ErrNotFound)
	}
	rawPath, rawQuery, hasQuery := strings.Cut(uri[len(Scheme):], "?")
	if rawPath != "" {
		if path, err = decodePath(rawPath); err != nil {
			return "", nil, err
		}
	}
	query, err = parseQuery(rawQuery, hasQuery)
	return path, query, err
}

// shapes are the forms of URIs, by their first segment.
var shapes = map[string]shape{
	"":         parseCard,
	"refs":     parseRefs,
	"contents": parseContents,
	"sha":      parseSHA,
	"archive":  parseArchive,
	"compare":  parseCompare,
	"commit":   parseCommit,
}

func parseBelow(name, rest string, names Namespace) (Resource, error) {
	segment, rest, _ := strings.Cut(rest, "/")
	parse := shapes[segment]
	if parse == nil {
		return Resource{}, fmt.Errorf("no such kind of resource: %w", git.ErrNotFound)
	}
	return parse(name, rest, names)
}

func parseCard(name, _ string, _ Namespace) (Resource, error) {
	return Resource{Repository: name, Kind: Card}, nil
}

func parseRefs(name, rest string, names Namespace) (Resource, error) {
	if rest == "" {
		return Resource{Repository: name, Kind: Refs}, nil
	}
	class, rest, _ := strings.Cut(rest, "/")
	if class != "heads" && class != "tags" {
		return Resource{}, fmt.Errorf("no such kind of ref: %w", git.ErrNotFound)
	}
	ref, rest, err := names.LongestRef(name, "refs/"+class+"/", rest, contentsMarker)
	if err != nil {
		return Resource{}, err
	}
	if rest == "" {
		return Resource{Repository: name, Kind: Ref, Revision: ref}, nil
	}
	path := strings.TrimPrefix(strings.TrimPrefix(rest, contentsMarker), "/")
	return Resource{Repository: name, Kind: Contents, Revision: ref, Path: path}, nil
}

const contentsMarker = "/contents"

func parseContents(name, rest string, _ Namespace) (Resource, error) {
	return Resource{Repository: name, Kind: Contents, Path: rest}, nil
}

func parseSHA(name, rest string, _ Namespace) (Resource, error) {
	sha, rest, _ := strings.Cut(rest, "/")
	segment, path, _ := strings.Cut(rest, "/")
	if segment != "contents" {
		return Resource{}, fmt.Errorf("no such resource of a commit: %w", git.ErrNotFound)
	}
	return Resource{Repository: name, Kind: Contents, Revision: sha, Path: path}, nil
}

// kindOfArchive splits the suffix of a checksum or signature off the name of its archive.
func kindOfArchive(name string) (Kind, string) {
	if archive, ok := strings.CutSuffix(name, signatureSuffix); ok {
		return Signature, archive
	}
	if archive, ok := strings.CutSuffix(name, checksumSuffix); ok {
		return Checksum, archive
	}
	return Archive, name
}

func parseArchive(name, rest string, _ Namespace) (Resource, error) {
	kind, rest := kindOfArchive(rest)
	ref, format, ok := archive.SplitName(rest)
	if !ok || strings.HasSuffix(ref, "/") {
		return Resource{}, fmt.Errorf("no archive format: %w", git.ErrNotFound)
	}
	return Resource{Repository: name, Kind: kind, Revision: ref, Options: archive.Options{Format: format}}, nil
}

// applyQuery sets the options of archives and lists.
func (r *Resource) applyQuery(query []pair) error {
	set := r.setListOption
	if r.isOfArchive() {
		set = r.Options.Set
	}
	for _, q := range query {
		if err := set(q.key, q.value); err != nil {
			return fmt.Errorf("%w: %w", ErrURI, err)
		}
	}
	if !r.isOfArchive() {
		return nil
	}
	if err := r.Options.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrURI, err)
	}
	r.Options = r.Options.Canonical()
	return nil
}

// isOfArchive reports whether the options of an archive decide the bytes.
func (r Resource) isOfArchive() bool { return r.Kind == Archive || r.Kind == Checksum }

// setListOption sets an option of a folder or a list, each at most once.
func (r *Resource) setListOption(key, value string) error {
	isList := r.Kind == Refs || r.Kind == Catalogue || r.Kind == Contents
	switch {
	case key == "after" && isList && r.After == "" && value != "":
		r.After = value
	case key == "all" && r.Kind == Refs && !r.All && value == "1":
		r.All = true
	default:
		return fmt.Errorf("option %q is unknown here", key)
	}
	return nil
}

// String is the canonical form: it encodes exactly the bytes that a URI cannot carry, and [Parse]
// returns the same resource again.
func (r Resource) String() string {
	var b strings.Builder
	b.WriteString(Scheme)
	b.WriteString(escape(r.Repository, pathBytes))
	switch r.Kind {
	case Card, Catalogue:
	case Refs:
		b.WriteString("/refs")
	case Ref:
		b.WriteString("/" + escape(r.Revision, pathBytes))
	case Contents:
		b.WriteString(r.revisionPart() + contentsMarker)
		if r.Path != "" {
			b.WriteString("/" + escape(r.Path, pathBytes))
		}
	case Archive, Signature, Checksum:
		b.WriteString("/archive/" + r.archiveFile())
	case Compare:
		b.WriteString("/compare/" + r.patchFile())
	case Commit:
		b.WriteString("/commit/" + r.patchFile())
	}
	b.WriteString(r.query())
	return b.String()
}

// archiveFile is the last part of the URI of an archive, its checksum or its signature.
func (r Resource) archiveFile() string {
	beside := map[Kind]string{Signature: signatureSuffix, Checksum: checksumSuffix}[r.Kind]
	return escape(r.Revision, pathBytes) + "." + string(r.Options.Format) + beside
}

// query returns the options that differ from their defaults.
func (r Resource) query() string {
	var options [][2]string
	if r.isOfArchive() {
		options = r.Options.Values()
	}
	if r.All {
		options = append(options, [2]string{"all", "1"})
	}
	if r.After != "" {
		options = append(options, [2]string{"after", r.After})
	}
	var b strings.Builder
	for i, option := range options {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(option[0] + "=" + escape(option[1], queryBytes))
	}
	return b.String()
}

func (r Resource) revisionPart() string {
	switch {
	case r.Revision == "":
		return ""
	case strings.HasPrefix(r.Revision, "refs/"):
		return "/" + escape(r.Revision, pathBytes)
	default:
		return "/sha/" + escape(r.Revision, pathBytes)
	}
}

// decodePath undoes percent-encoding and refuses anything but a plain path. It allows one final
// slash, as people type it.
func decodePath(raw string) (string, error) {
	if strings.Contains(raw, "#") {
		return "", fmt.Errorf("%w: it has a fragment", ErrURI)
	}
	path, err := unescape(raw)
	if err != nil {
		return "", err
	}
	path = strings.TrimSuffix(path, "/")
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", fmt.Errorf("%w: it has an empty, \".\" or \"..\" segment", ErrURI)
		}
	}
	return path, nil
}

// pair is an option of a query.
type pair struct{ key, value string }

// parseQuery reads options in their order.
func parseQuery(raw string, present bool) ([]pair, error) {
	var options []pair
	if !present {
		return nil, nil
	}
	for option := range strings.SplitSeq(raw, "&") {
		rawKey, rawValue, ok := strings.Cut(option, "=")
		key, keyErr := unescape(rawKey)
		value, valueErr := unescape(rawValue)
		if !ok || key == "" || keyErr != nil || valueErr != nil || strings.Contains(option, "#") {
			return nil, fmt.Errorf("%w: its options are malformed", ErrURI)
		}
		options = append(options, pair{key, value})
	}
	return options, nil
}

// unescape undoes percent-encoding once. It refuses NUL: git's names have none, and C programs end
// strings at it.
func unescape(s string) (string, error) {
	plain, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("%w: it has a broken percent-encoding", ErrURI)
	}
	if strings.Contains(plain, "\x00") {
		return "", fmt.Errorf("%w: it has a NUL byte", ErrURI)
	}
	return plain, nil
}

// These are the bytes besides letters and digits that RFC 3986 allows unencoded in a path, with the
// slash, and in a query value.
const (
	pathBytes  = "-._~!$&'()*+,;=:@/"
	queryBytes = "-._~!$'()*+,;:@/"
)

func escape(s, allowed string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(allowed, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
