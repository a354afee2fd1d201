package resources

import (
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

const (
	// sniffBytes is how many bytes of a file decide its type.
	sniffBytes = 3072

	// TypeJSON is the type of all descriptions.
	TypeJSON = "application/json"

	mimeText      = "text/plain; charset=utf-8"
	mimeSymlink   = "inode/symlink"
	mimeSignature = "application/pgp-signature"
)

// sourceTypes are the types of text files that only the name distinguishes. The host's table is not
// used: replicas must agree.
var sourceTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8",
	".htm": "text/html; charset=utf-8", ".html": "text/html; charset=utf-8",
	".ics": "text/calendar; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": TypeJSON, ".jsonld": "application/ld+json", ".md": "text/markdown; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".toml": "application/toml", ".tsv": "text/tab-separated-values; charset=utf-8",
	".webmanifest": "application/manifest+json", ".xhtml": "application/xhtml+xml",
	".xml": "text/xml; charset=utf-8", ".yaml": "application/yaml", ".yml": "application/yaml",
}

// kind is the type of a file according to its content.
type kind struct {
	name string // the type, or that of a text file whose name has no known suffix
	text bool
}

// kindOf decides by the first bytes of a file whether it is text.
func kindOf(head []byte) kind {
	detected := mimetype.Detect(head)
	for m := detected; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return kind{textType(detected.String()), true}
		}
	}
	return kind{detected.String(), false}
}

// typeOf is the type of a file with a name, which decides for text files.
func (k kind) typeOf(name string) string {
	if named := sourceTypes[strings.ToLower(path.Ext(name))]; k.text && named != "" {
		return named
	}
	return k.name
}

func textType(detected string) string {
	// A source file is text: the detector often recognises a script or a page by words that are
	// only part of a source file.
	switch base, _, _ := strings.Cut(detected, ";"); base {
	case "application/json", "image/svg+xml":
		return base
	default:
		return mimeText
	}
}
