package git

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Transfer is what upload-pack may send of a repository: the visible refs at one moment, and the folders that have
// the objects. It has paths of this machine, so it is for the server's own git, and never for clients.
type Transfer struct {
	// Head is the content of the file HEAD: "ref: refs/heads/main", or an id. It is "" if HEAD leads to a hidden ref.
	Head string
	// Refs are in the order of their names; a symbolic ref has the id of its target.
	Refs []TransferRef
	// Shallow is the content of git's file of that name; nil in a whole repository.
	Shallow []byte
	// Folders have the objects: those of the repository, and of its alternates below the root.
	Folders []TransferFolder
	// IndexBytes is the size of all indexes of packs.
	IndexBytes int64
}

// TransferRef is a visible ref.
type TransferRef struct {
	Name string
	ID   ID
	// Peeled is the target of an annotated tag as packed-refs has it; zero if it has none.
	Peeled ID
}

// TransferFolder is a folder of objects by its absolute path, with the names in it that git reads. It has no list of
// alternates if it is alone.
type TransferFolder struct {
	Path  string
	Parts []string
	Alone bool
}

// Transfer reads the refs before it looks for the folders, so that these have the objects of the refs. The list of
// refs is never short: an unreadable ref, or one whose object is missing, is an error.
func (s *Snapshot) Transfer() (t *Transfer, err error) {
	r := s.repository
	defer r.contain(&err)
	tips, raws, err := s.refs.tips()
	if err != nil {
		return nil, err
	}
	t = &Transfer{Head: s.refs.transferHead(tips, raws)}
	if t.Refs, err = s.transferRefs(tips, raws); err != nil {
		return nil, err
	}
	t.Shallow, err = readRegular(s.refs.root, r.dir+"/shallow", maxShallowBytes)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("reading shallow: %w", err)
	}
	return t, s.addFolders(t)
}

func (s *Snapshot) transferRefs(tips *Tips, raws map[string]rawRef) ([]TransferRef, error) {
	refs, checked := make([]TransferRef, 0, len(tips.Names)), make(map[ID]bool, len(tips.Names))
	for _, name := range tips.Names {
		raw, ok := s.refs.followIn(raws, name)
		if !ok { // a symbolic ref without a target is not listed by git either
			continue
		}
		if !checked[raw.id] {
			if err := s.checkTip(raw); err != nil {
				return nil, err
			}
			checked[raw.id] = true
		}
		refs = append(refs, TransferRef{Name: name, ID: raw.id, Peeled: raw.peeled})
	}
	return refs, nil
}

// checkTip refuses a ref that git would leave out of its list with a mere warning.
func (s *Snapshot) checkTip(raw rawRef) error {
	if raw.fault != nil {
		return raw.fault
	}
	_, err := s.objects.Type(raw.id)
	return missingIs(raw.id, "a ref names it, but it is missing", domainError(err))
}

// transferHead is HEAD unless it leads to a hidden ref. A branch without commits may be named.
func (f refFiles) transferHead(tips *Tips, raws map[string]rawRef) string {
	if branch := raws["HEAD"].symbolic; branch != "" {
		if !validRefName(branch) || f.hides(branch) {
			return ""
		}
		return "ref: " + branch
	}
	if id, ok := tips.ID("HEAD"); ok && !id.IsZero() {
		return id.String()
	}
	return ""
}

func (s *Snapshot) addFolders(t *Transfer) error {
	folders, err := s.objects.Folders()
	if err != nil {
		return domainError(err)
	}
	for _, folder := range folders {
		t.Folders = append(t.Folders, TransferFolder{
			Path:  filepath.Join(s.refs.root.Name(), filepath.FromSlash(folder.Path)),
			Parts: folder.Parts, Alone: folder.Alone,
		})
		t.IndexBytes += folder.IndexBytes
	}
	return nil
}
