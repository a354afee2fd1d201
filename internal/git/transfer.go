package git

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects"
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
	// MultiIndex is the highest version of their multi-pack-indexes; 0: there is none.
	MultiIndex int
	// IndexBytes is the size of all indexes of packs.
	IndexBytes int64
}

// TransferRef is a visible ref.
type TransferRef struct {
	Name string
	ID   ID
	// Peeled is what an annotated tag leads to, and zero for other refs.
	Peeled ID
}

// TransferFolder is a folder of objects by its absolute path, with the names in it that git reads. It has no list of
// alternates if it is alone.
type TransferFolder struct {
	Path  string
	Parts []string
	Alone bool
}

// Transfer reads the refs whose names have one of the prefixes, by default all, and the branch of HEAD. With a few
// prefixes the objects of thousands of other refs need not be looked for. The refs are read before the folders, so
// that these have the objects of the refs. The list of refs is never short: an unreadable ref, or one whose object is
// missing, is an error.
func (s *Snapshot) Transfer(prefixes ...string) (t *Transfer, err error) {
	r := s.repository
	defer r.contain(&err)
	head, _, err := s.refs.lookup("HEAD")
	if err != nil {
		return nil, err
	}
	t = &Transfer{}
	if t.Head, err = s.refs.transferHead(head); err != nil {
		return nil, err
	}
	names, raws, err := s.refs.below(s.refs.transferPrefixes(prefixes, head)...)
	if err != nil {
		return nil, err
	}
	if t.Refs, err = s.transferRefs(slices.DeleteFunc(names, s.refs.hides), raws); err != nil {
		return nil, err
	}
	t.Shallow, err = readRegular(s.repository.store.root, r.dir+"/shallow", maxShallowBytes)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("reading shallow: %w", err)
	}
	return t, s.addFolders(t)
}

// transferPrefixes are those of the wanted prefixes that refs can have, and the branch of HEAD.
func (f refSet) transferPrefixes(wanted []string, head rawRef) []string {
	if len(wanted) == 0 {
		return []string{allRefs}
	}
	prefixes := make([]string, 0, len(wanted)+1)
	for _, prefix := range wanted {
		if strings.HasPrefix(allRefs, prefix) {
			return []string{allRefs}
		}
		if strings.HasPrefix(prefix, allRefs) {
			prefixes = append(prefixes, prefix)
		}
	}
	if validRefName(head.symbolic) {
		prefixes = append(prefixes, head.symbolic)
	}
	return prefixes
}

func (s *Snapshot) transferRefs(names []string, raws map[string]rawRef) ([]TransferRef, error) {
	refs, peeled := make([]TransferRef, 0, len(names)), make(map[ID]ID, len(names))
	for _, name := range names {
		raw, ok := s.refs.followIn(raws, name)
		if !ok { // a symbolic ref without a target is not listed by git either
			continue
		}
		target, known := peeled[raw.id]
		if !known {
			var err error
			if target, err = s.peelTip(raw); err != nil {
				return nil, err
			}
			peeled[raw.id] = target
		}
		refs = append(refs, TransferRef{Name: name, ID: raw.id, Peeled: target})
	}
	return refs, nil
}

// peelTip returns what an annotated tag leads to, as packed-refs or the tags say. It refuses a ref that git would leave
// out of its list with a mere warning.
func (s *Snapshot) peelTip(raw rawRef) (ID, error) {
	if raw.fault != nil {
		return ID{}, raw.fault
	}
	kind, err := s.objects.Type(raw.id)
	if err != nil {
		return ID{}, missingIs(raw.id, "a ref names it, but it is missing", domainError(err))
	}
	switch {
	case kind != objects.Tag:
		return ID{}, nil
	case !raw.peeled.IsZero():
		return raw.peeled, nil
	}
	target := raw.id
	for depth := 0; kind == objects.Tag && depth < maxTagDepth; depth++ {
		if target, err = s.tagTarget(target); err != nil {
			return ID{}, err
		}
		kind, err = s.objects.Type(target)
		if err = domainError(err); errors.Is(err, ErrNotFound) || isDamage(err) { // git lists what a tag says
			return target, nil
		}
	}
	return target, err
}

// transferHead is HEAD unless it leads to a hidden ref. A branch without commits may be named.
func (f refSet) transferHead(head rawRef) (string, error) {
	switch branch := head.symbolic; {
	case branch == "" && !head.id.IsZero():
		return head.id.String(), nil
	case !validRefName(branch):
		return "", fmt.Errorf("HEAD names no branch and no commit: %w", ErrCorrupt)
	case f.hides(branch):
		return "", nil
	default:
		return "ref: " + branch, nil
	}
}

func (s *Snapshot) addFolders(t *Transfer) error {
	folders, err := s.objects.Folders()
	if err != nil {
		return domainError(err)
	}
	for _, folder := range folders {
		t.Folders = append(t.Folders, TransferFolder{
			Path:  filepath.Join(s.repository.store.root.Name(), filepath.FromSlash(folder.Path)),
			Parts: folder.Parts, Alone: folder.Alone,
		})
		t.MultiIndex = max(t.MultiIndex, folder.MultiIndex)
		t.IndexBytes += folder.IndexBytes
	}
	return nil
}
