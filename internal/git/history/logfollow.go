package history

import (
	"errors"

	"github.com/repomcp/repomcp/internal/git"
)

// changesFollowedFile reports whether a commit changes the followed file. If the commit created the
// file, it finds the older name: --follow of git-log(1). There is one name at a time for all
// branches of the walk.
func (w *walk) changesFollowedFile(before *links, after links) (bool, error) {
	if same, err := w.source.sameAt(before, after, w.followed); err != nil || same {
		return false, err
	}
	from, to := before.root(), after.tree
	options := CompareOptions{Paths: []string{w.followed.String()}, MaxFiles: 2}
	files, err := w.source.treeChanges(from, to, options)
	if errors.Is(err, ErrTooMany) {
		return true, nil
	}
	if err != nil || len(files) != 1 || files[0].Status != Added {
		return len(files) > 0, err
	}
	path, err := w.source.copiedFrom(from, to, w.followed.path)
	if path != "" {
		w.followed = limit{path: path}
	}
	return true, err
}

// maxRenameFiles bounds the candidates for the origin of a file, at some 200 bytes each.
const maxRenameFiles = 200_000

// renamedFrom finds the file of one tree that was renamed to a path of another, as `git diff -M`
// does for that path alone. It returns "" if there is none, or if too many files were deleted.
func (s *source) renamedFrom(from, to git.ID, path string) (string, entry, error) {
	files, err := s.candidates(from, to, func(f FileChange) bool {
		return f.Status == Deleted || f.Status == Added && f.NewPath == path
	})
	if err != nil {
		return "", entry{}, err
	}
	return s.originOf(files, path, false)
}

// copiedFrom does the same as `git diff --find-copies-harder`, where any file may be the origin. In
// a tree with too many files, only changed ones are candidates.
func (s *source) copiedFrom(from, to git.ID, path string) (string, error) {
	if from.IsZero() {
		return "", nil
	}
	files, err := s.candidates(from, to, func(f FileChange) bool { return f.Status != Added || f.NewPath == path })
	if err != nil || len(files) == 0 {
		return "", err
	}
	deleted := make(map[string]bool)
	var added []FileChange
	for _, f := range files {
		switch f.Status {
		case Deleted:
			deleted[f.OldPath] = true
		case Added:
			added = append(added, f)
		}
	}
	all, err := s.candidates(git.ID{}, from, nil)
	if err != nil {
		return "", err
	}
	if len(all) > 0 {
		for i, f := range all {
			all[i].Status, all[i].OldMode, all[i].OldID = Modified, f.NewMode, f.NewID
			if deleted[f.OldPath] {
				all[i].Status = Deleted
			}
		}
		files = append(all, added...)
	}
	path, _, err = s.originOf(files, path, true)
	return path, err
}

// candidates lists the differences of two trees; none if there are too many.
func (s *source) candidates(from, to git.ID, only func(FileChange) bool) ([]FileChange, error) {
	c := treeComparison{source: s, mostFiles: maxRenameFiles, mostFolders: maxComparedFolders, only: only}
	err := c.folder("", treeOf(from), treeOf(to), true, 0)
	if errors.Is(err, ErrTooMany) {
		return nil, nil
	}
	return c.files, err
}

func (s *source) originOf(files []FileChange, path string, copies bool) (string, entry, error) {
	comparison, err := s.findRenames(files, copies, maxChunks)
	if err != nil {
		return "", entry{}, err
	}
	for _, f := range comparison.Files {
		if f.NewPath == path && (f.Status == Renamed || f.Status == Copied) {
			return f.OldPath, entry{f.OldMode, f.OldID}, nil
		}
	}
	return "", entry{}, nil
}
