package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

func (r *run) members() error {
	archive := tar.NewReader(r.stream)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return r.stream.finish()
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // paths are checked here
			return r.stream.explain(err)
		}
		if r.entries++; r.entries > r.options.Limits.Entries {
			return &LimitError{Limit: "entries", Path: header.Name, Most: r.options.Limits.Entries}
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.member(header, archive); err != nil {
			return r.stream.explain(err)
		}
	}
}

func (r *run) member(header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return r.global(header)
	}
	m, err := r.parse(header)
	if err != nil {
		return err
	}
	if r.options.Git != nil && isGit(m.Path) {
		return r.options.Git(m, content)
	}
	if dir, ok := isManifest(m.Path); ok {
		return r.takeManifest(m, dir, content)
	}
	f, err := r.place(m)
	if err != nil {
		return err
	}
	choice, err := r.choose(m, content)
	if err != nil || choice.Skip {
		return err
	}
	if r.options.Unseen {
		choice.Yields = nil // there are no other files
	}
	if m.Patch != nil && choice.Content == nil {
		return refuse(NotPatched, m.Path)
	}
	switch m.Kind {
	case Folder:
		_, err = r.folders.open(f)
	case Symlink:
		err = r.addLink(m, f, choice)
	default:
		err = r.addFile(m, f, choice, content)
	}
	return err
}

// global reads a global header. It may have a comment, and a time that is too late for the members' headers. Other
// records would apply to all following members, about which programs disagree.
func (r *run) global(header *tar.Header) error {
	if len(header.PAXRecords) == 0 { // archive/tar drops all of them where one is malformed
		return refuse(GlobalHeader, header.Name)
	}
	for key, value := range header.PAXRecords {
		seconds, err := strconv.ParseInt(value, 10, 64)
		switch {
		case key == "mtime" && err == nil:
			r.modTime = time.Unix(seconds, 0)
		case key != "comment":
			return refuse(GlobalHeader, header.Name)
		}
	}
	comment, ok := header.PAXRecords["comment"]
	if !ok {
		return nil
	}
	r.report.Comment = comment
	if r.options.Comment == nil {
		return nil
	}
	return r.options.Comment(comment)
}

var kinds = map[byte]Kind{tar.TypeReg: File, tar.TypeDir: Folder, tar.TypeSymlink: Symlink}

var refusedTypes = map[byte]Reason{tar.TypeLink: HardLink, tar.TypeGNUSparse: Sparse}

// parse makes a member from a header, and refuses what is invalid in itself.
func (r *run) parse(header *tar.Header) (Member, error) {
	m := Member{
		Path: header.Name, Target: header.Linkname, Executable: header.Mode&0o100 != 0, ModTime: header.ModTime,
	}
	if _, own := header.PAXRecords["mtime"]; !own && !r.modTime.IsZero() {
		m.ModTime = r.modTime
	}
	kind, ok := kinds[header.Typeflag]
	switch reason := refusedTypes[header.Typeflag]; {
	case reason != "":
		return m, refuse(reason, m.Path)
	case !ok:
		return m, refuse(Special, m.Path)
	case isSparse(header):
		return m, refuse(Sparse, m.Path)
	}
	switch m.Kind = kind; kind {
	case File:
		m.Size = header.Size
	case Folder:
		m.Path = strings.TrimSuffix(m.Path, "/")
	case Symlink:
		m.Outside = !r.staysInside(m.Path, m.Target)
	}
	var err error
	if m.Patch, err = patchOf(header); err != nil {
		return m, err
	}
	return m, r.fits(m)
}

// isSparse recognises the pax form of sparse files; the older form is a type.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func (r *run) fits(m Member) error {
	l := r.options.Limits
	for _, bound := range []struct {
		name      string
		has, most int64
	}{
		{"bytes of a file", m.Size, l.FileBytes},
		{"bytes of a path", int64(max(len(m.Path), len(m.Target))), l.PathBytes},
		{"depth", int64(strings.Count(m.Path, "/") + 1), l.Depth},
	} {
		if bound.has > bound.most {
			return &LimitError{Limit: bound.name, Path: m.Path, Most: bound.most}
		}
	}
	return nil
}

// place checks the path, also against earlier ones, and returns the folder that the member is in,
// or is.
func (r *run) place(m Member) (*folder, error) {
	dir, name := path.Split(m.Path)
	unchecked := m.Path
	if dir == r.checked {
		unchecked = name // members of a folder are adjacent
	}
	if reason := checkPath(r.goos, unchecked); reason != "" {
		return nil, refuse(reason, m.Path)
	}
	r.checked = dir
	if m.Kind == Folder {
		return r.folders.give(m.Path)
	}
	f, err := r.folders.enter(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return nil, err
	}
	return f, r.folders.claim(f, name, false)
}

func (r *run) choose(m Member, content io.Reader) (Choice, error) {
	if r.options.Choose == nil {
		return Choice{}, nil
	}
	seen := &counter{Reader: content}
	seen.plain.Store(true)
	choice, err := r.options.Choose(m, seen)
	switch {
	case err != nil:
	case choice.Skip:
		r.report.Skipped++
	case seen.bytes.Load() > 0 && choice.Content == nil:
		err = fmt.Errorf("unpack: %q: Choose has read the content and returns no other", m.Path)
	}
	return choice, err
}

// takeManifest passes the manifest of a delta to the caller, which has to take it.
func (r *run) takeManifest(m Member, dir string, content io.Reader) error {
	if reason := checkPath(r.goos, dir); dir != "" && reason != "" {
		return refuse(reason, m.Path)
	}
	if r.manifest {
		return refuse(Twice, m.Path)
	}
	r.manifest = true
	if m.Kind == File {
		if choice, err := r.choose(m, content); err != nil || choice.Skip {
			return err
		}
	}
	return refuse(ReservedName, m.Path)
}
