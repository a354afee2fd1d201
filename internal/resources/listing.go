package resources

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
)

const (
	// pageEntries is how many entries of a folder or a list resources/read returns at a time: some
	// 40 KB, which is much for the context of a model.
	pageEntries = 200
	// metaNext is the URI of the page that follows.
	metaNext = MetaPrefix + "next"
	// listingBuffer is the size of the pieces in which a listing is written.
	listingBuffer = 32 << 10
)

// listing is a JSON object that ends with an array of many entries, a line for each. It is encoded
// while it is written, so that only the entries of the domain are in memory.
type listing struct {
	head  any // an object with the members before the array
	key   string
	count int
	entry func(i int) any
}

func (l listing) write(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriterSize(w, listingBuffer)
	head, err := compact(l.head)
	if err != nil {
		return err
	}
	_, _ = out.Write(bytes.TrimSuffix(head, []byte("}"))) // out remembers the error
	_, _ = out.WriteString(`,"` + l.key + `":[`)
	for i := range l.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := compact(l.entry(i))
		if err != nil {
			return err
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_ = out.WriteByte('\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}

// fill makes a listing the source of a resource: it writes the bytes once to measure and hash them.
// next is the URI of the following page, or "".
func (l listing) fill(ctx context.Context, f *Found, next string) (*Found, error) {
	size, digest, err := digestOf(ctx, l.write)
	if err != nil {
		return nil, err
	}
	if next != "" {
		f.Meta = map[string]any{metaNext: next}
	}
	return f.describedBy(size, &list{digest, l.write}), nil
}

// compact encodes a view in one line. Names may contain any character, and HTML's are not escaped.
func compact(view any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(view); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ErrNotFolder says that a URI names something else than a folder.
var ErrNotFolder = errors.New("the resource is no folder")

// Folder is a folder of a commit, with the snapshot that it is read from. Close it.
type Folder struct {
	*Found
	Snapshot *git.Snapshot
	Tree     git.ID
}

// FindFolder finds the folder of a URI, at a commit instead of the URI's own revision unless that is
// "". What exists and is no folder is [ErrNotFolder].
func (s *Service) FindFolder(ctx context.Context, uri, commit string) (*Folder, error) {
	resource, err := s.parse(ctx, uri)
	if err != nil {
		return nil, err
	}
	if resource.Kind != Contents || resource.After != "" {
		return nil, ErrNotFolder
	}
	if commit != "" {
		resource.Revision = commit
	}
	folder := new(Folder)
	folder.Found, err = s.findWith(ctx, resource, func(
		ctx context.Context, snapshot *git.Snapshot, r Resource,
	) (*Found, error) {
		commit, entry, err := locate(ctx, snapshot, r)
		if err == nil && !entry.Mode.IsDir() {
			err = ErrNotFolder
		}
		if err != nil {
			return nil, err
		}
		folder.Snapshot, folder.Tree = snapshot, entry.ID
		found := described(r)
		found.locatedAt(r, commit, entry)
		return found, nil
	})
	if err != nil {
		return nil, err
	}
	return folder, nil
}

// Child is an entry of a folder as a resource.
type Child struct {
	// Name is the name in the folder, in raw bytes.
	Name string
	// MIMEType is that of the name, [TypeFolder] for folders, and "" if the content decides.
	MIMEType string
	// Size is that of files and symbolic links, and nil for others.
	Size *int64
	Meta map[string]any
}

// Page returns the entries after one with a name, or the first ones for "", as many as on a page of
// resources/read. more reports that others follow. A missing name is [git.ErrNotFound].
func (f *Folder) Page(ctx context.Context, after string) (children []Child, more bool, err error) {
	entries, more, err := f.Snapshot.TreePage(f.Tree, after, pageEntries)
	if err != nil {
		return nil, false, err
	}
	children = make([]Child, len(entries))
	for i, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		view, err := viewEntry(f.Snapshot, Resource{}, entry)
		if err != nil {
			return nil, false, git.MustExist(entry.ID, err)
		}
		children[i] = Child{
			Name: entry.Name, MIMEType: typeOfEntry(entry), Size: view.Size,
			Meta: map[string]any{metaID: view.ID, metaMode: view.Mode},
		}
	}
	return children, more, nil
}

// TypeFolder is the type of folders among the resources of a folder (SEP-2640).
const TypeFolder = "inode/directory"

// typeOfEntry is the type as far as the name and the mode tell it. A submodule is read as a
// description.
func typeOfEntry(entry git.TreeEntry) string {
	switch {
	case entry.Mode.IsDir():
		return TypeFolder
	case entry.Mode.IsSymlink():
		return mimeSymlink
	case entry.Mode.IsGitlink():
		return TypeJSON
	default:
		return sourceTypes[strings.ToLower(path.Ext(entry.Name))]
	}
}
