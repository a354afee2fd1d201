package resources

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
)

// Keys of _meta.
const (
	MetaPrefix = "io.github.repomcp/"
	metaCommit = MetaPrefix + "commit"
	metaID     = MetaPrefix + "id"
	metaMode   = MetaPrefix + "mode"
	// metaUnknownEncodings lists encodings that files of an archive were to be converted to.
	metaUnknownEncodings = MetaPrefix + "unknownEncodings"
	MetaStreamable       = MetaPrefix + "streamable"
)

// The JSON views. Times are RFC 3339 in the committer's zone; ids are full.

type cardView struct {
	Name          string      `json:"name"`
	Description   string      `json:"description,omitempty"`
	DefaultBranch string      `json:"defaultBranch,omitempty"`
	Empty         bool        `json:"empty,omitempty"`
	Head          *commitView `json:"head,omitempty"`
	Branches      int         `json:"branches"`
	Tags          int         `json:"tags"`
	Links         linksView   `json:"links"`
}

type linksView struct {
	Refs     string `json:"refs,omitempty"`
	Contents string `json:"contents,omitempty"`
	Archive  string `json:"archive,omitempty"`
}

type commitView struct {
	Commit  string `json:"commit"`
	Tree    string `json:"tree"`
	Time    string `json:"time"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
}

// refsView has the members before the refs.
type refsView struct {
	Repository    string `json:"repository"`
	DefaultBranch string `json:"defaultBranch,omitempty"`
	HeadDamaged   bool   `json:"headDamaged,omitempty"` // the default branch is not known
	Next          string `json:"next,omitempty"`        // URI of the following page
}

// catalogueView has the members before the repositories.
type catalogueView struct {
	Count int    `json:"count"`
	Next  string `json:"next,omitempty"`
}

type repositoryView struct {
	Name string `json:"name"`
	URI  string `json:"uri"`
	// Quarantined says that the repository cannot be read at the moment.
	Quarantined bool `json:"quarantined,omitempty"`
}

type refView struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // branch, tag or other
	Commit string `json:"commit,omitempty"`
	// Target is the tag object of an annotated tag, or what a tag names instead of a commit.
	Target string `json:"target,omitempty"`
	// Damaged says that the commit cannot be read, so its id is unknown.
	Damaged bool   `json:"damaged,omitempty"`
	URI     string `json:"uri,omitempty"`
}

type oneRefView struct {
	Repository string `json:"repository"`
	refView
	Head  *commitView `json:"head,omitempty"`
	Links linksView   `json:"links"`
}

// folderView has the members before the entries.
type folderView struct {
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
	Path       string `json:"path"`
	Next       string `json:"next,omitempty"`
}

type entryView struct {
	Name string `json:"name"`
	// NameBase64 has the exact bytes of a name that is not UTF-8.
	NameBase64 string `json:"nameBase64,omitempty"`
	Type       string `json:"type"` // file, directory, symlink or submodule
	Mode       string `json:"mode"`
	ID         string `json:"id"`
	Size       *int64 `json:"size,omitempty"` // of files and symlinks, in bytes
	URI        string `json:"uri"`
}

type submodule struct {
	Type   string `json:"type"`
	Path   string `json:"path"`
	Commit string `json:"commit"`
}

// metaETag is the validator of an answer that names its commit, in the form of an ETag of HTTP. That of a
// resource is the ETag of its plain download.
const metaETag = MetaPrefix + "etag"

// ValidatorMeta returns the member of _meta with a validator.
func ValidatorMeta(etag string) map[string]any { return map[string]any{metaETag: `"` + etag + `"`} }

// etagOf returns enough of a digest to distinguish contents.
func etagOf(digest []byte) string { return hex.EncodeToString(digest[:16]) }

func describedJSON(r Resource, view any) (*Found, error) {
	text, err := compact(view)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	return described(r).describedBy(int64(len(text)), textSource(text)), nil
}

// describedBy sets the source of a resource's bytes, whose digest becomes the ETag.
func (f *Found) describedBy(size int64, source *list) *Found {
	f.Described, f.Size, f.ETag, f.source = true, size, etagOf(source.digest), source
	return f
}

// described is a view without bytes yet.
func described(r Resource) *Found {
	return &Found{URI: r.String(), MIMEType: TypeJSON, FileName: path.Base(r.Repository) + ".json"}
}

// pageOf returns the part of a list that a resource shows: a page if it is read or has After, and
// else all. next is the URI of the following page, or "".
func (r Resource) pageOf(names []string) (start, end int, next string) {
	if r.After != "" {
		var found bool
		if start, found = slices.BinarySearch(names, r.After); found {
			start++
		}
	}
	if end = len(names); r.paged || r.After != "" {
		end = min(end, start+pageEntries)
	}
	if end < len(names) {
		next = r.next(names[end-1])
	}
	return start, end, next
}

// next is the URI of the page after the one that ends with a name.
func (r Resource) next(last string) string {
	r.After = last
	return r.String()
}

// outline is a list without its content, for a link to it. It is downloaded like a file, by a URI
// without a commit: the list of that moment.
func outline(r Resource) *Found {
	uri, name := r.String(), "repositories.json"
	if r.Kind == Refs {
		name = path.Base(r.Repository) + "-refs.json"
	}
	return &Found{
		URI: uri, MIMEType: TypeJSON, FileName: name, Size: UnknownSize, Streamable: true, Repository: r.Repository,
		Frozen: uri, FrozenName: name,
	}
}

// viewHead shows the commit at a ref, and where the files and the archive are.
func viewHead(s *git.Snapshot, id git.ID, contents, packed Resource) (*commitView, linksView, error) {
	c, err := s.Commit(id)
	if err != nil {
		return nil, linksView{}, err
	}
	contents.Kind, packed.Kind, packed.Options.Format = Contents, Archive, archive.TarGz
	return &commitView{
		Commit: c.ID.String(), Tree: c.Tree.String(), Time: c.Committer.When().Format(time.RFC3339),
		Author: Text(c.Author.Name), Subject: Text(c.Subject()),
	}, linksView{Contents: contents.String(), Archive: packed.String()}, nil
}

func (s *Service) findCard(ctx context.Context, snapshot *git.Snapshot, r Resource) (*Found, error) {
	repository, err := s.options.Catalogue.For(ctx).Get(r.Repository)
	if err != nil {
		return nil, err
	}
	refs, err := snapshot.RefsBelow(git.BranchPrefix, git.TagPrefix)
	if err != nil {
		return nil, err
	}
	branch, err := snapshot.DefaultBranch()
	if err != nil {
		return nil, err
	}
	view := cardView{Name: r.Repository, Description: repository.Description(), DefaultBranch: Text(branch)}
	for _, ref := range refs {
		if ref.Branch() != "" {
			view.Branches++
		} else {
			view.Tags++
		}
	}
	head, err := snapshot.Head()
	switch {
	case err != nil && !errors.Is(err, git.ErrEmpty):
		return nil, err
	case err != nil:
		view.Empty = !errors.Is(err, git.ErrUnborn)
	default:
		packed := Resource{Repository: r.Repository, Revision: head.Name}
		if view.Head, view.Links, err = viewHead(snapshot, head.Commit, Resource{Repository: r.Repository},
			packed); err != nil {
			return nil, err
		}
	}
	view.Links.Refs = Resource{Repository: r.Repository, Kind: Refs}.String()
	return describedJSON(r, view)
}

// findRefs lists branches and tags, and other refs only on request: a mirror of a large host has
// one for each pull request.
func findRefs(ctx context.Context, s *git.Snapshot, r Resource) (*Found, error) {
	prefixes := []string{git.BranchPrefix, git.TagPrefix}
	if r.All {
		prefixes = []string{"refs/"}
	}
	refs, err := s.RefsBelow(prefixes...)
	if err != nil {
		return nil, err
	}
	branch, err := s.DefaultBranch()
	headDamaged := errors.Is(err, git.ErrCorrupt)
	if err != nil && !headDamaged {
		return nil, err
	}
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.Name
	}
	start, end, next := r.pageOf(names)
	view := refsView{r.Repository, Text(branch), headDamaged, next}
	shown := listing{view, "refs", end - start, func(i int) any { return viewRef(r.Repository, refs[start+i]) }}
	return shown.fill(ctx, outline(r), next)
}

// findCatalogue lists the repositories.
func (s *Service) findCatalogue(ctx context.Context, r Resource) (*Found, error) {
	known := s.options.Catalogue.For(ctx)
	names := known.Names()
	start, end, next := r.pageOf(names)
	shown := listing{catalogueView{len(names), next}, "repositories", end - start, func(i int) any {
		name := names[start+i]
		repository, err := known.Known(name)
		return repositoryView{
			Text(name), Resource{Repository: name}.String(), err == nil && repository.Quarantined(),
		}
	}}
	return shown.fill(ctx, outline(r), next)
}

func viewRef(repository string, ref git.Ref) refView {
	view := refView{Name: Text(ref.Name), Type: "other"}
	switch {
	case ref.Branch() != "":
		view.Type = "branch"
	case ref.Tag() != "":
		view.Type = "tag"
	}
	if view.Type != "other" {
		view.URI = Resource{Repository: repository, Kind: Ref, Revision: ref.Name}.String()
	}
	if !ref.Commit.IsZero() {
		view.Commit = ref.Commit.String()
	}
	if ref.Target != ref.Commit {
		view.Target = ref.Target.String()
	}
	view.Damaged = ref.Damage != nil
	return view
}

func findRef(_ context.Context, s *git.Snapshot, r Resource) (*Found, error) {
	ref, err := s.Ref(r.Revision)
	if err != nil {
		return nil, err
	}
	view := oneRefView{Repository: r.Repository, refView: viewRef(r.Repository, ref)}
	if !ref.Commit.IsZero() {
		named := Resource{Repository: r.Repository, Revision: r.Revision}
		if view.Head, view.Links, err = viewHead(s, ref.Commit, named, named); err != nil {
			return nil, err
		}
	}
	return describedJSON(r, view)
}

// findFolder lists a page of a folder. Later pages are those of the same commit, even if the branch
// moves.
func findFolder(
	ctx context.Context, s *git.Snapshot, r Resource, commit git.Commit, folder git.TreeEntry,
) (*Found, error) {
	entries, more, err := s.TreePage(folder.ID, r.After, pageEntries)
	if errors.Is(err, git.ErrNotFound) && r.After != "" {
		return nil, err
	}
	if err != nil {
		return nil, git.MustExist(folder.ID, err)
	}
	found := described(r)
	view := folderView{Repository: r.Repository, Commit: commit.ID.String(), Path: Text(r.Path)}
	if more {
		following := r
		following.Revision = view.Commit
		view.Next = following.next(entries[len(entries)-1].Name)
	}
	r.After = ""
	shown := make([]entryView, len(entries))
	for i, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if shown[i], err = viewEntry(s, r, entry); err != nil {
			return nil, git.MustExist(entry.ID, err)
		}
	}
	list := listing{view, "entries", len(shown), func(i int) any { return shown[i] }}
	return list.fill(ctx, found, view.Next)
}

func viewEntry(s *git.Snapshot, r Resource, entry git.TreeEntry) (entryView, error) {
	r.Path = path.Join(r.Path, entry.Name)
	view := entryView{
		Name: Text(entry.Name), Type: entryType(entry.Mode), Mode: entry.Mode.String(), ID: entry.ID.String(),
		URI: r.String(),
	}
	if !utf8.ValidString(entry.Name) {
		view.NameBase64 = base64.StdEncoding.EncodeToString([]byte(entry.Name))
	}
	if entry.Mode.IsRegular() || entry.Mode.IsSymlink() {
		size, err := s.Size(entry.ID)
		if err != nil {
			return entryView{}, err
		}
		view.Size = &size
	}
	return view, nil
}

func entryType(mode git.Mode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode.IsSymlink():
		return "symlink"
	case mode.IsGitlink():
		return "submodule"
	default:
		return "file"
	}
}
