package tools

import (
	"context"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
)

// Locator knows how what tools name is reached outside of their results. Links
// are made for the caller whom the context is of.
type Locator interface {
	// Card is the URI of a repository, and RefsURI that of its branches and tags.
	Card(repository string) string
	RefsURI(repository string) string
	// Refs finds the list of a repository's branches and tags, and Repositories
	// that of all repositories.
	Refs(ctx context.Context, repository string) (Handle, error)
	Repositories(ctx context.Context) (Handle, error)
	// Contents finds a file or folder of a commit. The path is as git stores
	// it; "" is the root.
	Contents(ctx context.Context, repository, commit, path string) (Handle, error)
	// Archive finds an archive of a commit. MeasuredArchive reads all its trees as
	// well, for as long as somebody waits who asked for nothing else.
	Archive(ctx context.Context, repository, commit string, options archive.Options) (Handle, error)
	MeasuredArchive(ctx context.Context, repository, commit string, options archive.Options) (ArchiveHandle, error)
}

// UnknownSize says that a length is known only after everything was written.
const UnknownSize = -1

// Handle is where something is to be had.
type Handle struct {
	// URI is the canonical one of the resource, by the commit if it is of one.
	URI      string
	MIMEType string
	// FileName is what a download is saved as. It may have any characters.
	FileName string
	// Size in bytes, or UnknownSize.
	Size int64
	// HTTP is an address that needs no credentials until HTTPExpires, in RFC
	// 3339 (SEP-2166); "" where there are no links. Meta has both for _meta.
	HTTP        string
	HTTPExpires string
	Meta        map[string]any
	// URL is the address of the plain download, "" while nobody knows under
	// which name clients reach the server. Route is its path and query; "" for
	// what has none.
	URL   string
	Route string
}

// ArchiveHandle is an archive that can be had.
type ArchiveHandle struct {
	Handle
	// Base is the full id of the commit that a delta is from; "" of others.
	Base string
	// Measured says that Extent is known: it is of the tar before compression.
	Measured bool
	Extent   archive.Measure
}

// command is the line that downloads it in a shell, or "" when nobody knows from
// where.
func (h Handle) command() string {
	url := h.URL
	if url == "" {
		url = h.HTTP
	}
	if url == "" {
		return ""
	}
	return "curl -fL -o " + safeFileName(h.FileName) + " " + shellQuote(url)
}

// where says how to download it, as a sentence with the command last.
func (h Handle) where() string {
	switch command := h.command(); {
	case command != "":
		return "Download it with: " + command
	case h.Route != "":
		return "Download it from this server over HTTP: GET " + h.Route
	default:
		return ""
	}
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
