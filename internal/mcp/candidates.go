package mcp

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/archive"
	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/patch"
	"github.com/repomcp/repomcp/internal/repos"
)

// source finds the candidates for a variable.
type source func(ctx context.Context, q question) (answer, error)

// sources are the variables of the templates and the arguments of the prompts.
func (c completions) sources() map[string]source {
	return map[string]source{
		"repo":       c.repositories,
		"branch":     c.named(branchesOf),
		"tag":        c.named(tagsOf),
		"ref":        c.revisions,
		"base":       c.revisions,
		"head":       c.revisions,
		"sha":        c.shortIDs,
		"path":       c.paths,
		"exclude":    c.paths,
		"strip":      c.folders,
		"prefix":     prefixes,
		"query":      c.queries,
		"format":     fixed(archive.FormatNames()...),
		"form":       fixed(string(patch.Diff), string(patch.Mails)),
		"profile":    fixed(archive.Choices("profile")...),
		"delta":      fixed(archive.Choices("delta")...),
		"fallback":   fixed(archive.FallbackFull),
		"lfs":        fixed(archive.Choices("lfs")...),
		"submodules": fixed(archive.Choices("submodules")...),
		"objects":    fixed(archive.Choices("objects")...),
		"depth":      fixed("1"),
		"refname":    c.named(refNamesOf),
		"origin":     fixed(archive.OriginNone),
		"pushurl":    fixed(),
	}
}

func fixed(values ...string) source {
	return func(context.Context, question) (answer, error) { return answer{values: values}, nil }
}

func (c completions) repositories(context.Context, question) (answer, error) {
	return answer{values: c.view.Names()}, nil
}

// tipsOf returns the repository that was filled in before, and its refs.
func (c completions) tipsOf(q question) (*repos.Repository, *git.Tips, error) {
	repository, err := c.view.Known(q.known["repo"])
	if err != nil {
		return nil, nil, err
	}
	tips, err := repository.Tips()
	return repository, tips, err
}

// named returns a source of names of refs.
func (c completions) named(of func(*git.Tips) []string) source {
	return func(_ context.Context, q question) (answer, error) {
		_, tips, err := c.tipsOf(q)
		if err != nil {
			return answer{}, err
		}
		return answer{values: of(tips)}, nil
	}
}

// branchesOf returns the branches of a repository by their short names, the default branch first.
func branchesOf(tips *git.Tips) []string {
	names := namesBelow(tips, "refs/heads/")
	if at := slices.Index(names, tips.DefaultBranch()); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, tips.DefaultBranch())
	}
	return names
}

func tagsOf(tips *git.Tips) []string { return namesBelow(tips, "refs/tags/") }

// refNamesOf returns the branches and tags of a repository by their full names.
func refNamesOf(tips *git.Tips) []string {
	return slices.DeleteFunc(slices.Clone(tips.Names), func(name string) bool {
		return !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/tags/")
	})
}

func namesBelow(tips *git.Tips, prefix string) []string {
	var names []string
	for _, name := range tips.Names {
		if short, ok := strings.CutPrefix(name, prefix); ok {
			names = append(names, short)
		}
	}
	return names
}

// revisions completes everything that an archive can be made of: HEAD, branches, tags, and commit
// ids once their beginning is typed. A branch with the name of a tag is given in full, since the
// short name means the tag.
func (c completions) revisions(ctx context.Context, q question) (answer, error) {
	_, tips, err := c.tipsOf(q)
	if err != nil {
		return answer{}, err
	}
	if strings.HasPrefix(q.typed, "refs/") {
		full := slices.DeleteFunc(slices.Clone(tips.Names), func(name string) bool {
			return !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/tags/")
		})
		return answer{values: full}, nil
	}
	values := []string{"HEAD"}
	for _, branch := range branchesOf(tips) {
		if _, taken := tips.ID("refs/tags/" + branch); taken {
			branch = "refs/heads/" + branch
		}
		values = append(values, branch)
	}
	found := answer{values: rank(append(values, tagsOf(tips)...), q.typed), ranked: true}
	if isHexPrefix(q.typed) {
		ids, err := c.shortIDs(ctx, q)
		if err != nil {
			return found, nil // the names are known nevertheless
		}
		found.values, found.cut = append(found.values, ids.values...), ids.cut
	}
	return found, nil
}

// paths completes folder by folder. A folder's name ends in a slash, so the next completion lists
// its contents.
func (c completions) paths(ctx context.Context, q question) (answer, error) {
	return c.entries(ctx, q, func(entry git.TreeEntry) bool {
		return !q.archive || !strings.ContainsAny(entry.Name, `*?[\`) && entry.Name[0] != ':' // would be a pattern
	})
}

func (c completions) folders(ctx context.Context, q question) (answer, error) {
	return c.entries(ctx, q, func(entry git.TreeEntry) bool { return entry.Mode.IsDir() })
}

// revisionOf returns the revision of the requested path, from the variables that were filled in.
func revisionOf(known map[string]string) string {
	for _, variable := range []struct{ name, prefix string }{
		{"branch", "refs/heads/"}, {"tag", "refs/tags/"}, {"sha", ""}, {"ref", ""}, {"head", ""},
	} {
		if value := known[variable.name]; value != "" {
			return variable.prefix + value
		}
	}
	return "HEAD"
}

// entries returns the entries of the folder that is already typed.
func (c completions) entries(
	ctx context.Context, q question, wanted func(git.TreeEntry) bool,
) (found answer, err error) {
	repository, err := c.view.Known(q.known["repo"])
	if err != nil {
		return answer{}, err
	}
	snapshot, err := repository.Snapshot()
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = snapshot.Close() }() // it was only read
	commit, err := snapshot.Resolve(ctx, revisionOf(q.known))
	if err != nil {
		return answer{}, err
	}
	folder, last := path.Split(q.typed)
	entry, err := snapshot.Lookup(commit.Tree, strings.TrimSuffix(folder, "/"))
	if err != nil {
		return answer{}, err
	}
	list, err := snapshot.Tree(entry.ID)
	if err != nil {
		return answer{}, err
	}
	var names []string
	for _, entry := range list {
		name := entry.Name
		if entry.Mode.IsDir() {
			name += "/"
		}
		if wanted(entry) {
			names = append(names, name)
		}
	}
	return completeLast(folder, last, names), nil
}

// completeLast completes the last part of the typed string with one of the words.
func completeLast(head, last string, words []string) answer {
	found := answer{ranked: true}
	if presentable(head) {
		for _, word := range rank(words, last) {
			found.values = append(found.values, head+word)
		}
	}
	return found
}

// prefixes suggests folders for an archive's content.
func prefixes(_ context.Context, q question) (answer, error) {
	if q.known["repo"] == "" {
		return answer{}, nil
	}
	base := path.Base(q.known["repo"])
	values := []string{base + "/"}
	if ref := q.known["ref"]; ref != "" {
		ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
		values = append(values, base+"-"+strings.ReplaceAll(ref, "/", "-")+"/")
	}
	return answer{values: values}, nil
}

// qualifiers are those of search_code.
var qualifiers = []string{"repo:", "path:", "filename:", "extension:", "language:", "symbol:"}

// queries completes the last word of a search: its qualifier, or the repository after repo:.
func (c completions) queries(_ context.Context, q question) (answer, error) {
	at := strings.LastIndexByte(q.typed, ' ') + 1
	head, word := q.typed[:at], q.typed[at:]
	if negated, ok := strings.CutPrefix(word, "-"); ok {
		head, word = head+"-", negated
	}
	words := qualifiers
	if name, ok := strings.CutPrefix(word, "repo:"); ok {
		head, word, words = head+"repo:", name, c.view.Names()
	}
	return completeLast(head, word, words), nil
}
