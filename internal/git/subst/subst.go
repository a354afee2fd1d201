// Package subst expands $Format:…$ in files with the attribute export-subst (gitattributes(5)), to
// the same bytes as `git archive` of git 2.39. Package pretty expands the formats.
package subst

import (
	"bytes"
	"context"
	"fmt"

	"github.com/repomcp/repomcp/internal/git/pretty"
)

const (
	opening = "$Format:"
	closing = '$'
)

// Append appends content to dst with every $Format:…$ expanded, and returns the result. The
// formatter is the same for all files of an archive, which come in its order: the first %(describe)
// of an archive is expanded, and later ones stay literal. If the commit has an encoding header, the
// content up to the format is converted to that encoding. After an error, dst is unchanged apart
// from bytes beyond its length; [pretty.Text.Bytes] lists the errors.
func Append(ctx context.Context, f *pretty.Formatter, dst, content []byte) ([]byte, error) {
	text := f.NewText(ctx, dst)
	for {
		before, format, after, found := cutFormat(content)
		if !found {
			break
		}
		text.Add(before)
		text.Expand(string(format))
		text.Encode()
		if _, err := text.Bytes(); err != nil {
			return dst, fmt.Errorf("%s…%c: %w", opening, closing, err)
		}
		content = after
	}
	text.Add(content)
	expanded, err := text.Bytes()
	return append(dst, expanded...), err
}

// cutFormat divides content at its first $Format:…$. The format ends at the next dollar, possibly
// on another line.
func cutFormat(content []byte) (before, format, after []byte, found bool) {
	before, rest, found := bytes.Cut(content, []byte(opening))
	if !found {
		return nil, nil, nil, false
	}
	format, after, found = bytes.Cut(rest, []byte{closing})
	return before, format, after, found
}

// DependsOnRefs reports whether the expansion of content may depend on more than the commit, so
// that its bytes are not stable: [pretty.DependsOnRefs].
func DependsOnRefs(content []byte) bool {
	for {
		_, format, after, found := cutFormat(content)
		if !found {
			return false
		}
		if pretty.DependsOnRefs(string(format)) {
			return true
		}
		content = after
	}
}
