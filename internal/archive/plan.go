package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// compressionLevel of gzip. klauspost's level 6 comes within a few percent
	// of the size that git's zlib gives at its default.
	compressionLevel = 6
	// osUnix is the operating system that a gzip header names (RFC 1952): git
	// writes it everywhere.
	osUnix = 3
	// maxPrefixBytes bounds the folder that a caller may put everything into.
	maxPrefixBytes = 1024
)

// ErrPrefix refuses a prefix that would unpack outside the folder.
var ErrPrefix = errors.New("prefix must be a relative path without empty, \".\" and \"..\" parts")

// ErrLimit says that an archive is larger than [Limits] allow.
var ErrLimit = errors.New("archive is larger than this server allows")

// Limits bound one archive. The zero value means the defaults.
type Limits struct {
	// Entries is the greatest number of members; 0 means 10 million, more than
	// any repository known, less than a tree that was built to grow without
	// end.
	Entries int64
	// Bytes is the greatest length of the tar; 0 means 1 TiB.
	Bytes int64
	// Depth is the greatest nesting of folders; 0 means 1024.
	Depth int
	// PathBytes is the longest path; 0 means 32 KiB, eight times what Linux
	// can open.
	PathBytes int
}

func (l Limits) withDefaults() Limits {
	if l.Entries == 0 {
		l.Entries = 10_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 1 << 40
	}
	if l.Depth == 0 {
		l.Depth = 1024
	}
	if l.PathBytes == 0 {
		l.PathBytes = 32 << 10
	}
	return l
}

// Options choose what an archive looks like.
type Options struct {
	Format Format
	// Prefix is put before every path, as by git archive --prefix: with a
	// final slash it is a folder.
	Prefix string
	Limits Limits
}

// Source is where the objects of an archive come from.
type Source interface {
	Tree(id repos.ID) ([]repos.TreeEntry, error)
	Blob(id repos.ID) (*repos.Blob, error)
}

// Plan is an archive that can be written.
type Plan struct {
	source  Source
	commit  repos.Commit
	options Options
	root    []repos.TreeEntry
}

// NewPlan checks the options and reads the commit's root folder.
func NewPlan(source Source, commit repos.Commit, options Options) (*Plan, error) {
	if mediaTypes[options.Format] == "" {
		return nil, fmt.Errorf("archive format %q is unknown", options.Format)
	}
	if err := CheckPrefix(options.Prefix); err != nil {
		return nil, err
	}
	options.Limits = options.Limits.withDefaults()
	root, err := source.Tree(commit.Tree)
	if err != nil {
		return nil, err
	}
	return &Plan{source: source, commit: commit, options: options, root: root}, nil
}

// CheckPrefix refuses, with [ErrPrefix], a prefix that is not a plain relative
// path.
func CheckPrefix(prefix string) error {
	if len(prefix) > maxPrefixBytes || strings.Contains(prefix, "\x00") {
		return ErrPrefix
	}
	folder := strings.TrimRight(prefix, "/")
	if folder == "" && prefix != "" {
		return ErrPrefix
	}
	for part := range strings.SplitSeq(folder, "/") {
		if prefix != "" && (part == "" || part == "." || part == "..") {
			return ErrPrefix
		}
	}
	return nil
}

// Commit is what the archive is made of.
func (p *Plan) Commit() repos.Commit { return p.commit }

// ETag names the bytes: the same tag means the same bytes, on every server
// with the same [EncoderVersion]. It has no quotes.
func (p *Plan) ETag() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{p.commit.ID.String(), string(p.options.Format), p.options.Prefix, EncoderVersion}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// WriteTo generates the archive. Any error means that what w got is cut short
// and must not be taken for an archive. It ends soon after ctx does.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	w = &cancellable{ctx: ctx, w: w}
	if p.options.Format == Tar {
		return p.writeTar(w)
	}
	zw, err := gzip.NewWriterLevel(w, compressionLevel)
	if err != nil {
		return err
	}
	zw.OS, zw.ModTime = osUnix, time.Unix(0, 0)
	if err := p.writeTar(zw); err != nil {
		// Not closed: the trailer would make a broken stream look whole.
		return err
	}
	return zw.Close()
}

// cancellable fails all writes after its context ended.
type cancellable struct {
	ctx context.Context
	w   io.Writer
}

func (c *cancellable) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
