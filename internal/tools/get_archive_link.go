package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

// maxArchiveURI bounds the URI of an archive: a result repeats it up to six times, and proxies
// accept no longer addresses.
const maxArchiveURI = 4 << 10

type archiveArguments struct {
	revision
	format string
	given  []*givenOption

	options archive.Options // all of the above
}

// givenOption holds the values of an option, which is a list or a string.
type givenOption struct {
	name string
	list []string
	text string
}

// optionNames maps options to the arguments that are named differently.
var optionNames = map[string]string{"path": "paths"}

// programOptions have no arguments: they are for programs, which need no tool, and would lengthen
// each request of an agent.
var programOptions = []string{"delta", "objects", "depth", "refname", "origin", "pushurl"}

// optionHints are short descriptions of options. The descriptions in the table of archives are for
// people, and too long to be sent with every request.
var optionHints = map[string]string{
	"path":       "Git pathspecs to take.",
	"exclude":    "Git pathspecs to leave out.",
	"prefix":     "Put before every path, like hello/.",
	"strip":      "Take only this folder, without its name.",
	"profile":    "archive: as git archive; full: as stored; worktree: checked out; checkout: cloned.",
	"base":       "Only what differs from this revision.",
	"fallback":   "full: everything if a difference is not possible.",
	"lfs":        "content: fill in git-lfs files; pointers: leave them.",
	"submodules": "content: fill in submodules served here; omit: leave empty.",
}

// define adds the options from the table of archives.
func (a *archiveArguments) define(p *arguments.List) {
	a.revision.define(p)
	a.format = string(archive.TarGz)
	p.Choice(&a.format, "format", "manifest.json lists what the others hold.", archive.FormatNames()...)
	for _, option := range archive.Parameters() {
		if slices.Contains(programOptions, option.Name) {
			continue
		}
		given := &givenOption{name: option.Name}
		a.given = append(a.given, given)
		name, hint := cmp.Or(optionNames[option.Name], option.Name), cmp.Or(optionHints[option.Name], option.Usage)
		if option.Repeat {
			p.Texts(&given.list, name, hint)
		} else {
			p.Text(&given.text, name, hint)
		}
	}
}

// check parses the options in the order of the table.
func (a *archiveArguments) check() error {
	a.options.Format = archive.Format(a.format)
	for _, given := range a.given {
		values := given.list
		if given.text != "" {
			values = []string{given.text}
		}
		for _, value := range values {
			if err := a.options.Set(given.name, unquoteName(value)); err != nil {
				return err
			}
		}
	}
	return a.options.Check()
}

// archiveLink is the data of get_archive_link.
type archiveLink struct {
	Repository string `json:"repository"`
	SHA        string `json:"sha" jsonschema:"Commit that it is made of, or tag of a folder"`
	Base       string `json:"base,omitempty" jsonschema:"Commit that it is the difference from"`
	URI        string `json:"uri" jsonschema:"Resource of the archive, for resources/stream"`
	Format     string `json:"format"`
	MIMEType   string `json:"mimeType"`
	FileName   string `json:"fileName"`
	Size       *int64 `json:"size,omitempty" jsonschema:"Bytes of the download, where they are known before it is made"`
	TarSize    *int64 `json:"tarSize,omitempty" jsonschema:"Bytes of the archive before compression"`
	Entries    *int64 `json:"entries,omitempty" jsonschema:"Files and folders in it"`
	Ignored    *int64 `json:"ignored,omitempty" jsonschema:"Files and folders that .gitattributes leave out (export-ignore)"`
	URL        string `json:"url,omitempty" jsonschema:"Address of the plain download"`
	HTTP       string `json:"httpUrl,omitempty" jsonschema:"Address that needs no credentials until httpUrlExpiresAt"`
	Expires    string `json:"httpUrlExpiresAt,omitempty"`
	remarks
}

func (v *visit) getArchiveLink(ctx context.Context, a archiveArguments) error {
	at, err := v.treeish(ctx, a.revision)
	if err != nil {
		return err
	}
	revision := at.name
	if a.options.Profile == archive.ProfileCheckout && !at.Tree.IsZero() {
		revision = cmp.Or(at.resolved, "HEAD") // a checkout is of a branch or a tag
	}
	h, err := v.Resources.LocateMeasured(ctx, archiveOf(at.repository, revision, a.options))
	if err != nil {
		return err
	}
	if len(h.URI) > maxArchiveURI {
		return say("The options make an address of %d bytes, which is more than %d. Name folders instead of "+
			"single files, or ask for several archives.", len(h.URI), maxArchiveURI)
	}
	data := &archiveLink{
		Repository: quote(at.repository), SHA: at.name, Base: h.Base, URI: h.URI, Format: a.format,
		MIMEType: h.MIMEType, FileName: quote(h.FileName),
		URL: h.URL, HTTP: h.HTTP, Expires: h.HTTPExpires,
	}
	if h.Size != resources.UnknownSize {
		data.Size = &h.Size
	}
	if h.Extent != nil {
		data.TarSize, data.Entries, data.Ignored = &h.Extent.Bytes, &h.Extent.Entries, &h.Extent.Ignored
	}
	v.lines, v.data = data.lines(at), data
	if h.Route == "" {
		v.note("No HTTP server runs, so that there is no address. On the machine of the server, with the folder "+
			"that it serves for DIR, this writes the archive: %s",
			archiveCommand(at.repository, revision, a.options, h.FileName))
	}
	v.addLink(h, fmt.Sprintf("Archive of %s", at))
	return nil
}

// treeish is a commit, or a folder that a tag points to.
type treeish struct {
	found
	name string // never changes its meaning
}

// treeish resolves the tree to archive.
func (v *visit) treeish(ctx context.Context, a revision) (treeish, error) {
	ref := a.commitName()
	if t, err := v.snapshot.ResolveTreeish(ctx, ref); err == nil && t.Commit.IsZero() {
		v.note("%s leads to a folder, and to no commit.", quote(clip(ref)))
		at := found{repository: v.name(), ref: ref}
		at.ID = t.ID
		return treeish{at, t.Revision}, nil
	}
	at, err := v.commit(ctx, a)
	return treeish{at, at.ID.String()}, err
}

func (d *archiveLink) lines(at treeish) []string {
	lines := []string{fmt.Sprintf("%s of %s", d.FileName, at), "uri: " + d.URI, "type: " + d.MIMEType}
	for _, fact := range []struct {
		name  string
		value *int64
	}{{"bytes", d.Size}, {"bytes before compression", d.TarSize}, {"entries", d.Entries},
		{"left out by export-ignore", d.Ignored}} {
		if fact.value != nil {
			lines = append(lines, fmt.Sprintf("%s: %d", fact.name, *fact.value))
		}
	}
	if d.Base != "" {
		lines = append(lines, "base: "+d.Base)
	}
	if d.HTTP != "" {
		lines = append(lines, "without credentials until "+d.Expires+": "+d.HTTP)
	}
	return lines
}
