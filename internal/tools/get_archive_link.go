package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/resources"
)

// maxArchiveURI bounds the URI of an archive: a result has it up to six times, and
// proxies take no longer addresses.
const maxArchiveURI = 4 << 10

type archiveArguments struct {
	revision
	format string
	lists  map[string]*[]string // by the option's name
	texts  map[string]*string
}

// optionNames are those of options that have another name here.
var optionNames = map[string]string{"path": "paths"}

// optionHints say in short what an option is. Those of the table of archives are
// for people, and too long for what is sent with every request.
var optionHints = map[string]string{
	"path":       "Git pathspecs to take.",
	"exclude":    "Git pathspecs to leave out.",
	"prefix":     "Put before every path, such as hello/.",
	"strip":      "Take only this folder, without its name.",
	"profile":    "archive: as git archive (.gitattributes apply); full: as stored.",
	"base":       "Only what differs from this revision.",
	"fallback":   "full: everything where a difference is not possible.",
	"lfs":        "content: fill in git-lfs files; pointers: leave them.",
	"submodules": "content: fill in submodules served here; omit: leave them empty.",
}

// define adds the options of archives from their one table.
func (a *archiveArguments) define(p *parameters) {
	a.revision.define(p)
	a.format = string(archive.TarGz)
	var formats []string
	for _, f := range archive.Formats() {
		formats = append(formats, string(f))
	}
	p.choice(&a.format, "format", "manifest.json is the list of what the others hold.", formats...)
	a.lists, a.texts = make(map[string]*[]string), make(map[string]*string)
	for _, option := range archive.Parameters() {
		name, hint := cmp.Or(optionNames[option.Name], option.Name), cmp.Or(optionHints[option.Name], option.Usage)
		if option.Repeat {
			a.lists[option.Name] = new([]string)
			p.texts(a.lists[option.Name], name, hint)
			continue
		}
		a.texts[option.Name] = new(string)
		p.text(a.texts[option.Name], name, hint)
	}
}

// options reads them in the order of their table.
func (a archiveArguments) options() (archive.Options, error) {
	options := archive.Options{Format: archive.Format(a.format)}
	for _, option := range archive.Parameters() {
		var values []string
		if option.Repeat {
			values = *a.lists[option.Name]
		} else if value := *a.texts[option.Name]; value != "" {
			values = []string{value}
		}
		for _, value := range values {
			if err := options.Set(option.Name, asListed(value)); err != nil {
				return archive.Options{}, err
			}
		}
	}
	return options, options.Check()
}

// archiveLink is the data of get_archive_link.
type archiveLink struct {
	Repository string `json:"repository"`
	SHA        string `json:"sha" jsonschema:"Commit that it is made of"`
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

func (s *service) getArchiveLink(ctx context.Context, a archiveArguments) (_ *result, err error) {
	options, err := a.options()
	if err != nil {
		return nil, err
	}
	snapshot, err := s.open(a.place)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	r := &result{}
	at, err := s.commit(ctx, r, snapshot, a.revision)
	if err != nil {
		return nil, err
	}
	h, err := s.resources.LocateMeasured(ctx, archiveOf(at.repository, at.ID.String(), options))
	if err != nil {
		return nil, err
	}
	if len(h.URI) > maxArchiveURI {
		return nil, say("The options make an address of %d bytes, which is more than %d. Name folders instead of "+
			"single files, or ask for several archives.", len(h.URI), maxArchiveURI)
	}
	data := &archiveLink{
		Repository: quote(at.repository), SHA: at.ID.String(), Base: h.Base, URI: h.URI, Format: a.format,
		MIMEType: h.MIMEType, FileName: quote(h.FileName),
		URL: h.URL, HTTP: h.HTTP, Expires: h.HTTPExpires,
	}
	if h.Size != resources.UnknownSize {
		data.Size = &h.Size
	}
	if h.Measured {
		data.TarSize, data.Entries, data.Ignored = &h.Extent.Bytes, &h.Extent.Entries, &h.Extent.Ignored
	}
	r.lines, r.data = data.lines(at), data
	r.link(h.Location, fmt.Sprintf("Archive of %s", at))
	return r, nil
}

func (d *archiveLink) lines(at found) []string {
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
