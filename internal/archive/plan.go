package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/gzip"
	"github.com/repomcp/repomcp/internal/repos"
)

// maxPrefixBytes bounds the folder that a caller may put everything into.
const maxPrefixBytes = 1024

// ErrPrefix refuses a prefix that would unpack outside the folder.
var ErrPrefix = errors.New("prefix must be a relative path without empty, \".\" and \"..\" parts")

// ErrLimit says that an archive is larger than [Limits] allow.
var ErrLimit = errors.New("archive is larger than this server allows")

// errLink refuses a symbolic link that no system could follow.
var errLink = fmt.Errorf("%w: a symbolic link of more than %d bytes", ErrLimit, maxLinkBytes)

func limitBytes(l Limits) error { return fmt.Errorf("%w: %d bytes of tar", ErrLimit, l.Bytes) }

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

// Source is where the objects of an archive come from. Several goroutines use
// it at the same time.
type Source interface {
	Tree(id repos.ID) ([]repos.TreeEntry, error)
	Blob(id repos.ID) (*repos.Blob, error)
	// Size is the length of a blob, read from headers only.
	Size(id repos.ID) (int64, error)
	// ReadBlob appends a file to buf, unless it has more than limit bytes:
	// repos.ErrTooLarge.
	ReadBlob(id repos.ID, limit int64, buf []byte) ([]byte, error)
}

// Plan is an archive that can be written.
type Plan struct {
	engine  *Engine
	source  Source
	commit  repos.Commit
	options Options
	root    []repos.TreeEntry
}

// Plan checks the options and reads the commit's root folder.
func (e *Engine) Plan(source Source, commit repos.Commit, options Options) (*Plan, error) {
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
	return &Plan{engine: e, source: source, commit: commit, options: options, root: root}, nil
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

// ETag names the bytes: the same tag means the same bytes, on every server with
// the same [EncoderVersion] and compression level. It has no quotes.
func (p *Plan) ETag() string {
	parts := []string{EncoderVersion, p.commit.ID.String(), string(p.options.Format), p.options.Prefix}
	if p.options.Format == TarGz {
		parts = append(parts, gzip.EncoderVersion, strconv.Itoa(p.engine.level))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// WriteTo generates the archive. Any error means that what w got is cut short
// and must not be taken for an archive. It ends soon after ctx does.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	if p.options.Format == Tar {
		return p.writeTar(ctx, w)
	}
	zw, err := p.engine.compressor.NewWriter(ctx, w, p.engine.level)
	if err != nil {
		return err
	}
	// Without Close there is no trailer: a broken stream never looks whole.
	defer zw.Abort()
	if err := p.writeTar(ctx, zw); err != nil {
		return err
	}
	return zw.Close()
}
