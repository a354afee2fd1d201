package subst

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/mailmap"
	"github.com/repomcp/repomcp/internal/repos"
)

// Repository is what is read of a repository. [repos.Snapshot] implements it.
type Repository interface {
	RawCommit(id repos.ID) ([]byte, error)
	RawTag(id repos.ID) ([]byte, error)
	Refs() ([]repos.Ref, error)
	Tags() ([]repos.Ref, error)
	Head() (repos.Ref, error)
	Shallow() ([]repos.ID, error)
	Abbreviate(id repos.ID, digits int) (string, error)
	Lookup(tree repos.ID, path string) (repos.TreeEntry, error)
	ReadBlob(id repos.ID, limit int64, buf []byte) ([]byte, error)
}

var _ Repository = (*repos.Snapshot)(nil)

// Expander makes the substitution of one archive. It is used by one goroutine,
// in archive order. What it reads of the repository it remembers, so that all
// files of an archive agree.
type Expander struct {
	source       source
	id           repos.ID
	now          func() time.Time
	work         int64 // maxWork
	history      int   // maxHistory
	described    bool  // %(describe) was seen
	descriptions *Descriptions
	commit       *commit
	people       *mailmap.Map
	names        *[]decoration
	shorts       map[repos.ID]string
}

// New makes the expander of the archive of a commit. The clock is for relative
// dates.
func New(r Repository, id repos.ID, now func() time.Time) *Expander {
	return &Expander{
		source: source{Repository: r}, id: id, now: now, descriptions: new(Descriptions),
		work: maxWork, history: maxHistory, shorts: make(map[repos.ID]string),
	}
}

// Sharing makes the expander take part in what is known of the commit's
// descriptions, and returns it.
func (e *Expander) Sharing(known *Descriptions) *Expander {
	e.descriptions = known
	return e
}

const (
	opening = "$Format:"
	closing = '$'
)

// Append appends content with every $Format:…$ expanded to dst and returns what
// that becomes. After an error, which is a [*FatalError], a [*LimitError], the
// context's or the repository's, dst is as it was apart from bytes beyond its
// length.
func (e *Expander) Append(ctx context.Context, dst, content []byte) ([]byte, error) {
	if !bytes.Contains(content, []byte(opening)) {
		return append(dst, content...), nil
	}
	m := newMeter(ctx, e.work)
	out := &buffer{meter: m, b: dst[len(dst):], max: len(content) + maxExpansion}
	for {
		before, format, after, found := cutFormat(content)
		if !found {
			break
		}
		out.addBytes(before)
		f := formatter{Expander: e, meter: m, out: out, wrapStart: len(out.b)}
		f.format(untilNUL(string(format)))
		if !m.ok() {
			return dst, m.err
		}
		content = after
	}
	out.addBytes(content)
	return append(dst, out.b...), m.err
}

// cutFormat divides content at its first $Format:…$. The format goes up to the
// next dollar, over lines if need be.
func cutFormat(content []byte) (before, format, after []byte, found bool) {
	before, rest, found := bytes.Cut(content, []byte(opening))
	if !found {
		return nil, nil, nil, false
	}
	end := bytes.IndexByte(rest, closing)
	if end < 0 {
		return nil, nil, nil, false
	}
	return before, rest[:end], rest[end+1:], true
}

// drifting are the placeholders that depend on more than the commit: on refs
// (d D), on which other objects there are (h t p), on the mailmap of HEAD, on
// the time, and on whoever verifies signatures.
var drifting = []string{
	"d", "D", "h", "t", "p", "G", "(describe", "(decorate",
	"aN", "aE", "aL", "ar", "ah", "cN", "cE", "cL", "cr", "ch",
}

// DependsOnRefs reports whether the expansion of content may depend on more
// than the commit, so that there are no stable bytes: it may say so of a format
// that does not, never the other way round.
//
// %N and %S stay literal in an archive and so do not count.
func DependsOnRefs(content []byte) bool {
	for {
		_, format, after, found := cutFormat(content)
		if !found {
			return false
		}
		if drifts(untilNUL(string(format))) {
			return true
		}
		content = after
	}
}

func drifts(format string) bool {
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return false
		}
		format = rest
		if strings.HasPrefix(rest, "%") {
			format = rest[1:]
			continue
		}
		if rest != "" && magic[rest[0]] != 0 {
			rest = rest[1:]
		}
		for _, name := range drifting {
			if strings.HasPrefix(rest, name) {
				return true
			}
		}
	}
}
