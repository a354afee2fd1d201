package git

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/objects/files"
)

// Tips are the visible refs of a repository as they are stored at one moment. No object was read,
// so the objects may be missing, and the commits of annotated tags are unknown.
type Tips struct {
	// Names are the full names in byte order, without HEAD.
	Names []string
	ids   map[string]ID
	head  string
	state string
	files refsState
}

// Tips reads all visible refs. A repository that was removed is [ErrNotFound].
func (r *Repository) Tips() (tips *Tips, err error) {
	defer r.contain(&err)
	refs, err := r.refs()
	if err != nil {
		return nil, err
	}
	tips, _, err = refs.tips()
	return tips, err
}

// tips reads all visible refs, and returns all refs with HEAD as they are stored.
func (f refSet) tips() (*Tips, map[string]rawRef, error) {
	names, raws, from, err := f.all()
	if err != nil {
		return nil, nil, err
	}
	tips := &Tips{
		Names: make([]string, 0, len(names)), ids: make(map[string]ID, len(names)+1),
		files: refsState{rules: f.rules, store: from},
	}
	var state stateSum
	if head, ok := raws["HEAD"]; ok {
		tips.head = cutPrefix(head.symbolic, BranchPrefix)
		state.add("HEAD", head.symbolic, head.id)
		if raw, ok := f.followIn(raws, "HEAD"); ok {
			tips.ids["HEAD"] = raw.id
		}
	}
	for _, name := range names {
		if f.hides(name) {
			continue
		}
		if raw, ok := f.followIn(raws, name); ok {
			tips.Names = append(tips.Names, name)
			tips.ids[name] = raw.id
			state.add(name, raws[name].symbolic, raw.id)
		}
	}
	tips.state = state.String()
	return tips, raws, nil
}

// stateSum is what [Tips.State] is the digest of.
type stateSum []byte

func (s *stateSum) add(name, symbolic string, id ID) {
	for _, text := range []string{name, symbolic} {
		*s = append(binary.AppendUvarint(*s, uint64(len(text))), text...)
	}
	*s = append(*s, id[:]...)
}

func (s stateSum) String() string {
	sum := sha256.Sum256(s)
	return hex.EncodeToString(sum[:])
}

// refsState is what visible refs were read from.
type refsState struct {
	rules []string
	store storeState
}

// storeState is what a [refStore] has read. It takes a fraction of reading thousands of packed refs to see that it is
// the same: packed-refs alone is not read again. git replaces that file, and its programs look whether it was
// replaced in the same way.
type storeState struct {
	read   string // a digest, or the list of tables
	packed files.Seen
}

// areStill reports whether the refs are those of a state. It may be false although they are.
func (f refSet) areStill(then refsState) bool {
	return slices.Equal(f.rules, then.rules) && f.isStill(then.store)
}

// followIn is [refSet.follow] in refs that were read before.
func (f refSet) followIn(raws map[string]rawRef, name string) (rawRef, bool) {
	for range maxSymrefDepth {
		raw, ok := raws[name]
		if !ok || raw.symbolic == "" {
			return raw, ok
		}
		if name = raw.symbolic; f.hides(name) {
			break
		}
	}
	return rawRef{}, false
}

// ID is the object that a ref holds, by its full name or HEAD. It is zero for an unreadable ref.
func (t *Tips) ID(name string) (ID, bool) {
	id, ok := t.ids[name]
	return id, ok
}

// DefaultBranch is the short name of the branch that HEAD points to, or "".
func (t *Tips) DefaultBranch() string { return t.head }

// State is a string that changes whenever HEAD or a visible ref does.
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

// refEnds are the positions where the name of a ref may end in a path, the longest first: at the
// end, or before the marker as a whole segment.
func refEnds(p, marker string) []int {
	var ends []int
	for end := len(p); end > 0; end = strings.LastIndexByte(p[:end], '/') {
		if rest := p[end:]; rest == "" || rest == marker || strings.HasPrefix(rest, marker+"/") {
			ends = append(ends, end)
		}
	}
	return ends
}

// HeadTip is the branch that HEAD leads to with the object that it holds, or HEAD itself if it is
// detached; the name is "" without a commit, or on error. No object is read.
func (r *Repository) HeadTip() (name string, id ID, err error) {
	defer r.contain(&err)
	refs, err := r.refs()
	if err != nil {
		return "", ID{}, err
	}
	name, raw, ok, err := refs.follow("HEAD")
	if err != nil || !ok {
		return "", ID{}, err
	}
	return name, raw.id, nil
}

// CommitOf follows annotated tags from an object to its commit. It does not check visibility: it is
// for ids that a visible ref holds.
func (s *Snapshot) CommitOf(id ID) (ID, error) { return s.peel(id) }
