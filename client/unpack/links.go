package unpack

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

type link struct {
	path, target string
	yields       Yields
	id           ID
}

// LinkStays reports whether a symbolic link at a path of an archive can only lead to places in the
// root: it goes up only at its beginning, and no further than to the root. A target that goes up
// later could do so from where another link leads.
func LinkStays(at, target string) bool {
	if target == "" || strings.HasPrefix(target, "/") {
		return false
	}
	left, down := strings.Count(at, "/"), false
	for step := range strings.SplitSeq(target, "/") {
		switch step {
		case "", ".":
		case "..":
			if left--; down || left < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}

// addLink keeps a link for the end, when no member is written through it any more.
func (r *run) addLink(m Member, f *folder, choice Choice) error {
	if err := r.folders.openFor(f, choice); err != nil {
		return err
	}
	r.links = append(r.links, link{m.Path, m.Target, choice.Yields, choice.ID})
	return r.folders.hold(len(m.Path)+len(m.Target)+nameCosts, m.Path)
}

// makeLinks makes all links that stay inside, and then fails for the others.
func (r *run) makeLinks() error {
	s := r.newFolders(nil, nil)
	defer s.close()
	var outside []string
	for _, l := range r.links {
		if !r.options.AllowExternalSymlinks && !r.staysInside(l.path, l.target) {
			outside = append(outside, l.path)
			continue
		}
		if err := r.makeLink(s, l); err != nil {
			return err
		}
	}
	if outside != nil {
		return refuse(Outside, outside...)
	}
	return nil
}

// staysInside also checks the additional forms of paths on Windows.
func (u *Unpacker) staysInside(at, target string) bool {
	return LinkStays(at, target) && (u.goos != "windows" || !strings.ContainsAny(target, `\:`))
}

func (r *run) makeLink(s *folders, l link) error {
	dir, name := path.Split(l.path)
	f, err := s.enter(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return err
	}
	if err := s.openFor(f, Choice{Yields: l.yields}); err != nil {
		return err
	}
	w := Written{Path: l.path, Kind: Symlink, Size: int64(len(l.target)), ID: IDOf([]byte(l.target))}
	if l.id != (ID{}) && w.ID != l.id {
		return atPath(l.path, ErrContent)
	}
	temporary := r.nameAside(name)
	if err := r.symlink(f.root, l.target, temporary); err != nil {
		return atPath(l.path, withReason(f.root, l.path, err))
	}
	info, err := f.root.Lstat(temporary)
	return r.complete(f, temporary, info, w, l.yields, err)
}

// symlink makes a link, or a file with the target where the file system has no links, as git does (core.symlinks of
// git-config(1)).
func (r *run) symlink(root *os.Root, target, name string) error {
	if !r.noLinks {
		err := root.Symlink(filepath.FromSlash(target), name)
		if err == nil {
			return nil
		}
		able, failed := AbilitiesOf(filepath.Join(r.root.Name(), reservedFolder))
		if r.noLinks = failed == nil && !able.Links; !r.noLinks {
			return err
		}
	}
	return root.WriteFile(name, []byte(target), 0o666)
}
