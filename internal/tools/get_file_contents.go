package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/repomcp/repomcp/internal/archive/lfs"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
)

// maxTargetBytes bounds the target of a symbolic link: PATH_MAX of Linux.
const maxTargetBytes = 4096

type fileArguments struct {
	revision
	path       string
	start, end int
	paging
}

func (a *fileArguments) define(p *parameters) {
	a.revision.define(p)
	p.text(&a.path, "path", "File or folder; the root if omitted.")
	p.number(&a.start, "start_line", "First line of a file, from 1.", math.MaxInt32)
	p.number(&a.end, "end_line", "Last line.", math.MaxInt32)
	a.paging.define(p, 100, 500)
}

// request is a file that was found.
type request struct {
	*service
	snapshot *repos.Snapshot
	at       found
	entry    entry
}

func (s *service) getFileContents(ctx context.Context, a fileArguments) (_ *result, err error) {
	if a.end != 0 && a.end < a.start {
		return nil, say("end_line is %d, before start_line, which is %d.", a.end, a.start)
	}
	snapshot, err := s.open(a.place)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	r := &result{}
	at, e, err := s.entryOf(ctx, r, snapshot, a.revision, a.path)
	if err != nil {
		return nil, err
	}
	q := request{s, snapshot, at, e}
	switch {
	case e.Mode.IsDir():
		_, err = s.listTree(ctx, r, snapshot, at, e, treeView{
			keep: func(string) bool { return true }, paging: a.paging,
		})
	case e.Mode.IsGitlink():
		r.note("%s is a submodule at commit %s: its files are in another repository, which .gitmodules names. Look "+
			"for it with search_repositories.", quote(clip(e.path)), e.ID)
	case e.Mode.IsSymlink():
		err = q.symlink(r)
	default:
		err = q.file(ctx, r, a)
	}
	return r, err
}

// symlink says where a link leads. It is not followed: what is there is another
// file, with another name and type.
func (q request) symlink(r *result) error {
	raw, err := q.snapshot.ReadBlob(q.entry.ID, maxTargetBytes, nil)
	if err != nil {
		return missing(err)
	}
	target := string(raw)
	r.note("%s is a symbolic link to %s.", quote(clip(q.entry.path)), quote(target))
	inside := path.Join(path.Dir(q.entry.path), target)
	if path.IsAbs(target) || inside == ".." || strings.HasPrefix(inside, "../") {
		r.note("That is outside of the repository.")
		return nil
	}
	if inside == "." {
		inside = ""
	}
	e, err := q.snapshot.Lookup(q.at.Tree, inside)
	switch {
	case errors.Is(err, repos.ErrNotFound) && !errors.Is(err, repos.ErrCorrupt):
		r.note("There is nothing of that name in this commit.")
	case err != nil:
		return err
	default:
		r.note("That is the %s %s of this commit; ask for it by that path.", kindOf(e.Mode), quote("/"+inside))
	}
	return nil
}

func (q request) file(ctx context.Context, r *result, a fileArguments) (err error) {
	blob, err := q.snapshot.Blob(ctx, q.entry.ID)
	if err != nil {
		return missing(err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	facts := fmt.Sprintf("%s of %s: %d bytes, blob %s", quote(clip(q.entry.path)), q.at, blob.Size(), q.entry.ID)
	if q.entry.Mode.IsExecutable() {
		facts += ", executable"
	}
	if blob.Size() < lfs.MaxBytes {
		if pointer, ok := q.pointer(); ok {
			r.note("%s.", facts)
			return q.lfs(ctx, r, pointer)
		}
	}
	x, err := readLines(ctx, blob, a.start, a.end)
	if err != nil {
		return err
	}
	if x.binary {
		r.note("%s. It is no text, so that its bytes are not shown.", facts)
		return q.linkFile(ctx, r)
	}
	switch past := a.start > x.total && a.start > 1; {
	case past && x.counted:
		return say("start_line is %d, but %s has %s.", a.start, quote(q.entry.path), x.count())
	case past:
		r.note("%s. start_line is after its first %d bytes, further than which no lines are looked for.", facts,
			maxReadBytes)
		return q.pointFile(ctx, r)
	}
	r.content, r.hasContent = x.text, true
	r.note("%s, %s.", facts, x.count())
	return q.remark(ctx, r, x)
}

// remark says what of the file is shown, and how to go on.
func (q request) remark(ctx context.Context, r *result, x excerpt) error {
	if x.replaced {
		r.note("It is not all UTF-8: what is not is shown as U+FFFD. The download has the exact bytes.")
	}
	if x.cut {
		r.next = fmt.Sprintf("start_line=%d", x.last+1)
	}
	switch {
	case x.within > 0:
		r.note("Truncated in line %d, after %d bytes of it: so much of a line is shown at most. Go on with %s; the "+
			"whole line is in the download.", x.last, x.within, r.next)
	case x.cut:
		r.note("Truncated after line %d: a result has at most %d bytes. Go on with %s.", x.last, maxResultBytes, r.next)
	case x.first > 1 || x.last < x.total || !x.counted:
		r.note("Lines %d to %d are shown.", x.first, x.last)
	}
	if x.cut || x.replaced {
		return q.pointFile(ctx, r)
	}
	return nil
}

// linkFile links the bytes of a file that is no text: they are what was asked
// for.
func (q request) linkFile(ctx context.Context, r *result) error {
	h, err := q.locate(ctx)
	if err != nil {
		return err
	}
	r.note("Its type is %s.", h.MIMEType)
	r.asides = append(r.asides, "Its resource is "+h.URI+".")
	r.link(h, fmt.Sprintf("Bytes of %s in %s", quote(clip(q.entry.path)), q.at))
	return nil
}

// pointFile says where the bytes of a file are, of which the text is shown.
func (q request) pointFile(ctx context.Context, r *result) error {
	h, err := q.locate(ctx)
	if err != nil {
		return err
	}
	r.point(h, "Its type is %s, its resource %s.", h.MIMEType, h.URI)
	return nil
}

func (q request) locate(ctx context.Context) (resources.Location, error) {
	return q.resources.Locate(ctx, resources.Resource{
		Repository: q.at.repository, Kind: resources.Contents, Revision: q.at.ID.String(), Path: q.entry.path,
	})
}

func (q request) pointer() (lfs.Pointer, bool) {
	content, err := q.snapshot.ReadBlob(q.entry.ID, lfs.MaxBytes, nil)
	if err != nil {
		return lfs.Pointer{}, false
	}
	return lfs.Parse(content)
}

// lfs says what a pointer stands for. The object itself is had by an archive.
func (q request) lfs(ctx context.Context, r *result, p lfs.Pointer) error {
	r.note("It is a pointer of git-lfs to an object of %d bytes with SHA-256 %s.", p.Size, p.OID)
	object, err := q.snapshot.LFSObject(p.OID)
	if errors.Is(err, repos.ErrNotFound) {
		r.note("This mirror does not have the object. Fetch it from the repository's origin with git lfs.")
		return q.pointFile(ctx, r)
	}
	if err != nil {
		return err
	}
	if err := object.Close(); err != nil {
		return err
	}
	r.note("This mirror has the object: get it with get_archive_link, lfs=content and in paths %s.",
		quote(":(literal)"+q.entry.path))
	return q.pointFile(ctx, r)
}
