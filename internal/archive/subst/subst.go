// Package subst expands the $Format:…$ in files that have the attribute
// export-subst (gitattributes(5)), to the same bytes as `git archive` of git 2.39.
// What the formats come to is package pretty's.
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

// Append appends content with every $Format:…$ expanded to dst and returns what
// that becomes. The formatter is the same for all files of an archive, which come
// in its order: %(describe) is expanded once in an archive and stays literal after
// that. A commit with an encoding header turns the content up to the format into
// that encoding. After an error, dst is as it was apart from bytes beyond its
// length; [pretty.Text.Bytes] says which errors there are.
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

// cutFormat divides content at its first $Format:…$. The format goes up to the
// next dollar, over lines if need be.
func cutFormat(content []byte) (before, format, after []byte, found bool) {
	before, rest, found := bytes.Cut(content, []byte(opening))
	if !found {
		return nil, nil, nil, false
	}
	format, after, found = bytes.Cut(rest, []byte{closing})
	return before, format, after, found
}

// DependsOnRefs reports whether the expansion of content may depend on more than
// the commit, so that there are no stable bytes: [pretty.DependsOnRefs].
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
