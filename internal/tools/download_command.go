package tools

import (
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/resources"
)

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

// howToDownload says so in a sentence with the command last, or "".
func howToDownload(l resources.Location) string {
	switch command := downloadCommand(l); {
	case command != "":
		return "Download it with: " + command
	case l.Route != "":
		return "Download it from this server over HTTP: GET " + l.Route
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
