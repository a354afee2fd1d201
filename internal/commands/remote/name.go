package remote

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// name is a user's name for something: REPO, REPO@REF, REPO@REF/PATH or REPO/PATH. Repositories and
// refs may contain slashes, so only the server knows where they end: a name has several URIs, which
// are tried in turn.
type name struct {
	text  string
	repo  []string // segments of a repository and, without a ref, of a path after it
	ref   []string // segments of a ref and of a path after it; nil: none
	isURI bool
}

func parseName(text string) name {
	if strings.Contains(text, "://") {
		return name{text: text, isURI: true}
	}
	repo, ref, hasRef := strings.Cut(strings.TrimSuffix(text, "/"), "@")
	n := name{text: text, repo: strings.Split(repo, "/")}
	if hasRef {
		n.ref = strings.Split(ref, "/")
	}
	return n
}

// contents returns the URIs of a file or a folder. The longest repository comes first, as in the
// server's own addresses. The shortest ref comes first, because hardly any ref contains a slash;
// refs/heads/… or refs/tags/… selects a longer one.
func (n name) contents() (uris []string) {
	if n.isURI {
		return []string{n.text}
	}
	if n.ref == nil {
		for at := len(n.repo); at > 0; at-- {
			uris = append(uris, join("repo:/", n.repo[:at], "contents", n.repo[at:]))
		}
		return uris
	}
	repo := join("repo:/", n.repo)
	if len(n.ref) > 2 && n.ref[0] == "refs" {
		for at := 3; at <= len(n.ref); at++ {
			uris = append(uris, join(repo, n.ref[:at], "contents", n.ref[at:]))
		}
		return uris
	}
	// The position of an id takes any revision without a slash.
	uris = append(uris, join(repo, "sha", n.ref[:1], "contents", n.ref[1:]))
	for at := 2; at <= len(n.ref); at++ {
		for _, class := range []string{"tags", "heads"} {
			uris = append(uris, join(repo, "refs", class, n.ref[:at], "contents", n.ref[at:]))
		}
	}
	return uris
}

// downloads returns the URIs of an archive, if the name is a repository or a ref, and of a file.
func (n name) downloads(format string) []string {
	if n.isURI {
		return []string{n.text}
	}
	ref := n.ref
	if ref == nil {
		ref = []string{"HEAD"}
	}
	archive := join("repo:/", n.repo, "archive", ref) + "." + format
	return slices.Insert(n.contents(), 0, archive)
}

// join builds an address from literal strings and from segments, which it escapes.
func join(begin string, parts ...any) string {
	var b strings.Builder
	b.WriteString(begin)
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			b.WriteString("/" + p)
		case []string:
			for _, segment := range p {
				b.WriteString("/" + url.PathEscape(segment))
			}
		}
	}
	return b.String()
}

// file returns the output file name for a download from a URI.
func (n name) file(uri string) string {
	format := formatOf(uri)
	if !n.isURI && strings.Contains(uri, "/archive/") && strings.HasSuffix(uri, "."+format) {
		return strings.Join(append(n.repo[len(n.repo)-1:len(n.repo):len(n.repo)], n.ref...), "-") + "." + format
	}
	text, _, _ := strings.Cut(n.text, "?")
	return path.Base(text)
}

// formats of archives, by file suffix.
var formats = []string{"tar.gz", "tgz", "tar.zst", "tar.xz", "tar", "zip", "manifest.json"}

// formatOf returns the archive format of a file name.
func formatOf(file string) string {
	base := filepath.Base(file)
	for _, format := range formats {
		if strings.HasSuffix(base, "."+format) {
			return format
		}
	}
	return formats[0]
}
