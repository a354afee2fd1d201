package repos

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/repomcp/repomcp/internal/repos/stamp"
)

// Tips are the served refs of a repository as they are stored at one moment. No
// object was read: that the objects are there, and what annotated tags lead to,
// is not known.
type Tips struct {
	// Names are the full names in byte order, without HEAD.
	Names []string
	ids   map[string]ID
	head  string
	state string
}

// Tips reads all served refs. A repository that is gone is [ErrNotFound].
func (r *Repository) Tips() (tips *Tips, err error) {
	defer r.contain(&err)
	files, err := r.refFiles()
	if err != nil {
		return nil, err
	}
	tips, _, err = files.tips()
	return tips, err
}

// tips reads all served refs, and returns all refs with HEAD as they are stored.
func (f refFiles) tips() (*Tips, map[string]rawRef, error) {
	head, headOK, err := f.loose("HEAD")
	if err != nil {
		return nil, nil, err
	}
	names, raws, err := f.all()
	if err != nil {
		return nil, nil, err
	}
	tips := &Tips{Names: make([]string, 0, len(names)), ids: make(map[string]ID, len(names)+1)}
	sum := sha256.New()
	if headOK {
		raws["HEAD"] = head
		tips.head = cutPrefix(head.symbolic, branchPrefix)
		_, _ = fmt.Fprintf(sum, "HEAD %s %s\n", head.symbolic, head.id)
		if raw, ok := f.followIn(raws, "HEAD"); ok {
			tips.ids["HEAD"] = raw.id
		}
	}
	for _, name := range names {
		if f.hide.hides(name) {
			continue
		}
		if raw, ok := f.followIn(raws, name); ok {
			tips.Names = append(tips.Names, name)
			tips.ids[name] = raw.id
			_, _ = fmt.Fprintf(sum, "%s %s %s\n", name, raws[name].symbolic, raw.id)
		}
	}
	tips.state = hex.EncodeToString(sum.Sum(nil))
	return tips, raws, nil
}

// followIn is [refFiles.follow] in refs that were read before.
func (f refFiles) followIn(raws map[string]rawRef, name string) (rawRef, bool) {
	for range maxSymrefDepth {
		raw, ok := raws[name]
		if !ok || raw.symbolic == "" {
			return raw, ok
		}
		if name = raw.symbolic; f.hide.hides(name) {
			break
		}
	}
	return rawRef{}, false
}

// ID is the object that a ref holds, by its full name or HEAD. It is zero for a
// ref that cannot be read.
func (t *Tips) ID(name string) (ID, bool) {
	id, ok := t.ids[name]
	return id, ok
}

// DefaultBranch is the short name of the branch that HEAD points to, or "".
func (t *Tips) DefaultBranch() string { return t.head }

// State is a text that changes whenever HEAD or a served ref does.
func (t *Tips) State() string { return t.state }

// LongestRef is [Repository.LongestRef] among these refs.
func (t *Tips) LongestRef(prefix, p, marker string) (name, rest string, err error) {
	for _, end := range refEnds(p, marker) {
		if _, ok := t.ids[prefix+p[:end]]; ok {
			return prefix + p[:end], p[end:], nil
		}
	}
	return "", "", fmt.Errorf("ref: %w", ErrNotFound)
}

// refEnds are where the name of a ref may end in a path, the longest first:
// nothing follows it, or the marker as a whole segment.
func refEnds(p, marker string) []int {
	var ends []int
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		if rest := p[end:]; rest == "" || rest == marker || strings.HasPrefix(rest, marker+"/") {
			ends = append(ends, end)
		}
	}
	return ends
}

// HeadTip is the branch that HEAD leads to with the object that it holds, or
// HEAD itself when it is detached; the name is "" when there is no commit, or an
// error. No object is read.
func (r *Repository) HeadTip() (name string, id ID, err error) {
	defer r.contain(&err)
	files, err := r.refFiles()
	if err != nil {
		return "", ID{}, err
	}
	name, raw, ok, err := files.follow("HEAD")
	if err != nil || !ok {
		return "", ID{}, err
	}
	return name, raw.id, nil
}

// CommitOf follows annotated tags from an object to its commit. Whether that is
// served is not looked at: it is for ids that a served ref holds.
func (s *Snapshot) CommitOf(id ID) (ID, error) { return s.peel(id) }

// RefStamp tells whether the files that hold refs may have been touched.
type RefStamp = stamp.Refs

// RefStamp looks at them.
func (r *Repository) RefStamp() RefStamp {
	return stamp.OfRefs(r.catalogue.root, r.dir, r.catalogue.list)
}

// Transfer is what git may hand out of a repository: the served refs as they are at one moment, and where
// the objects are. It is for the operator's own git, and never for clients.
type Transfer struct {
	// Head is what git's file HEAD says of it: "ref: refs/heads/main", or an id. It is "" where HEAD leads to what is
	// not served.
	Head string
	// Refs are in the order of their names; symbolic ones have what they lead to.
	Refs []TransferRef
	// Shallow is git's file of that name; nil in a whole repository.
	Shallow []byte
	// Folders have the objects: those of the repository, and of its alternates below the root.
	Folders []TransferFolder
	// IndexBytes is the size of all indexes of packs.
	IndexBytes int64
}

// TransferRef is a served ref.
type TransferRef struct {
	Name string
	ID   ID
	// Peeled is what packed-refs says that an annotated tag leads to; zero where it says nothing.
	Peeled ID
}

// TransferFolder is a folder of objects, absolute, with the names in it that git reads.
type TransferFolder struct {
	Path  string
	Parts []string
}

// Transfer reads the refs first, and then looks for folders of objects, so that these have what the refs name.
// A list of refs is never short: one that cannot be read, or names an object that is not there, is an error.
func (s *Snapshot) Transfer() (t *Transfer, err error) {
	r := s.repository
	defer r.contain(&err)
	tips, raws, err := s.refs.tips()
	if err != nil {
		return nil, err
	}
	t = &Transfer{Head: s.refs.transferHead(tips, raws), Refs: make([]TransferRef, 0, len(tips.Names))}
	there := make(map[ID]bool, len(tips.Names))
	for _, name := range tips.Names {
		raw, ok := s.refs.followIn(raws, name)
		if !ok { // a symbolic ref to nothing stands for nothing
			continue
		}
		if !there[raw.id] {
			if err := s.checkTip(raw); err != nil {
				return nil, err
			}
			there[raw.id] = true
		}
		t.Refs = append(t.Refs, TransferRef{Name: name, ID: raw.id, Peeled: raw.peeled})
	}
	t.Shallow, err = readRegular(s.refs.root, r.dir+"/shallow", maxShallowBytes)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("reading shallow: %w", err)
	}
	return t, s.addFolders(t)
}

// checkTip refuses a ref that git would leave out of its list with nothing but a warning.
func (s *Snapshot) checkTip(raw rawRef) error {
	if raw.fault != nil {
		return raw.fault
	}
	_, err := s.objects.Type(raw.id)
	return missingIs(raw.id, "a ref names it, but it is missing", domainError(err))
}

// transferHead is HEAD unless what it leads to is hidden. A branch without commits may be named.
func (f refFiles) transferHead(tips *Tips, raws map[string]rawRef) string {
	head := raws["HEAD"]
	if head.symbolic != "" {
		if !validRefName(head.symbolic) || f.hide.hides(head.symbolic) {
			return ""
		}
		return "ref: " + head.symbolic
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
			Path: filepath.Join(s.refs.root.Name(), filepath.FromSlash(folder.Path)), Parts: folder.Parts,
		})
		t.IndexBytes += folder.IndexBytes
	}
	return nil
}
