package remote

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// name is what people call something by: REPO, REPO@REF, REPO@REF/PATH or REPO/PATH.
// Repositories and refs may have slashes as well, so that only the server knows where one
// ends: a name has several URIs, which are tried in turn.
type name struct {
	text  string
	repo  []string // segments of a repository and, without a ref, of a path behind it
	ref   []string // and of a path behind it; nil: none
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

// contents are the URIs of a file or a folder. The longest repository comes first, as it
// is the one that counts in the addresses of the server. Of refs the shortest does, since
// hardly any has a slash; where a longer one fits as well, refs/heads/… or refs/tags/… says
// which is meant.
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
	// A revision without a slash, whatever it is, stands where an id may.
	uris = append(uris, join(repo, "sha", n.ref[:1], "contents", n.ref[1:]))
	for at := 2; at <= len(n.ref); at++ {
		for _, class := range []string{"tags", "heads"} {
			uris = append(uris, join(repo, "refs", class, n.ref[:at], "contents", n.ref[at:]))
		}
	}
	return uris
}

// downloads are the URIs of an archive, where the whole name is that of a repository or of
// a ref, and of a file.
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

// join makes an address of words, which stay as they are, and of segments of names.
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

// file is the name of the file that a download is put into, which came from a URI.
func (n name) file(uri string) string {
	format := formatOf(uri)
	if !n.isURI && strings.Contains(uri, "/archive/") && strings.HasSuffix(uri, "."+format) {
		return strings.Join(append(n.repo[len(n.repo)-1:len(n.repo):len(n.repo)], n.ref...), "-") + "." + format
	}
	text, _, _ := strings.Cut(n.text, "?")
	return path.Base(text)
}

// formats of archives, by the ends of the names of files.
var formats = []string{"tar.gz", "tgz", "tar.zst", "tar.xz", "tar", "zip", "manifest.json"}

// formatOf is the format of the archive that a file is to have.
func formatOf(file string) string {
	base := filepath.Base(file)
	for _, format := range formats {
		if strings.HasSuffix(base, "."+format) {
			return format
		}
	}
	return formats[0]
}
