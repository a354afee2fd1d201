package tools

import (
	"context"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// maxPointedCommits bounds the commits whose archives a search notes: it may show lines
// of hundreds of repositories.
const maxPointedCommits = 3

// pointManifest points a first page that does not have all items at a list of all
// files with their ids.
func (v *visit) pointManifest(ctx context.Context, at found, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total || v.stopped {
		return nil
	}
	h, err := v.Resources.Locate(ctx, archiveOf(at.repository, at.ID.String(), archive.Options{
		Format: archive.Manifest, Profile: archive.ProfileFull,
	}))
	if errors.Is(err, archive.ErrLimit) {
		return nil // there is none of so large a tree
	}
	if err != nil {
		return err
	}
	v.noteDownload(h, "All entries of the commit are in its manifest, %s.", h.URI)
	return nil
}

// pointRefs points a first page that does not have all branches or tags at the
// list of all.
func (v *visit) pointRefs(ctx context.Context, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total {
		return nil
	}
	h, err := v.Resources.Locate(ctx, refsOf(v.name()))
	if err != nil {
		return err
	}
	v.noteDownload(h, "All branches and tags are in %s.", h.URI)
	return nil
}

// pointRepositories points a first page that does not have all that were found at
// the list of all repositories.
func (s *service) pointRepositories(ctx context.Context, r *result, of pages, shown int) error {
	if of.Page > 1 || shown == of.Total {
		return nil
	}
	h, err := s.Resources.Locate(ctx, resources.Resource{Kind: resources.Catalogue})
	if err != nil {
		return err
	}
	r.noteDownload(h, "All repositories are in %s.", h.URI)
	return nil
}

// pointTree points what was found in a commit at an archive of all its files. A
// page that can have no such archive is shown without.
func (s *service) pointTree(ctx context.Context, r *result, repository, commit string) {
	h, err := s.Resources.Locate(ctx, archiveOf(repository, commit, archive.Options{
		Format: archive.TarGz, Profile: archive.ProfileFull,
	}))
	if err != nil {
		return
	}
	r.noteDownload(h, "All files of the commit are in its archive, %s.", h.URI)
}

// pointFiles points at an archive of the files that differ: there is no download of
// a patch, or of its statistics. Where there is no such archive, nothing is noted.
func (c *changes) pointFiles(ctx context.Context) {
	options := archive.Options{Format: archive.TarGz, Profile: archive.ProfileFull}
	if !c.from.IsZero() {
		options.Base, options.Fallback = c.from.String(), archive.FallbackFull
	}
	h, err := c.Resources.Locate(ctx, archiveOf(c.name(), c.to.String(), options))
	if err != nil {
		return
	}
	c.noteDownload(h, "All files that differ, whole, are in the archive %s.", h.URI)
}

// archiveOf is an archive of a commit as a resource.
func archiveOf(repository, commit string, options archive.Options) resources.Resource {
	return resources.Resource{Repository: repository, Kind: resources.Archive, Revision: commit, Options: options}
}

// refsOf are the branches and tags of a repository as a resource.
func refsOf(repository string) resources.Resource {
	return resources.Resource{Repository: repository, Kind: resources.Refs}
}

// downloadCommand is the line that downloads it in a shell, or "" when nobody
// knows from where.
func downloadCommand(l resources.Location) string {
	url := l.URL
	if url == "" {
		url = l.HTTP
	}
	if url == "" {
		return ""
	}
	return "curl -fL -o " + safeFileName(l.FileName) + " " + shellQuote(url)
}

// howToDownload says so in a sentence with the command last.
func howToDownload(l resources.Location) string {
	switch command := downloadCommand(l); {
	case command != "":
		return "Download it with: " + command
	case l.Route != "":
		return "Download it from this server over HTTP: GET " + l.Route
	default: // no HTTP server runs
		return "Read it with resources/read."
	}
}

// archiveCommand is the line that writes an archive in a shell of the server's
// machine, for who cannot download it.
func archiveCommand(repository, revision string, options archive.Options, fileName string) string {
	words := []string{"repomcp archive --root DIR --format", string(options.Format)}
	for _, option := range options.Values() {
		words = append(words, "--"+option[0], shellQuote(option[1]))
	}
	return strings.Join(append(words, "-o", safeFileName(fileName), "--", shellQuote(repository), revision), " ")
}

// safeFileName makes a name that a shell, a terminal and every file system take.
// Files of repositories can be named like options, or like a script.
func safeFileName(name string) string {
	const longest = 100
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
			return r
		default:
			return '_'
		}
	}, name)
	name = strings.TrimLeft(name, ".-_")
	if len(name) > longest {
		name = name[len(name)-longest:] // its end has the type
	}
	if name = strings.TrimLeft(name, ".-_"); name == "" {
		return "download"
	}
	return name
}

// shellQuote quotes for POSIX shells (XCU 2.2.2).
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// transferBinary says of a block that its bytes are those of a stream beside the
// result (Binary Transfer RFC).
const transferBinary = "binary"

// attachedMedia is an image or a sound whose bytes follow the result.
type attachedMedia struct {
	mcp.ImageContent `json:"-"` // what makes it content

	Meta         *mcp.Meta  `json:"_meta,omitempty"`
	Type         string     `json:"type"`
	TransferMode string     `json:"transferMode"`
	MIMEType     string     `json:"mimeType"`
	BinaryRef    binary.Ref `json:"binaryRef"`
}

// attachedFile is an embedded resource whose bytes follow the result.
type attachedFile struct {
	mcp.EmbeddedResource `json:"-"` // what makes it content

	Meta         *mcp.Meta        `json:"_meta,omitempty"`
	Type         string           `json:"type"`
	TransferMode string           `json:"transferMode"`
	Resource     attachedResource `json:"resource"`
}

type attachedResource struct {
	URI       string     `json:"uri"`
	MIMEType  string     `json:"mimeType"`
	BinaryRef binary.Ref `json:"binaryRef"`
}

// attachFile has the bytes of a file that is no text follow the result.
func (f file) attachFile(ctx context.Context, attachments *resources.Attachments, uri string) error {
	content, err := f.Resources.Open(ctx, uri)
	if err != nil {
		return err
	}
	attached, err := attachments.Add(ctx, content)
	if err != nil {
		return err
	}
	f.note("They follow this result as the stream %s.", attached.Stream)
	f.attached = append(f.attached, attachedContent(uri, attached))
	return nil
}

// attachedContent is a block of the kind that the type is of.
func attachedContent(uri string, attached *resources.Attachment) mcp.Content {
	kind, _, _ := strings.Cut(attached.MIMEType, "/")
	if kind == "image" || kind == "audio" {
		return attachedMedia{
			Meta: ofRepository(), Type: kind, TransferMode: transferBinary, MIMEType: attached.MIMEType,
			BinaryRef: attached.Ref,
		}
	}
	return attachedFile{
		Meta: ofRepository(), Type: "resource", TransferMode: transferBinary,
		Resource: attachedResource{URI: uri, MIMEType: attached.MIMEType, BinaryRef: attached.Ref},
	}
}
