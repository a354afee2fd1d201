package skills

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

const (
	// rootPattern is the pattern of the root of a repository.
	rootPattern = "."
	// maxFolders bounds the folders of a commit that are looked at for skills.
	maxFolders = 10_000
	// maxListed bounds the skills of one repository: resources/list has all of them on one page.
	maxListed = 1000
)

// DefaultPatterns are the folders where skills are looked for unless the operator names others: those
// of the Agent Skills specification's examples, of Claude Code, of agents that share a folder, and a
// repository that is one skill.
func DefaultPatterns() []string {
	return []string{"skills/*", ".claude/skills/*", ".agents/skills/*", rootPattern}
}

// checkPattern refuses a pattern that no folder matches.
func checkPattern(pattern string) error {
	if pattern == rootPattern {
		return nil
	}
	if pattern == "" || pattern != path.Clean(pattern) || strings.HasPrefix(pattern, "/") ||
		strings.HasPrefix(pattern, "..") {
		return fmt.Errorf("%q is no pattern of folders: write a path below the root of repositories, such as skills/* "+
			"or skills/**, or . for the root itself", pattern)
	}
	return nil
}

// matches reports whether a folder can be a listed skill.
func (l *Library) matches(folder string) bool {
	return slices.ContainsFunc(l.options.Patterns, func(pattern string) bool {
		if pattern == rootPattern || folder == "" {
			return pattern == rootPattern && folder == ""
		}
		return wildmatch.Match(pattern, []byte(folder), wildmatch.PathName)
	})
}

// leads reports whether a folder below the given one can match a pattern.
func (l *Library) leads(folder string) bool {
	return slices.ContainsFunc(l.options.Patterns, func(pattern string) bool {
		if pattern == rootPattern {
			return false
		}
		names := strings.Split(folder, "/")
		if folder == "" {
			names = nil
		}
		parts := strings.Split(pattern, "/")
		for i, name := range names {
			switch {
			case i == len(parts):
				return false
			case parts[i] == "**":
				return true
			case !wildmatch.Match(parts[i], []byte(name), wildmatch.PathName):
				return false
			}
		}
		return len(parts) > len(names)
	})
}

// finder looks for the skills of one commit.
type finder struct {
	library  *Library
	snapshot *git.Snapshot
	// root is the name that a skill at the root of the repository has.
	root    string
	folders int
	full    bool // a bound was reached
	listing *Listing
	// unsettled says that a refusal may not last: it is about a mirror and not about a skill.
	unsettled bool
}

func (f *finder) refuse(folder, reason string) {
	f.listing.Refused = append(f.listing.Refused, Refusal{folder, reason})
}

// end refuses a folder at a bound, and all that follow it.
func (f *finder) end(folder, reason string) {
	f.full = true
	f.refuse(folder, reason)
}

// find looks at a folder and at those below it.
func (f *finder) find(ctx context.Context, tree git.ID, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.folders++; f.folders > maxFolders {
		f.end(folder, fmt.Sprintf("the patterns of --skills lead to more than %d folders of it", maxFolders))
		return nil
	}
	entries, err := f.snapshot.Tree(tree)
	if err != nil {
		return err
	}
	if f.library.matches(folder) {
		if err := f.add(ctx, tree, entries, folder); err != nil {
			return err
		}
	}
	if !f.library.leads(folder) {
		return nil
	}
	for _, entry := range entries {
		below := path.Join(folder, entry.Name)
		if f.full {
			break
		}
		if !entry.Mode.IsDir() || !isPlain(entry.Name) || !f.library.matches(below) && !f.library.leads(below) {
			continue
		}
		if err := f.find(ctx, entry.ID, below); err != nil {
			return err
		}
	}
	return nil
}

// add adds a folder with a SKILL.md to the listing, as a skill or as a refusal.
func (f *finder) add(ctx context.Context, tree git.ID, entries []git.TreeEntry, folder string) error {
	if !slices.ContainsFunc(entries, func(e git.TreeEntry) bool { return e.Name == FileName }) {
		return nil
	}
	if len(f.listing.Skills) == maxListed {
		f.end(folder, fmt.Sprintf("the repository has more than %d skills", maxListed))
		return nil
	}
	name := path.Base(folder)
	if folder == "" {
		name = f.root
	}
	skill, err := f.library.read(ctx, f.snapshot, tree, name)
	refused := (*RefusedError)(nil)
	switch {
	case errors.As(err, &refused):
		f.refuse(folder, refused.Reason)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		f.unsettled = true
		f.refuse(folder, "its files cannot be read: "+err.Error())
	default:
		f.listing.Skills = append(f.listing.Skills, Listed{skill, folder, tree})
	}
	return nil
}

// isPlain reports whether a name of a tree can be a segment of a URI. Damaged and hostile trees have
// others.
func isPlain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}
