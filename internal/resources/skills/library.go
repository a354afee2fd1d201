package skills

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/repomcp/repomcp/internal/access/limits"
	"github.com/repomcp/repomcp/internal/base/lru"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/repos"
)

// These bound the memory of what is kept: that of some six thousand skills with five files each.
const (
	listingBytes = 8 << 20
	folderBytes  = 8 << 20
	proofBytes   = 4 << 20
	// proofCost, fileCost and entryCost are the memory of one entry without its strings.
	proofCost = 256
	fileCost  = 96
	entryCost = 320
	// readMemory is what reading a skill holds at most: an open object, and the head of a SKILL.md.
	readMemory = 4 << 20
)

// Options of a [Library].
type Options struct {
	// Patterns are of the folders whose skills are listed, as wildmatch has them for paths, with . for
	// the root of a repository. Nil means [DefaultPatterns]; an empty list lists nothing.
	Patterns []string
	// FileLimit is the largest file in bytes that clients can read; 0 means any.
	FileLimit int64
	// Limits reserves memory before skills are read; nil limits nothing.
	Limits *limits.Limiter
	Logger *slog.Logger
}

// Library finds and remembers skills. It is safe for concurrent use.
type Library struct {
	options  Options
	listings *lru.Cache[listingKey, *Listing]
	folders  *lru.Cache[git.ID, folder]
	proofs   *lru.Cache[git.ID, proof]

	reading                sync.Map // from listingKey to a channel that is closed at the end
	readFolders, readFiles atomic.Int64

	mu   sync.Mutex
	told map[string]git.ID // by repository: the commit of the listing that clients know
}

// listingKey names a listing. The name of a repository counts for a skill at its root.
type listingKey struct {
	commit git.ID
	root   string
}

// folder is what is known of a folder: one of the two.
type folder struct {
	skill   *Skill
	refused *RefusedError
}

// New makes a library. It refuses a pattern that no folder matches.
func New(options Options) (*Library, error) {
	if options.Patterns == nil {
		options.Patterns = DefaultPatterns()
	}
	for _, pattern := range options.Patterns {
		if err := checkPattern(pattern); err != nil {
			return nil, err
		}
	}
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	return &Library{
		options: options, told: make(map[string]git.ID),
		listings: lru.New[listingKey, *Listing](listingBytes), folders: lru.New[git.ID, folder](folderBytes),
		proofs: lru.New[git.ID, proof](proofBytes),
	}, nil
}

// Stats are counts of a library.
type Stats struct {
	// Kept are the folders that are remembered, and Bytes the memory of everything that is.
	Kept, Bytes int64
	// ReadFolders and ReadFiles were read since the start.
	ReadFolders, ReadFiles int64
}

// Stats returns the present counts.
func (l *Library) Stats() Stats {
	_, listings := l.listings.Size()
	folders, bytes := l.folders.Size()
	_, proofs := l.proofs.Size()
	return Stats{
		Kept: int64(folders), Bytes: listings + bytes + proofs,
		ReadFolders: l.readFolders.Load(), ReadFiles: l.readFiles.Load(),
	}
}

// List returns the skills on the default branch of a repository, in the folders of
// [Options.Patterns]. A repository without commits has none. The listing must not be changed.
func (l *Library) List(ctx context.Context, repository *repos.Repository) (*Listing, error) {
	_, tip, err := repository.HeadTip()
	if err != nil {
		return nil, err
	}
	return l.ListTip(ctx, repository, tip)
}

// ListTip is List for a tip of the default branch that was just read; the zero id has no skills.
func (l *Library) ListTip(ctx context.Context, repository *repos.Repository, tip git.ID) (*Listing, error) {
	l.know(repository.Name(), tip)
	return l.listAt(ctx, repository, tip)
}

// listAt returns the listing of a commit, which one goroutine at a time makes. The zero id has no skills.
func (l *Library) listAt(ctx context.Context, repository *repos.Repository, tip git.ID) (*Listing, error) {
	if tip.IsZero() {
		return &Listing{}, nil
	}
	key := listingKey{tip, path.Base(repository.Name())}
	for mine := make(chan struct{}); ; {
		if listing, ok := l.listings.Get(key); ok {
			return listing, nil
		}
		other, taken := l.reading.LoadOrStore(key, mine)
		if !taken {
			defer close(mine)
			defer l.reading.Delete(key)
			return l.makeListing(ctx, repository, key)
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (l *Library) makeListing(
	ctx context.Context, repository *repos.Repository, key listingKey,
) (listing *Listing, err error) {
	snapshot, err := repository.Snapshot()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	grant, err := l.options.Limits.Call(ctx, repository.Name(), readMemory)
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	listing, settled, err := l.ListCommit(ctx, snapshot, key.commit, key.root)
	if err != nil {
		return nil, err
	}
	for _, refusal := range listing.Refused {
		l.options.Logger.WarnContext(ctx, "a skill is not served", "repository", repository.Name(), "commit",
			key.commit.String(), "folder", cmp.Or(refusal.Path, rootPattern), "reason", refusal.Reason)
	}
	if settled {
		l.listings.Put(key, listing, listing.cost())
	}
	return listing, nil
}

// cost is the memory of a listing with its skills, which may be forgotten by folder.
func (x *Listing) cost() int64 {
	cost := int64(entryCost)
	for _, skill := range x.Skills {
		cost += int64(len(skill.Path)) + folder{skill: skill.Skill}.cost()
	}
	for _, refusal := range x.Refused {
		cost += fileCost + int64(len(refusal.Path)+len(refusal.Reason))
	}
	return cost
}

// ListCommit returns the skills of a commit or of the commit that a tag leads to. root is the name
// that a skill at the root has: the last part of the repository's. settled reports that another call
// has the same result.
func (l *Library) ListCommit(
	ctx context.Context, snapshot *git.Snapshot, id git.ID, root string,
) (listing *Listing, settled bool, err error) {
	if len(l.options.Patterns) == 0 {
		return &Listing{Commit: id}, true, nil
	}
	if id, err = snapshot.CommitOf(id); err != nil {
		return nil, false, err
	}
	commit, err := snapshot.Commit(id)
	if err != nil {
		return nil, false, err
	}
	f := finder{library: l, snapshot: snapshot, root: root, listing: &Listing{Commit: id}}
	if err := f.find(ctx, commit.Tree, ""); err != nil {
		return nil, false, err
	}
	slices.SortFunc(f.listing.Skills, func(a, b Listed) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(f.listing.Refused, func(a, b Refusal) int { return cmp.Compare(a.Path, b.Path) })
	return f.listing, !f.unsettled, nil
}

// Read returns the skill of a folder with a name. The error is a [*RefusedError] if the folder is no
// skill of that name. repository is for the limits.
func (l *Library) Read(
	ctx context.Context, repository string, snapshot *git.Snapshot, tree git.ID, name string,
) (*Skill, error) {
	if _, known := l.folders.Get(tree); known {
		return l.read(ctx, snapshot, tree, name)
	}
	grant, err := l.options.Limits.Call(ctx, repository, readMemory)
	if err != nil {
		return nil, err
	}
	defer grant.Release()
	return l.read(ctx, snapshot, tree, name)
}

// read is Read with a reservation.
func (l *Library) read(ctx context.Context, snapshot *git.Snapshot, tree git.ID, name string) (*Skill, error) {
	x, known := l.folders.Get(tree)
	if !known {
		var err error
		if x.skill, err = l.readFolder(ctx, snapshot, tree); err != nil && !errors.As(err, &x.refused) {
			return nil, err
		}
		if x.refused != nil {
			x.skill = nil
		}
		l.readFolders.Add(1)
		l.folders.Put(tree, x, x.cost())
	}
	switch {
	case x.refused != nil:
		return nil, x.refused
	case x.skill.Name != name:
		return nil, refused("the name %s of its frontmatter is not that of its folder, %s", x.skill.Name, clip(name))
	}
	return x.skill, nil
}

func (f folder) cost() int64 {
	cost := int64(entryCost)
	if f.refused != nil {
		return cost + int64(len(f.refused.Reason))
	}
	cost += int64(len(f.skill.Frontmatter) + len(f.skill.Description))
	for _, file := range f.skill.Files {
		cost += fileCost + int64(len(file.Path))
	}
	for _, omitted := range f.skill.Omitted {
		cost += int64(len(omitted))
	}
	return cost
}

// know notes what clients know of a repository, unless they were told of something before.
func (l *Library) know(name string, tip git.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.told[name]; !known {
		l.told[name] = tip
	}
}

// Changes returns the repositories whose listed skills differ from those at the last call or, without
// one, at the first [Library.List]. It forgets all repositories but those with the names.
func (l *Library) Changes(ctx context.Context, view repos.View, names []string) (changed []string) {
	l.mu.Lock()
	maps.DeleteFunc(l.told, func(name string, _ git.ID) bool {
		_, exists := slices.BinarySearch(names, name)
		return !exists
	})
	l.mu.Unlock()
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		repository, err := view.Known(name)
		if err != nil {
			continue
		}
		switch differs, err := l.differs(ctx, repository); {
		case err != nil:
			l.options.Logger.DebugContext(ctx, "the skills of a repository are not known", "repository", name,
				"error", err)
		case differs:
			changed = append(changed, name)
		}
	}
	return changed
}

// differs compares the listing of a repository with the one that clients know, and notes the new one.
func (l *Library) differs(ctx context.Context, repository *repos.Repository) (bool, error) {
	_, tip, err := repository.HeadTip()
	if err != nil {
		return false, err
	}
	l.know(repository.Name(), tip)
	l.mu.Lock()
	told := l.told[repository.Name()]
	l.mu.Unlock()
	if told == tip {
		return false, nil
	}
	after, err := l.listAt(ctx, repository, tip)
	if err != nil {
		return false, err
	}
	before, lost := l.listAt(ctx, repository, told) // the commit may be gone
	l.mu.Lock()
	l.told[repository.Name()] = tip
	l.mu.Unlock()
	return lost != nil || !slices.EqualFunc(before.Skills, after.Skills, func(a, b Listed) bool {
		return a.Path == b.Path && a.tree == b.tree
	}), nil
}
