package mcp

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/resources/skills"
)

// ExtensionSkills is the identifier of SEP-2640 among the extensions.
const ExtensionSkills = "io.modelcontextprotocol/skills"

// skillsExtension are the settings of [ExtensionSkills].
type skillsExtension struct {
	DirectoryRead bool `json:"directoryRead"`
}

// skillMethods are the methods of [ExtensionSkills].
var skillMethods = []string{MethodSkillsList, MethodSkillsGet, MethodReadDirectory}

const (
	// pageSkills and pageFiles end a page of skills/list: 100 skills with a few files, or fewer with
	// many, are some 300 KB.
	pageSkills = 100
	pageFiles  = 1000
	// pageScan is how many repositories are looked at for one page.
	pageScan = 500

	typeMarkdown = "text/markdown"

	metaCommit   = resources.MetaPrefix + "commit"
	metaOmitted  = resources.MetaPrefix + "omitted"
	metaPointers = resources.MetaPrefix + "lfsPointers"
)

// skillEntry is a Skill of SEP-2640.
type skillEntry struct {
	Meta        map[string]any  `json:"_meta"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Resources   []skillResource `json:"resources"`
	URI         string          `json:"uri"`
}

// skillResource is a SkillResource of SEP-2640.
type skillResource struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	URI    string `json:"uri"`
}

// entryOf describes a skill whose folder has a URI. The folder of the same commit has another one,
// which stays.
func entryOf(skill *skills.Skill, folder, frozen, commit string) skillEntry {
	entry := skillEntry{
		URI: folder + "/" + skills.FileName, Frontmatter: skill.Frontmatter,
		Meta: map[string]any{metaCommit: commit, metaLocation: frozen + "/" + skills.FileName},
	}
	var pointers []string
	for _, file := range skill.Files {
		uri := folder + "/" + resources.EscapePath(file.Path)
		entry.Resources = append(entry.Resources, skillResource{
			URI: uri, Digest: "sha256:" + hex.EncodeToString(file.Digest[:]), Size: file.Size,
		})
		if file.Pointer {
			pointers = append(pointers, uri)
		}
	}
	var omitted []string
	for _, path := range skill.Omitted {
		omitted = append(omitted, folder+"/"+resources.EscapePath(path))
	}
	for key, uris := range map[string][]string{metaPointers: pointers, metaOmitted: omitted} {
		if uris != nil {
			entry.Meta[key] = uris
		}
	}
	return entry
}

// frozenFolder is the URI of a folder at a commit, for ever.
func frozenFolder(repository, commit, path string) string {
	return resources.Resource{Repository: repository, Kind: resources.Contents, Revision: commit, Path: path}.String()
}

// skillsOf returns the listed skills of a repository whose default branch has a tip. It leaves out a skill
// whose URI is that of another repository, inside of the folder that has its name. A repository that
// cannot be read has no skills here: its own resources say why.
func (s *Server) skillsOf(
	ctx context.Context, view repos.View, repository *repos.Repository, tip git.ID,
) (list []skills.Listed, commit string, err error) {
	listing, err := s.options.Skills.ListTip(ctx, repository, tip)
	switch {
	case ctx.Err() != nil, limits.RefusalOf(err) != nil:
		return nil, "", err
	case err != nil:
		s.logger.DebugContext(ctx, "the skills of a repository are not listed", "repository", repository.Name(),
			"error", err)
		return nil, "", nil
	}
	for _, skill := range listing.Skills {
		owner, _, err := view.LongestKnown(path.Join(repository.Name(), skill.Path, skills.FileName))
		if err == nil && owner == repository {
			list = append(list, skill)
		}
	}
	return list, listing.Commit.String(), nil
}

// skillResources are the listed resources of skills of a repository.
func skillResources(repository string, list []skills.Listed) (listed []listedResource) {
	for _, skill := range list {
		listed = append(listed, listedResource{
			URI:  resources.SkillURI(repository, path.Join(skill.Path, skills.FileName)),
			Name: skill.Name, Description: skill.Description, MIMEType: typeMarkdown,
		})
	}
	return listed
}

// skillsPage is a page of skills/list while it is filled.
type skillsPage struct {
	server *Server
	view   repos.View
	skills []skillEntry
	files  int
	reads  []resources.Read
	next   mcp.Cursor // after the last skill
	full   bool
}

// listSkills answers skills/list with a page of the skills of all repositories, ordered by repository
// and path.
func (s *Server) listSkills(ctx context.Context, _ *Request, params mcp.PaginatedParams) (any, *Error) {
	after, ok := parseSkillsCursor(params.Cursor)
	if !ok {
		return nil, foreignCursor()
	}
	page := &skillsPage{server: s, view: s.options.Catalogue.For(ctx), skills: []skillEntry{}}
	more, err := page.fill(ctx, after)
	if err != nil {
		return nil, resources.AsError(err, "")
	}
	resources.AccountOf(ctx).ReadFor(ctx, page.reads)
	result := members{"skills": page.skills}
	if more {
		result["nextCursor"] = page.next
	}
	return result, nil
}

// fill adds the skills after a place. more reports that others may follow.
func (p *skillsPage) fill(ctx context.Context, after skillsPlace) (more bool, err error) {
	names, more := p.view.Page(after.repository, pageScan)
	if after.within {
		names = append([]string{after.repository}, names...)
	}
	for _, name := range names {
		repository, err := p.view.Known(name)
		if err != nil {
			continue // it has gone meanwhile, or is none
		}
		var within *string
		if after.within && name == after.repository {
			within = &after.path
		}
		if err := p.add(ctx, repository, within); err != nil || p.full {
			return true, err
		}
		p.next = skillsPlace{repository: name}.cursor()
	}
	return more, nil
}

// add adds the skills of a repository, those after a path if one is given, until the page is full.
func (p *skillsPage) add(ctx context.Context, repository *repos.Repository, after *string) error {
	_, tip, err := repository.HeadTip()
	if err != nil {
		return nil // its own resources say why
	}
	list, commit, err := p.server.skillsOf(ctx, p.view, repository, tip)
	if err != nil {
		return err
	}
	name, begun := repository.Name(), false
	for _, skill := range list {
		if after != nil && skill.Path <= *after {
			continue
		}
		files := p.files + len(skill.Files)
		if len(p.skills) == pageSkills || len(p.skills) > 0 && files > pageFiles {
			p.full = true
			break
		}
		if !begun {
			begun, p.reads = true, append(p.reads, resources.Read{Repository: name, Commit: commit})
		}
		p.skills, p.files = append(p.skills, entryOf(
			skill.Skill, resources.SkillURI(name, skill.Path), frozenFolder(name, commit, skill.Path), commit,
		)), files
		p.next = skillsPlace{name, true, skill.Path}.cursor()
	}
	return nil
}

// skillsPlace is a place in skills/list: after a repository, or after a path within it.
type skillsPlace struct {
	repository string
	within     bool
	path       string
}

// skillsPrefix distinguishes the cursors of skills/list.
const skillsPrefix = "skills after "

func (p skillsPlace) cursor() mcp.Cursor {
	if p.within {
		return encodeCursor(skillsPrefix, p.repository+"\x00"+p.path)
	}
	return encodeCursor(skillsPrefix, p.repository)
}

// parseSkillsCursor accepts exactly what cursor writes, and no cursor at all.
func parseSkillsCursor(cursor mcp.Cursor) (place skillsPlace, ok bool) {
	if cursor == "" {
		return place, true
	}
	value, ok := decodeCursor(skillsPrefix, cursor)
	place.repository, place.path, place.within = strings.Cut(value, "\x00")
	return place, ok && repos.IsName(place.repository)
}

// getSkill answers skills/get, for the folder of any commit by any URI of a SKILL.md.
func (s *Server) getSkill(ctx context.Context, r *Request, _ struct{}) (any, *Error) {
	uri := r.Params.URI
	root, ok := strings.CutSuffix(uri, "/"+skills.FileName)
	if !ok {
		return nil, notSkill("the URI does not end in /" + skills.FileName)
	}
	folder, err := s.resources.FindFolder(ctx, root, "")
	if errors.Is(err, resources.ErrNotFolder) {
		return nil, notSkill("it is in no folder of a repository")
	}
	if err != nil {
		return nil, s.resources.Failure(ctx, err, uri)
	}
	defer s.close(ctx, folder)
	skill, err := s.options.Skills.Read(ctx, folder.Repository, folder.Snapshot, folder.Tree, path.Base(root))
	if refused := (*skills.RefusedError)(nil); errors.As(err, &refused) {
		return nil, notSkill(refused.Reason)
	}
	if err != nil {
		return nil, s.resources.Failure(ctx, err, uri)
	}
	return members{"skill": entryOf(skill, root, folder.Frozen, folder.Commit)}, nil
}

// notSkill refuses the URI of something that is no skill.
func notSkill(reason string) *Error {
	return &Error{Reason: ReasonNotSkill, Message: "No skill is served at the URI: " + resources.Text(reason) + "."}
}

// readDirectory answers resources/directory/read with a page of the entries of a folder. Later pages
// are those of the same commit, even if the branch moves.
func (s *Server) readDirectory(ctx context.Context, r *Request, params mcp.PaginatedParams) (any, *Error) {
	commit, after, ok := parseFolderCursor(params.Cursor)
	if !ok {
		return nil, foreignCursor()
	}
	uri := r.Params.URI
	folder, err := s.resources.FindFolder(ctx, uri, commit)
	if errors.Is(err, resources.ErrNotFolder) {
		return nil, &Error{Reason: ReasonNotDirectory, Message: "The resource is no directory resource. Read it with " +
			"resources/read, or name a folder: repo://{repo}/contents is the root of a repository."}
	}
	if err != nil {
		return nil, s.resources.Failure(ctx, err, uri)
	}
	defer s.close(ctx, folder)
	children, more, err := folder.Page(ctx, after)
	if err != nil {
		return nil, s.resources.Failure(ctx, err, uri)
	}
	list := make([]directoryChild, len(children))
	for i, child := range children {
		list[i] = directoryChild{
			Meta: child.Meta, Name: resources.Text(child.Name), MIMEType: typeAt(uri, child.MIMEType), Size: child.Size,
			URI: strings.TrimSuffix(uri, "/") + "/" + resources.EscapePath(child.Name),
		}
	}
	result := members{"resources": list}
	if more {
		result["nextCursor"] = encodeCursor(folderPrefix, folder.Commit+" "+children[len(children)-1].Name)
	}
	return result, nil
}

// directoryChild is a resource of a folder.
type directoryChild struct {
	Meta     map[string]any `json:"_meta,omitempty"`
	MIMEType string         `json:"mimeType,omitempty"`
	Name     string         `json:"name"`
	Size     *int64         `json:"size,omitempty"`
	URI      string         `json:"uri"`
}

// folderPrefix distinguishes the cursors of folders, which have the commit and a name.
const folderPrefix = "entries after "

// parseFolderCursor accepts exactly what readDirectory writes, and no cursor at all.
func parseFolderCursor(cursor mcp.Cursor) (commit, after string, ok bool) {
	if cursor == "" {
		return "", "", true
	}
	value, ok := decodeCursor(folderPrefix, cursor)
	commit, after, named := strings.Cut(value, " ")
	_, err := git.ParseID(commit)
	return commit, after, ok && named && after != "" && err == nil
}
