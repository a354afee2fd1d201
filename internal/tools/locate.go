package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/resources"
	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/dates"
	"github.com/repomcp/repomcp/internal/tools/glob"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// place names a repository.
type place struct{ repo, owner string }

func (a *place) define(p *arguments.List) {
	p.Text(&a.repo, "repo", "Full name.").Required = true
	p.Text(&a.owner, "owner", "First part of the full name, when repo has only the rest of it.").Hidden = true
}

// names returns the possible names, likeliest first. Some agents pass an owner beside a full name,
// or the name of the folder.
func (a place) names() []string {
	repo, owner := strings.Trim(unquoteName(a.repo), "/"), strings.Trim(unquoteName(a.owner), "/")
	var names []string
	if owner != "" {
		names = append(names, owner+"/"+repo)
	}
	if owner == "" || strings.HasPrefix(repo, owner+"/") {
		names = append(names, repo)
	}
	for _, name := range names {
		if bare, ok := strings.CutSuffix(name, ".git"); ok {
			names = append(names, bare)
		}
	}
	return names
}

// looseNames returns the possible names for the name of a repository elsewhere: an address, or a
// name with an owner that is unknown here.
func (a place) looseNames() []string {
	name := strings.Trim(unquoteName(a.repo), "/ ")
	if _, after, ok := strings.Cut(name, "://"); ok {
		name = after
	} else if _, after, ok := strings.Cut(name, "@"); ok { // git@example.com:owner/name.git
		name = strings.Replace(after, ":", "/", 1)
	}
	name, _, _ = strings.Cut(name, "?")
	if owner := strings.Trim(unquoteName(a.owner), "/ "); owner != "" {
		name = owner + "/" + name
	}
	parts := strings.Split(strings.TrimSuffix(strings.Trim(name, "/"), ".git"), "/")
	if len(parts) > maxNameParts || slices.ContainsFunc(parts, func(part string) bool {
		return strings.Trim(part, ".") == ""
	}) {
		return nil
	}
	var names []string
	for i := range parts {
		names = append(names, strings.Join(parts[i:], "/"))
	}
	return names
}

// maxNameParts bounds the names that are tried for an address.
const maxNameParts = 16

// find looks the repository up. It notes on r if the repository is called otherwise.
func (s *service) find(ctx context.Context, r *result, a place) (*repos.Repository, error) {
	names, view := a.names(), s.Catalogue.For(ctx)
	for _, name := range names {
		repository, err := view.Get(name)
		if !errors.Is(err, git.ErrNotFound) {
			return repository, err
		}
	}
	others := a.looseNames()
	if same := spelling.SamePaths(names[0], view.Names()); len(same) == 1 {
		others = append(others, same[0])
	}
	for _, name := range others {
		if repository, err := view.Known(name); err == nil {
			r.note("There is no repository %s; this is of %s.", quote(clip(names[0])), quote(name))
			return repository, nil
		}
	}
	return nil, noRepository(view, names[0])
}

func noRepository(view repos.View, name string) error {
	return say("There is no repository %s that you may read.%s Find names with search_repositories.",
		quote(clip(name)), didYouMean(spelling.Closest(clip(name), view.Names(), maxSuggested)))
}

// visit is a call that reads one repository, with its result.
type visit struct {
	*service
	*result
	repository *repos.Repository
	snapshot   *git.Snapshot
}

// name returns the full name of the repository.
func (v *visit) name() string { return v.repository.Name() }

// isPinned reports whether the answer never changes, because the arguments name objects by id only.
func (place) isPinned() bool { return false }

// visit opens a repository for run, and closes it. Repositories that do not exist and those that
// the caller may not read have the same answer.
func (s *service) visit(ctx context.Context, a target, run func(v *visit) error) (r *result, err error) {
	r = &result{}
	repository, err := s.find(ctx, r, a.repository())
	if err != nil {
		return nil, err
	}
	resources.AccountOf(ctx).Open(repository.Name())
	snapshot, err := repository.Snapshot()
	if errors.Is(err, git.ErrNotFound) {
		err = noRepository(s.Catalogue.For(ctx), repository.Name())
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	r.pinned = a.isPinned()
	stale := !r.pinned && s.Resources.Freshen(ctx, repository)
	err = run(&visit{s, r, repository, snapshot})
	if stale {
		r.meta = resources.StaleMeta(repository)
	}
	return r, err
}

// target is implemented by arguments that name a repository.
type target interface {
	repository() place
	isPinned() bool
}

// inRepository makes a tool from a function that reads one repository.
func inRepository[A target](
	run func(*visit, context.Context, A) error,
) func(*service, context.Context, A) (*result, error) {
	return func(s *service, ctx context.Context, a A) (*result, error) {
		return s.visit(ctx, a, func(v *visit) error { return run(v, ctx, a) })
	}
}

func (a place) repository() place { return a }

type revision struct {
	place
	ref, sha string
}

func (a *revision) define(p *arguments.List) {
	a.place.define(p)
	p.Text(&a.ref, "ref", "Branch, tag or commit; default branch if omitted.")
	p.Text(&a.sha, "sha", "Commit id, which is taken instead of ref.").Hidden = true
}

// isPinned implements target for tools that read one commit.
func (a revision) isPinned() bool {
	_, err := git.ParseID(cmp.Or(a.sha, a.ref))
	return err == nil
}

// commitName returns the commit's name, "" for the default branch.
func (a revision) commitName() string { return cmp.Or(a.sha, unquoteName(a.ref)) }

// commonDefaultBranches are names that agents assume for the default branch. Only exactly these
// names are replaced by the real one.
var commonDefaultBranches = []string{"main", "master"}

// found is a resolved commit with its names.
type found struct {
	git.Commit
	repository string
	ref        string // as requested, "" for the default branch
	resolved   string // the argument of Resolve, "" for the default branch
}

// String names the commit and its repository in a sentence.
func (f found) String() string {
	return fmt.Sprintf("%s at %s", f.repository, f.revision())
}

// revision names the commit in a sentence.
func (f found) revision() string {
	id := f.ID.String()
	if f.ref == "" || strings.HasPrefix(id, f.ref) {
		return id
	}
	return fmt.Sprintf("%s (%s)", quote(clip(f.ref)), id)
}

// commit finds the commit, and notes if another name was used than the requested one.
func (v *visit) commit(ctx context.Context, a revision) (f found, err error) {
	f = found{repository: v.name(), ref: a.commitName()}
	defer func() {
		if err == nil { // the result may contain its id
			resources.AccountOf(ctx).Find(f.ID.String())
			v.rememberTree(f.ID, "", f.Tree)
		}
	}()
	if f.ref == "" {
		f.Commit, err = v.snapshot.Resolve(ctx, "HEAD")
		return f, err
	}
	if branch, date, ok := cutDate(f.ref); ok {
		return v.commitAt(ctx, a, branch, date)
	}
	commit, err := v.snapshot.Resolve(ctx, f.ref)
	if err == nil {
		f.Commit, f.resolved = commit, f.ref
		v.noteHiddenBranch(f.ref)
		return f, nil
	}
	if !errors.Is(err, git.ErrNotFound) || errors.As(err, new(*git.KindError)) {
		return found{}, err
	}
	name, steps := cutSteps(f.ref)
	if _, err := v.snapshot.Resolve(ctx, name); err == nil && steps != "" {
		return found{}, say("%s is there, but %s leads to no commit from it: the history is shorter, or a commit "+
			"has fewer parents.", quote(clip(name)), quote(clip(steps)))
	}
	same := v.sameRefs(name, git.BranchPrefix, git.TagPrefix)
	if len(same) == 1 && !slices.Contains(commonDefaultBranches, f.ref) {
		return v.useSame(ctx, f, same[0], steps)
	}
	if slices.Contains(commonDefaultBranches, withoutRemote(f.ref)) {
		return v.useDefaultBranch(ctx, f)
	}
	err = v.noRevision(f.ref, same)
	if v.Resources.Freshen(ctx, v.repository) { // the commit may arrive
		err = say("%s %s", err, refreshed)
	}
	return found{}, err
}

// refreshed is the hint for a stale mirror.
const refreshed = "The mirror is older than it should be, and is being refreshed: try again in a minute."

// noRevision returns the error for a branch, tag or commit that does not exist, with similar names.
// same are names that say the same, if there are several.
func (v *visit) noRevision(ref string, same []string) error {
	short := ref
	for _, prefix := range []string{"refs/", "heads/", "tags/", "remotes/"} {
		short = strings.TrimPrefix(short, prefix)
	}
	if len(same) == 0 {
		same = v.similar(short, git.BranchPrefix, git.TagPrefix)
	}
	hint := didYouMean(same[:min(len(same), maxSuggested)])
	if hint == "" && commitDigits.MatchString(ref) {
		hint = " Only commits that a branch or tag leads to are served."
	}
	without := "the default branch"
	if branch, err := v.snapshot.DefaultBranch(); err == nil && branch != "" {
		without += " " + quote(branch)
	}
	return say("There is no branch, tag or commit %s in %s.%s See list_branches and list_tags; where none is given, "+
		"it is %s.", quote(clip(ref)), v.name(), hint, without)
}

// commitDigits matches an object id or its beginning.
var commitDigits = regexp.MustCompile(`^[0-9a-fA-F]{4,40}$`)

// similar returns the refs below some prefixes that a wrong name may mean.
func (v *visit) similar(name string, prefixes ...string) []string {
	return spelling.Closest(clip(name), v.shortNames(prefixes), maxSuggested)
}

// shortNames returns the names of branches and tags; on errors there are none, and nothing is suggested.
func (v *visit) shortNames(prefixes []string) (names []string) {
	refs, _ := v.snapshot.RefsBelow(prefixes...)
	for _, ref := range refs {
		names = append(names, shortName(ref))
	}
	return names
}

// useSame resolves a revision by another name of its branch or tag.
func (v *visit) useSame(ctx context.Context, f found, name, steps string) (found, error) {
	commit, err := v.snapshot.Resolve(ctx, name+steps)
	if err != nil {
		return found{}, err
	}
	v.note("There is no branch, tag or commit %s; this is of %s.", quote(clip(f.ref)), quote(clip(name+steps)))
	f.Commit, f.ref, f.resolved = commit, name+steps, name+steps
	return f, nil
}

// sameRefs returns the names of branches and tags that say the same as a name that does not exist,
// which may begin with the name of a clone's remote.
func (v *visit) sameRefs(name string, prefixes ...string) []string {
	if name = withoutRemote(name); strings.HasPrefix(name, "refs/") {
		return nil
	}
	return spelling.Same(name, path.Base(v.name()), v.shortNames(prefixes))
}

// withoutRemote returns the branch of a name that begins with that of a clone's remote, or the name.
func withoutRemote(name string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "remotes/")
	for _, remote := range []string{"origin/", "upstream/"} {
		if branch, ok := strings.CutPrefix(short, remote); ok {
			return branch
		}
	}
	return name
}

// dated matches a branch with a time, as in main@{2026-01-31}. A number or a name in the braces asks
// for what only a clone has.
var dated = regexp.MustCompile(`^([^@]*)@\{([^{}]*[^0-9{}][^{}]*)\}$`)

// cutDate divides a branch from a time, if there is one.
func cutDate(ref string) (branch string, date dates.Period, ok bool) {
	parts := dated.FindStringSubmatch(ref)
	if parts == nil {
		return "", date, false
	}
	date, ok = dates.Parse(parts[2], time.Now())
	return cmp.Or(parts[1], "HEAD"), date, ok
}

// commitAt finds the newest commit of a branch that was committed until a time. git asks the reflog
// of a clone instead, which mirrors do not have: only first parents are followed, because these are
// most likely the commits that the branch once was at.
func (v *visit) commitAt(ctx context.Context, of revision, branch string, date dates.Period) (found, error) {
	requested := of.commitName()
	of.ref, of.sha = branch, ""
	f, err := v.commit(ctx, of)
	if err != nil {
		return f, err
	}
	page, err := history.Log(ctx, v.snapshot, v.History, history.LogOptions{
		Start: f.ID, FirstParent: true, Until: date.Last, Limit: 1, MaxLooked: maxDatedCommits,
	})
	if err != nil {
		return f, err
	}
	if len(page.Commits) == 0 {
		return f, say("%s has no commit until %s, following first parents.", quote(clip(branch)),
			date.Last.Format(time.RFC3339))
	}
	id := page.Commits[0].ID
	v.note("%s is the newest commit of the first-parent history of %s until %s.", quote(clip(requested)),
		quote(clip(branch)), date.Last.Format(time.RFC3339))
	f.Commit, err = v.snapshot.Resolve(ctx, id.String())
	f.ref, f.resolved = requested, id.String()
	return f, err
}

// maxDatedCommits bounds the commits that a revision with a time passes: all of the largest
// histories' first parents.
const maxDatedCommits = 1_000_000

// cutSteps divides a revision into a name and the steps from there, such as ~3 and ^{commit}.
func cutSteps(ref string) (name, steps string) {
	if at := strings.IndexAny(ref, "~^"); at >= 0 {
		return ref[:at], ref[at:]
	}
	return ref, ""
}

func (v *visit) useDefaultBranch(ctx context.Context, f found) (found, error) {
	commit, err := v.snapshot.Resolve(ctx, "HEAD")
	if err != nil {
		return found{}, err
	}
	branch, err := v.snapshot.DefaultBranch()
	if err != nil {
		return found{}, err
	}
	instead := "the default branch " + quote(branch)
	if branch == "" {
		instead = "HEAD, which is no branch"
	}
	v.note("There is no branch %s; this is of %s.", quote(f.ref), instead)
	f.Commit, f.ref = commit, branch
	return f, nil
}

// noteHiddenBranch notes that a tag hides a branch of the same name.
func (v *visit) noteHiddenBranch(ref string) {
	if _, err := v.snapshot.Ref("refs/tags/" + ref); err != nil {
		return
	}
	if _, err := v.snapshot.Ref("refs/heads/" + ref); err == nil {
		v.note("%s is a tag and a branch; this is of the tag. For the branch give refs/heads/%s.", quote(ref),
			quote(ref))
	}
}

// unquoteName returns the name that a listing shows in quotes; other names are returned unchanged.
func unquoteName(argument string) string {
	if name, ok := unquote(argument); ok {
		return name
	}
	return argument
}

// treePath parses the path of a file or folder as people and listings write it: with slashes around
// it, as "." or in quotes.
func treePath(argument string) (string, error) {
	name, ok := unquote(argument)
	if !ok {
		return "", say("The argument path begins with a double quote but is no quoted name as listings have it. Copy " +
			"it from there.")
	}
	name = strings.Trim(strings.TrimPrefix(name, "./"), "/")
	if name == "." {
		return "", nil
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", say("The argument path has the part \"..\". Give the path from the root of the repository.")
	}
	return name, nil
}

// namedRepositories returns the repositories that a query names, each by its full name. A single one becomes
// the argument repo, so that all is understood there that is understood here.
func (s *service) namedRepositories(ctx context.Context, r *result, a *codeArguments, names []string,
) ([]string, error) {
	view := s.Catalogue.For(ctx)
	full := make([]string, len(names))
	for i, name := range names {
		if strings.ContainsAny(name, glob.Signs) {
			full[i] = name
			if owner, ok := strings.CutSuffix(name, "/*"); ok && !strings.ContainsAny(owner, glob.Signs) {
				if err := haveOwner(view, owner); err != nil {
					return nil, err
				}
			}
			continue
		}
		if len(names) == 1 {
			a.repo = name
			return nil, nil
		}
		repository, err := s.find(ctx, r, place{repo: name})
		if err != nil {
			return nil, err
		}
		full[i] = repository.Name()
	}
	return full, nil
}

// haveOwner returns an error if no repository is below a folder.
func haveOwner(view repos.View, owner string) error {
	var owners []string
	for _, name := range view.Names() {
		if len(name) > len(owner) && strings.EqualFold(name[:len(owner)+1], owner+"/") {
			return nil
		}
		if folder, _, ok := strings.Cut(name, "/"); ok && !slices.Contains(owners, folder) {
			owners = append(owners, folder)
		}
	}
	return say("There is no repository below %s/ that you may read.%s Find names with search_repositories.",
		quote(clip(owner)), didYouMean(spelling.Closest(clip(owner), owners, maxSuggested)))
}

// literal escapes the special characters of globs.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// notSearched returns the error for a repository of the query that does not exist, or for a ref
// that no repository has.
func (s *service) notSearched(ctx context.Context, request search.Request) error {
	view := s.Catalogue.For(ctx)
	known := view.Names()
	for _, name := range request.Query.Repositories.Any {
		if !strings.ContainsAny(name, glob.Signs) && !slices.ContainsFunc(known, func(k string) bool {
			return strings.EqualFold(k, name)
		}) {
			return noRepository(view, name)
		}
	}
	return say("No repository that is searched has the branch, tag or commit %s. Without ref it is the default "+
		"branch of each.", quote(clip(request.Ref)))
}
