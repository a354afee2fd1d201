package tools

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/mcp/attachments"
	"github.com/repomcp/repomcp/internal/mcp/binary"
	"github.com/repomcp/repomcp/internal/resources"
)

// maxPointedCommits bounds the archives that a search result names: a search may show lines of
// hundreds of repositories.
const maxPointedCommits = 3

// pointAll points from a first page that lacks items to a download of all. The sentence has a
// placeholder for the URI.
func (s *service) pointAll(
	ctx context.Context, r *result, w window, shown int, sentence string, all resources.Resource,
) error {
	if w.start > 0 || shown == w.total || r.stopped {
		return nil
	}
	h, err := s.Resources.Locate(ctx, all)
	if errors.Is(err, archive.ErrLimit) {
		return nil // so large a tree has no manifest
	}
	if err != nil {
		return err
	}
	r.noteDownload(h, sentence, h.URI)
	return nil
}

// pointManifest points to a list of all files of a commit with their ids.
func (v *visit) pointManifest(ctx context.Context, at found, w window, shown int) error {
	return v.pointAll(ctx, v.result, w, shown, "All entries of the commit are in its manifest, %s.",
		archiveOf(at.repository, at.ID.String(),
			archive.Options{Format: archive.Manifest, Profile: archive.ProfileFull}))
}

// pointArchive points to an archive of all files of a commit, or of the files that differ from a
// base. It adds nothing where no such archive can exist.
func (s *service) pointArchive(ctx context.Context, r *result, repository, commit, base, sentence string) {
	options := archive.Options{Format: archive.TarGz, Profile: archive.ProfileFull, Base: base}
	if base != "" {
		options.Fallback = archive.FallbackFull
	}
	if h, err := s.Resources.Locate(ctx, archiveOf(repository, commit, options)); err == nil {
		r.noteDownload(h, sentence, h.URI)
	}
}

// archiveOf returns the resource of an archive of a commit.
func archiveOf(repository, commit string, options archive.Options) resources.Resource {
	return resources.Resource{Repository: repository, Kind: resources.Archive, Revision: commit, Options: options}
}

// refsOf returns the resource that lists branches and tags of a repository.
func refsOf(repository string) resources.Resource {
	return resources.Resource{Repository: repository, Kind: resources.Refs}
}

// howToDownload returns a sentence that ends with the shell command if the address is known.
func howToDownload(l resources.Location) string {
	switch url := cmp.Or(l.URL, l.HTTP); {
	case url != "":
		return "Download it with: curl -fL -o " + safeFileName(l.FileName) + " " + shellQuote(url)
	case l.Route != "":
		return "Download it from this server over HTTP: GET " + l.Route
	default: // no HTTP server runs
		return "Read it with resources/read."
	}
}

// archiveCommand returns the shell command that writes an archive on the server's machine, for
// clients without access to downloads.
func archiveCommand(repository, revision string, options archive.Options, fileName string) string {
	words := []string{"repomcp archive --root DIR --format", string(options.Format)}
	for _, option := range options.Values() {
		words = append(words, "--"+option[0], shellQuote(option[1]))
	}
	return strings.Join(append(words, "-o", safeFileName(fileName), "--", shellQuote(repository), revision), " ")
}

// safeFileName returns a name that is safe in shells, terminals and file systems: names in
// repositories can look like options or scripts.
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
		name = name[len(name)-longest:] // the end has the file type
	}
	if name = strings.TrimLeft(name, ".-_"); name == "" {
		return "download"
	}
	return name
}

// shellQuote quotes for POSIX shells (XCU 2.2.2).
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// transferBinary marks a block whose bytes follow as a stream beside the result (Binary Transfer
// RFC).
const transferBinary = "binary"

// attachment is a block (image, audio or embedded resource) whose bytes follow the result.
type attachment struct {
	mcp.EmbeddedResource `json:"-"` // makes it a content block

	Meta         *mcp.Meta `json:"_meta,omitempty"`
	Type         string    `json:"type"`
	TransferMode string    `json:"transferMode"`
	*attachedBytes
	Resource *attachedBytes `json:"resource,omitempty"`
}

// attachedBytes describes the bytes of a block without a URI, or of its resource.
type attachedBytes struct {
	URI       string     `json:"uri,omitempty"`
	MIMEType  string     `json:"mimeType"`
	BinaryRef binary.Ref `json:"binaryRef"`
}

// attachFile attaches the bytes of a binary file.
func (f file) attachFile(ctx context.Context, beside *attachments.List, uri string) error {
	found, err := f.Resources.Find(ctx, uri)
	if err != nil {
		return err
	}
	attached, err := beside.Add(ctx, found)
	if err != nil {
		return err
	}
	f.note("They follow this result as the stream %s.", attached.Stream)
	f.files = append(f.files, attachedContent(uri, attached, beside.Bare()))
	return nil
}

// attachedContent returns the block for a MIME type. For other types than images and audio the RFC
// has a kind of its own, and MCP has embedded resources.
func attachedContent(uri string, attached *attachments.Attachment, bare bool) mcp.Content {
	block := attachment{Meta: ofRepository(), TransferMode: transferBinary}
	kind, _, _ := strings.Cut(attached.MIMEType, "/")
	switch {
	case kind == "image" || kind == "audio":
		block.Type, block.attachedBytes = kind, &attachedBytes{"", attached.MIMEType, attached.Ref}
	case bare:
		block.Type, block.attachedBytes = "blob", &attachedBytes{uri, attached.MIMEType, attached.Ref}
	default:
		block.Type, block.Resource = "resource", &attachedBytes{uri, attached.MIMEType, attached.Ref}
	}
	return block
}
