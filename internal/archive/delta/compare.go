package delta

import (
	"context"
	"iter"

	"github.com/repomcp/repomcp/internal/archive/tree"
	"github.com/repomcp/repomcp/internal/git"
)

// Compare lists the changes from the base's archive to the head's, which were selected by the same
// options. If $Format:…$ is expanded in one of the two, files with export-subst are always sent.
func Compare(ctx context.Context, base, head *tree.Selection, expands bool) (*Changes, error) {
	rules := head.Rules()
	c := &comparison{ctx: ctx, head: head, expands: expands, before: rules, after: rules, changes: &Changes{}}
	if head.Attributes != tree.ForNothing {
		if err := c.examineAttributes(base); err != nil {
			return nil, err
		}
	}
	return c.changes, c.begin(base)
}

// comparison walks two trees at once. It does not read below equal folders, unless attributes
// differ.
//
// It follows the rules of [tree.Walk].
type comparison struct {
	ctx  context.Context
	head *tree.Selection
	// before and after are the rules of the base and of the head. They are the same object if the
	// attributes are equal.
	before, after *tree.Rules
	strip         int
	expands       bool
	// everything means that equal files may have to be sent.
	everything bool

	path    []byte
	open    []openFolder // of the head, around the path
	depth   int
	entered int64
	changes *Changes
}

// openFolder is a folder of the head on the current path.
type openFolder struct {
	length int // of its path, with the final slash
	mode   git.Mode
	id     git.ID
	at     int // index in changes, or notSent
}

const notSent = -1

// membership tells which of the two archives contain a folder: those in which it contains anything
// selected, whether that is written or excluded.
type membership struct{ base, head bool }

func (p *membership) add(q membership) { p.base, p.head = p.base || q.base, p.head || q.head }

// version is an archive's entry of a name; it may be missing.
type version struct {
	exists    bool
	mode      git.Mode
	id        git.ID
	treatment *tree.Treatment
}

// examineAttributes looks for attributes that differ. In an archive these may exclude files, and
// are refused; otherwise each file is compared.
func (c *comparison) examineAttributes(base *tree.Selection) error {
	changed, err := c.attributesChange(base.Root.Entries, c.head.Root.Entries, make(map[[2]git.ID]bool))
	if err != nil {
		return err
	}
	switch {
	case changed && c.head.Attributes == tree.ForArchive:
		return &FullNeededError{Reason: AttributesChanged}
	case changed:
		c.before, c.everything = base.Rules(), true
	}
	c.entered = 0
	if c.head.Attributes != tree.ForArchive || !c.expands {
		return nil
	}
	found, _, err := c.head.Survey(c.ctx)
	c.everything = c.everything || found.Substitutes
	return err
}

// begin descends to the stripped folder, and compares its contents.
func (c *comparison) begin(from *tree.Selection) error {
	base, head := from.Root.Entries, c.head.Root.Entries
	if err := c.pushRules(base, head); err != nil {
		return err
	}
	for i, folder := range c.head.Stripped {
		c.path = append(c.path, folder.Name...)
		if _, ignored := c.after.Treatment(c.path, folder.Mode); ignored {
			return nil
		}
		c.path = append(c.path, '/')
		var err error
		if base, err = c.list(&from.Stripped[i]); err != nil {
			return err
		}
		if head, err = c.list(&folder); err != nil {
			return err
		}
		if err := c.pushRules(base, head); err != nil {
			return err
		}
	}
	c.strip, c.depth = len(c.path), 1
	if reserved(base) || reserved(head) {
		return &FullNeededError{Reason: ReservedName}
	}
	err := c.head.CheckFolder(head)
	if err == nil {
		_, _, err = c.entries(base, head)
	}
	return err
}

// list reads a folder; other entries have no contents.
func (c *comparison) list(e *git.TreeEntry) ([]git.TreeEntry, error) {
	if e == nil || !e.Mode.IsDir() {
		return nil, nil
	}
	entries, err := c.head.Root.Source.Tree(e.ID)
	return entries, git.MustExist(e.ID, err)
}

// entries compares two folders by name. It returns equal entries that were not examined.
func (c *comparison) entries(base, head []git.TreeEntry) (in membership, same []git.TreeEntry, err error) {
	for b, h := range pairs(base, head) {
		if b != nil && h != nil && *b == *h && !c.everything {
			same = append(same, *h)
			continue
		}
		found, err := c.pair(b, h)
		if err != nil {
			return in, nil, err
		}
		in.add(found)
	}
	return in, same, nil
}

// pairs yields the names in two folders: those of the head in order, and then those only in the
// base. A missing entry is nil. Unlike in [git.PairTrees] a file and a folder of one name are a
// pair, because one replaces the other when an archive is unpacked, and any order is valid.
func pairs(base, head []git.TreeEntry) iter.Seq2[*git.TreeEntry, *git.TreeEntry] {
	return func(yield func(base, head *git.TreeEntry) bool) {
		before, after := byName(base), byName(head)
		for i := range head {
			if !yield(before[head[i].Name], &head[i]) {
				return
			}
		}
		for i := range base {
			if after[base[i].Name] == nil && !yield(&base[i], nil) {
				return
			}
		}
	}
}

func byName(entries []git.TreeEntry) map[string]*git.TreeEntry {
	names := make(map[string]*git.TreeEntry, len(entries))
	for i := range entries {
		names[entries[i].Name] = &entries[i]
	}
	return names
}

// pair compares the entries of a name in both trees; nil means missing.
func (c *comparison) pair(base, head *git.TreeEntry) (in membership, err error) {
	name := head
	if name == nil {
		name = base
	}
	length := len(c.path)
	c.path = append(c.path, name.Name...)
	if len(c.path) > c.head.Limits.PathBytes {
		return in, c.head.Limits.PathExceeded()
	}
	var folders membership
	at := notSent
	if isFolder(base) || isFolder(head) {
		if folders, at, err = c.folder(base, head); err != nil {
			return in, err
		}
	}
	before, in1 := c.version(base, folders.base, c.before)
	after, in2 := c.version(head, folders.head, c.after)
	err = c.addChange(before, after, at)
	c.path = c.path[:length]
	return membership{in1, in2}, err
}

func isFolder(e *git.TreeEntry) bool { return e != nil && e.Mode.IsDir() }

// version returns an archive's entry at the path, and whether its parent folders are included.
func (c *comparison) version(e *git.TreeEntry, folder bool, rules *tree.Rules) (v version, counts bool) {
	switch {
	case e == nil:
		return v, false
	case e.Mode.IsDir():
		v.exists = folder
	case !c.head.Match(c.path, e.Mode):
		return v, false
	default:
		var ignored bool
		v.treatment, ignored = rules.Treatment(c.path, e.Mode)
		v.exists = !ignored
	}
	v.mode, v.id = e.Mode, e.ID
	return v, v.exists || !e.Mode.IsDir()
}

// addChange records the change of a name. at is the index of a folder of the head that is already
// in the list.
func (c *comparison) addChange(before, after version, at int) error {
	var status Status
	switch {
	case !after.exists && !before.exists:
		return nil
	case !after.exists:
		c.noteReplaced(before)
		return c.add(tree.Entry{Path: c.full(before.mode)}, Deleted)
	case !before.exists:
		status = Added
	case tree.Type(before.mode) != tree.Type(after.mode):
		status = TypeChanged
	case after.mode.IsDir():
		return nil
	case before.id != after.id:
		status = Modified
	case before.mode.IsExecutable() != after.mode.IsExecutable():
		status = ModeChanged
	case c.expands && after.treatment.InOrder(): // its content depends on the commit
		status = Modified
	case !before.treatment.ConvertsAs(after.treatment):
		status = Modified
	default:
		return nil
	}
	c.noteReplaced(before)
	if at != notSent {
		c.changes.statuses[at] = status
		return nil
	}
	return c.send(after, base(before, after), status)
}

func (c *comparison) noteReplaced(before version) {
	if before.exists && !before.mode.IsDir() {
		c.changes.replaced = append(c.changes.replaced, before.id)
	}
}

// base returns the file that a patch can apply to: one at the same path, if the archives contain
// both as they are stored.
func base(before, after version) git.ID {
	if before.exists && before.mode.IsRegular() && after.mode.IsRegular() && before.id != after.id &&
		!before.treatment.Changes() && !after.treatment.Changes() {
		return before.id
	}
	return git.ID{}
}

// full returns the path as in archives: folders and gitlinks end in a slash.
func (c *comparison) full(mode git.Mode) []byte {
	path := c.path[c.strip:]
	if mode.IsDir() || mode.IsGitlink() {
		path = append(path[:len(path):len(path)], '/')
	}
	return path
}

// send adds an entry, after its parent folders that are not in the list yet.
func (c *comparison) send(v version, base git.ID, status Status) error {
	from := len(c.open)
	for from > 0 && c.open[from-1].at == notSent {
		from--
	}
	for i := from; i < len(c.open); i++ {
		o := &c.open[i]
		o.at = len(c.changes.statuses)
		above := tree.Entry{Path: c.path[c.strip:o.length], Mode: o.mode, ID: o.id}
		if err := c.add(above, Unchanged); err != nil {
			return err
		}
	}
	e := tree.Entry{Path: c.full(v.mode), Mode: v.mode, ID: v.id, Treatment: v.treatment, Base: base}
	return c.add(e, status)
}

func (c *comparison) add(e tree.Entry, status Status) error {
	return c.changes.add(c.head.Limits, c.head.Prefix, e, status)
}

// folder compares the contents at the path, where at least one tree has a folder. at is the index
// of the head's folder in the list, if its contents are sent.
func (c *comparison) folder(base, head *git.TreeEntry) (in membership, at int, err error) {
	if !c.enters() {
		return in, notSent, nil
	}
	length := len(c.path)
	c.path = append(c.path, '/')
	before, err := c.enter(base)
	if err != nil {
		return in, notSent, err
	}
	after, err := c.enter(head)
	if err == nil {
		err = c.head.CheckFolder(after)
	}
	if err != nil {
		return in, notSent, err
	}
	if err := c.push(before, after); err != nil {
		return in, notSent, err
	}
	if isFolder(head) {
		c.open = append(c.open, openFolder{len(c.path), head.Mode, head.ID, notSent})
	}
	in, same, err := c.entries(before, after)
	if err == nil && in != (membership{true, true}) {
		err = c.addSame(&in, same)
	}
	at = notSent
	if isFolder(head) {
		at = c.open[len(c.open)-1].at
		c.open = c.open[:len(c.open)-1]
	}
	c.pop()
	c.path = c.path[:length]
	return in, at, err
}

// enters reports whether the folder at the path can be in the archives, if it is not empty.
func (c *comparison) enters() bool {
	if !c.head.Match(c.path, git.ModeDir) {
		return false
	}
	_, ignored := c.after.Treatment(c.path, git.ModeDir)
	return !ignored
}

// enter reads the entry if it is a folder.
func (c *comparison) enter(e *git.TreeEntry) ([]git.TreeEntry, error) {
	if !isFolder(e) {
		return nil, nil
	}
	if c.entered++; c.entered > c.head.Limits.Entries {
		return nil, c.head.Limits.EntriesExceeded()
	}
	if err := context.Cause(c.ctx); err != nil {
		return nil, err
	}
	return c.list(e)
}

func (c *comparison) push(base, head []git.TreeEntry) error {
	if c.depth++; c.depth > c.head.Limits.Depth {
		return c.head.Limits.DepthExceeded()
	}
	return c.pushRules(base, head)
}

// pushRules applies the attributes of a folder in both trees.
func (c *comparison) pushRules(base, head []git.TreeEntry) error {
	source := c.head.Root.Source
	if c.before == c.after {
		// Only one side has attributes here if only one has the folder.
		return c.after.Push(source, c.path, append(head[:len(head):len(head)], base...))
	}
	if err := c.before.Push(source, c.path, base); err != nil {
		return err
	}
	return c.after.Push(source, c.path, head)
}

func (c *comparison) pop() {
	c.depth--
	c.after.Pop()
	if c.before != c.after {
		c.before.Pop()
	}
}

// addSame adds the membership of equal entries. It is called only if that matters: if everything
// else in a folder is new, deleted, or not selected.
func (c *comparison) addSame(in *membership, same []git.TreeEntry) error {
	for i := range same {
		ok, err := c.holds(&same[i])
		if err != nil {
			return err
		}
		if ok {
			*in = membership{true, true}
			return nil
		}
	}
	return nil
}

// holds reports whether an entry or one below it is selected.
func (c *comparison) holds(e *git.TreeEntry) (ok bool, err error) {
	length := len(c.path)
	c.path = append(c.path, e.Name...)
	defer func() { c.path = c.path[:length] }()
	if !e.Mode.IsDir() {
		return c.head.Match(c.path, e.Mode), nil
	}
	if !c.enters() {
		return false, nil
	}
	c.path = append(c.path, '/')
	entries, err := c.enter(e)
	if err != nil {
		return false, err
	}
	if err := c.push(entries, entries); err != nil {
		return false, err
	}
	defer c.pop()
	for i := 0; i < len(entries) && !ok && err == nil; i++ {
		ok, err = c.holds(&entries[i])
	}
	return ok, err
}
