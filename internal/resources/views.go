package resources

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/repos"
)

// Keys of _meta.
const (
	metaPrefix     = "io.github.repomcp/"
	metaCommit     = metaPrefix + "commit"
	metaID         = metaPrefix + "id"
	metaMode       = metaPrefix + "mode"
	metaStreamable = metaPrefix + "streamable"
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

type refsView struct {
	Repository    string    `json:"repository"`
	DefaultBranch string    `json:"defaultBranch,omitempty"`
	Refs          []refView `json:"refs"`
}

// catalogueView has all repositories by name.
type catalogueView struct {
	Repositories []repositoryView `json:"repositories"`
}

type repositoryView struct {
	Name string `json:"name"`
	URI  string `json:"uri"`
}

type refView struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // branch, tag or other
	Commit string `json:"commit,omitempty"`
	// Target is the tag object of an annotated tag, or what a tag names
	// instead of a commit.
	Target string `json:"target,omitempty"`
	// Damaged says that the commit cannot be read, so that nobody knows it.
	Damaged bool   `json:"damaged,omitempty"`
	URI     string `json:"uri,omitempty"`
}

type oneRefView struct {
	Repository string `json:"repository"`
	refView
	Head  *commitView `json:"head,omitempty"`
	Links linksView   `json:"links"`
}

type folderView struct {
	Repository string      `json:"repository"`
	Commit     string      `json:"commit"`
	Path       string      `json:"path"`
	Entries    []entryView `json:"entries"`
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

// jsonContent renders a view. Names may hold any character; HTML's are no
// exception, so they are not escaped.
func jsonContent(r Resource, view any) (*Content, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(view); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(b.String()))
	return &Content{
		URI: r.String(), MIMEType: mimeJSON, FileName: path.Base(r.Repository) + ".json", Size: int64(b.Len()), ETag: hex.EncodeToString(sum[:16]),
		write: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, b.String())
			return err
		},
	}, nil
}

// listContent renders a view that grows with what it lists. It is downloaded as
// files are, by a URI that says no commit: it is the list of that moment.
func listContent(r Resource, view any) (*Content, error) {
	content, err := jsonContent(r, view)
	if err != nil {
		return nil, err
	}
	list := outline(r)
	list.Size, list.ETag, list.write = content.Size, content.ETag, content.write
	return list, nil
}

// outline is a list of which nothing was read: what a link to it says.
func outline(r Resource) *Content {
	uri, name := r.String(), "repositories.json"
	if r.Kind == Refs {
		name = path.Base(r.Repository) + "-refs.json"
	}
	return &Content{
		URI: uri, MIMEType: mimeJSON, FileName: name, Size: UnknownSize, Streamable: true, Repository: r.Repository, Frozen: uri, FrozenName: name,
	}
}

func viewCommit(c repos.Commit) commitView {
	return commitView{
		Commit: c.ID.String(), Tree: c.Tree.String(), Time: c.Committer.When.Format(time.RFC3339),
		Author: text(c.Author.Name), Subject: text(c.Subject()),
	}
}

func openCard(_ context.Context, s *repos.Snapshot, r Resource) (*Content, error) {
	refs, err := s.Refs()
	if err != nil {
		return nil, err
	}
	branch, err := s.DefaultBranch()
	if err != nil {
		return nil, err
	}
	view := cardView{Name: r.Repository, Description: s.Description(), DefaultBranch: text(branch)}
	for _, ref := range refs {
		switch {
		case ref.Branch() != "":
			view.Branches++
		case ref.Tag() != "":
			view.Tags++
		}
	}
	view.Links.Refs = Resource{Repository: r.Repository, Kind: Refs}.String()
	head, err := s.Head()
	switch {
	case err != nil && !errors.Is(err, repos.ErrEmpty):
		return nil, err
	case err != nil:
		view.Empty = true
	default:
		commit, err := s.Commit(head.Commit)
		if err != nil {
			return nil, err
		}
		shown := viewCommit(commit)
		view.Head = &shown
		view.Links.Contents = Resource{Repository: r.Repository, Kind: Contents}.String()
		view.Links.Archive = Resource{Repository: r.Repository, Kind: Archive, Revision: head.Name, Options: archive.Options{Format: archive.TarGz}}.String()
	}
	return jsonContent(r, view)
}

func openRefs(_ context.Context, s *repos.Snapshot, r Resource) (*Content, error) {
	refs, err := s.Refs()
	if err != nil {
		return nil, err
	}
	branch, err := s.DefaultBranch()
	if err != nil {
		return nil, err
	}
	view := refsView{Repository: r.Repository, DefaultBranch: text(branch), Refs: make([]refView, 0, len(refs))}
	for _, ref := range refs {
		view.Refs = append(view.Refs, viewRef(r.Repository, ref))
	}
	return listContent(r, view)
}

// openCatalogue lists the repositories.
func (s *Server) openCatalogue() (*Content, error) {
	view := catalogueView{Repositories: []repositoryView{}}
	for _, name := range s.catalogue.Names() {
		view.Repositories = append(view.Repositories, repositoryView{text(name), Resource{Repository: name}.String()})
	}
	return listContent(Resource{Kind: Catalogue}, view)
}

func viewRef(repository string, ref repos.Ref) refView {
	view := refView{Name: text(ref.Name), Type: "other"}
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

func openRef(_ context.Context, s *repos.Snapshot, r Resource) (*Content, error) {
	ref, err := s.Ref(r.Revision)
	if err != nil {
		return nil, err
	}
	view := oneRefView{Repository: r.Repository, refView: viewRef(r.Repository, ref)}
	if !ref.Commit.IsZero() {
		commit, err := s.Commit(ref.Commit)
		if err != nil {
			return nil, err
		}
		shown := viewCommit(commit)
		view.Head = &shown
		view.Links.Contents = Resource{Repository: r.Repository, Kind: Contents, Revision: r.Revision}.String()
		view.Links.Archive = Resource{Repository: r.Repository, Kind: Archive, Revision: r.Revision, Options: archive.Options{Format: archive.TarGz}}.String()
	}
	return jsonContent(r, view)
}

func openFolder(s *repos.Snapshot, r Resource, commit repos.Commit, folder repos.TreeEntry) (*Content, error) {
	entries, err := s.Tree(folder.ID)
	if err != nil {
		return nil, missingBlob(err)
	}
	view := folderView{Repository: r.Repository, Commit: commit.ID.String(), Path: text(r.Path), Entries: make([]entryView, 0, len(entries))}
	for _, entry := range entries {
		shown, err := viewEntry(s, r, entry)
		if err != nil {
			return nil, missingBlob(err)
		}
		view.Entries = append(view.Entries, shown)
	}
	return jsonContent(r, view)
}

func viewEntry(s *repos.Snapshot, r Resource, entry repos.TreeEntry) (entryView, error) {
	r.Path = path.Join(r.Path, entry.Name)
	view := entryView{Name: text(entry.Name), Type: entryType(entry.Mode), Mode: entry.Mode.String(), ID: entry.ID.String(), URI: r.String()}
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

func entryType(mode repos.Mode) string {
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
