package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/tools/arguments"
	"github.com/repomcp/repomcp/internal/tools/glob"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// Sort orders of branches and tags.
const (
	sortDate, sortVersion, sortName = "date", "version", "name"
)

type refsArguments struct {
	place
	query, sort, contains string
	paging
}

func (a *refsArguments) define(p *arguments.List) {
	a.place.define(p)
	a.sort = sortDate
	p.Text(&a.query, "query", "Part of the name, or a glob such as v2.4*.")
	p.Choice(&a.sort, "sort", "date and version: newest first.", sortDate, sortVersion, sortName)
	p.Text(&a.contains, "contains", "Only those that lead to this commit.")
	a.paging.define(p, 30, 100)
}

// refList is the data of list_branches and list_tags.
type refList struct {
	Repository    string    `json:"repository"`
	DefaultBranch string    `json:"defaultBranch,omitempty"`
	FirstRelease  string    `json:"firstRelease,omitempty" jsonschema:"With contains, the oldest tag that is no pre-release"`
	FirstTag      string    `json:"firstTag,omitempty" jsonschema:"With contains, the oldest tag"`
	Refs          []refData `json:"refs"`
	pages
	remarks
}

type refData struct {
	Name string `json:"name" jsonschema:"Short name, the argument ref of the other tools"`
	SHA  string `json:"sha,omitempty" jsonschema:"Commit; absent when it leads to none"`
	// An annotated tag is an object, and a tag can point to a file or a folder.
	Target  string `json:"target,omitempty" jsonschema:"Object that an annotated tag is, or that is tagged instead of a commit"`
	Date    string `json:"date,omitempty" jsonschema:"When it was tagged, or the commit was made"`
	Subject string `json:"subject,omitempty" jsonschema:"Of the annotated tag, or of the commit"`
	Damaged bool   `json:"damaged,omitempty" jsonschema:"It is there, but what it leads to cannot be read"`
}

func (d refData) line() string {
	start := func(id string) string { return id[:min(len(id), shownID)] }
	line := d.Name
	for _, part := range []struct{ before, text, after string }{
		{" ", start(d.SHA), ""}, {" (object ", start(d.Target), ")"}, {" ", d.Date, ""}, {" ", untabbed(d.Subject), ""},
	} {
		if part.text != "" {
			line += part.before + part.text + part.after
		}
	}
	if d.Damaged {
		line += " unreadable"
	}
	return line
}

// shortName returns the name without refs/heads/ or refs/tags/.
func shortName(ref git.Ref) string { return cmp.Or(ref.Branch(), ref.Tag()) }

func (v *visit) listBranches(ctx context.Context, a refsArguments) error {
	return v.listRefs(ctx, a, "branches", git.BranchPrefix)
}

func (v *visit) listTags(ctx context.Context, a refsArguments) error {
	return v.listRefs(ctx, a, "tags", git.TagPrefix)
}

func (v *visit) listRefs(ctx context.Context, a refsArguments, kind, prefix string) error {
	refs, err := v.snapshot.RefsBelow(prefix)
	if err != nil {
		return err
	}
	branch, err := v.snapshot.DefaultBranch()
	if errors.Is(err, git.ErrCorrupt) {
		v.note("HEAD is unreadable, so that the default branch is not known.")
	} else if err != nil {
		return err
	}
	name := v.name()
	if count := len(refs); count == 0 {
		v.note("%s has no %s.", quote(name), kind)
	} else {
		if refs, err = v.selectRefs(ctx, a, refs); err != nil {
			return err
		}
		if len(refs) == 0 {
			v.note("None of the %d %s of %s fits. Leave out query or contains to see them.", count, kind, quote(name))
		}
	}
	w, err := a.window(len(refs), func(i int) string { return refs[i].Name })
	if err != nil {
		return err
	}
	var items []item[refData]
	for _, ref := range refs[w.start:w.end] {
		shown, err := v.describeRef(ref)
		if err != nil {
			return err
		}
		items = append(items, item[refData]{shown.line(), shown})
	}
	data := &refList{Repository: quote(name)}
	v.data = data
	if a.contains != "" && kind == "tags" && w.start == 0 {
		if err := v.addFirst(ctx, data, refs); err != nil {
			return err
		}
	}
	if branch != "" && kind == "branches" {
		data.DefaultBranch = quote(branch)
		v.note("The default branch is %s.", quote(clip(branch)))
	}
	if a.sort == sortVersion && kind == "tags" && w.start == 0 {
		v.noteNewest(refs)
	}
	data.Refs, data.pages = list(v.result, w, items)
	return v.pointAll(ctx, v.result, w, len(data.Refs), "All branches and tags are in %s.", refsOf(name))
}

// noteNewest notes the release with the highest number if a list by version does not begin with it, because other tags
// have words before their numbers.
func (v *visit) noteNewest(refs []git.Ref) {
	var names []string
	for _, ref := range refs {
		names = append(names, shortName(ref))
	}
	newest := spelling.NewestRelease(names, path.Base(v.name()))
	if newest != "" && newest != names[0] {
		v.note("The release with the highest number is %s.", quote(clip(newest)))
	}
}

// selectRefs returns the requested refs in order.
func (v *visit) selectRefs(ctx context.Context, a refsArguments, refs []git.Ref) ([]git.Ref, error) {
	fits, err := refQuery(unquoteName(a.query))
	if err != nil {
		return nil, err
	}
	refs = slices.DeleteFunc(refs, func(ref git.Ref) bool { return !fits(shortName(ref)) })
	if a.contains != "" {
		if refs, err = v.containing(ctx, a.contains, refs); err != nil {
			return nil, err
		}
	}
	switch a.sort {
	case sortVersion:
		slices.SortStableFunc(refs, func(x, y git.Ref) int {
			return spelling.CompareVersions(shortName(y), shortName(x))
		})
	case sortDate:
		if err := v.sortByDate(ctx, refs); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// refQuery parses the argument query: a part of the name in any case, or a pattern as in `git tag
// --list`, in which * matches slashes as well.
func refQuery(query string) (fits func(name string) bool, err error) {
	if !strings.ContainsAny(query, glob.Signs) {
		part := strings.ToLower(query)
		return func(name string) bool { return strings.Contains(strings.ToLower(name), part) }, nil
	}
	g, err := glob.Name(query)
	return g.Match, err
}

// containing returns the refs that reach a commit.
func (v *visit) containing(ctx context.Context, commit string, refs []git.Ref) ([]git.Ref, error) {
	target, err := v.commit(ctx, revision{ref: commit})
	if err != nil {
		return nil, err
	}
	tips := make([]git.ID, len(refs))
	for i, ref := range refs {
		tips[i] = ref.Commit
	}
	leads, err := history.Containing(ctx, v.snapshot, v.History, target.ID, tips)
	if err != nil {
		return nil, err
	}
	var found []git.Ref
	damaged := 0
	for i, ref := range refs {
		switch {
		case leads[i]:
			found = append(found, ref)
		case ref.Damage != nil:
			damaged++
		}
	}
	v.note("These lead to %s.", target.revision())
	if damaged > 0 {
		v.note("Left out: %d that cannot be read, so that it is not known what they lead to.", damaged)
	}
	return found, nil
}

// sortByDate sorts by date, newest first, then by name.
func (v *visit) sortByDate(ctx context.Context, refs []git.Ref) error {
	dates, err := history.RefDates(ctx, v.snapshot, v.History, refs)
	if err != nil {
		return err
	}
	of := make(map[string]uint64, len(refs))
	for i, ref := range refs {
		of[ref.Name] = dates[i]
	}
	slices.SortStableFunc(refs, func(x, y git.Ref) int { return cmp.Compare(of[y.Name], of[x.Name]) })
	return nil
}

// addFirst puts the answer to contains before a list of tags: the first release and the first tag.
func (v *visit) addFirst(ctx context.Context, data *refList, refs []git.Ref) error {
	byAge, err := v.sortByAge(ctx, refs)
	if err != nil || len(byAge) == 0 {
		return err
	}
	data.FirstTag = quote(byAge[0].Tag())
	release := "none"
	at := slices.IndexFunc(byAge, func(ref git.Ref) bool { return spelling.IsRelease(ref.Tag()) })
	if at >= 0 {
		data.FirstRelease = quote(byAge[at].Tag())
		release = data.FirstRelease
	}
	v.content = "first release: " + release + ", first tag: " + data.FirstTag + "\n"
	return nil
}

// sortByAge returns tags oldest first, and in the order of their versions if they have the same
// date. A tag without a date, as old versions of git made, has that of its commit.
func (v *visit) sortByAge(ctx context.Context, refs []git.Ref) ([]git.Ref, error) {
	dates, err := history.RefDates(ctx, v.snapshot, v.History, refs)
	if err != nil {
		return nil, err
	}
	commits := make([]git.Ref, len(refs))
	for i, ref := range refs {
		commits[i] = git.Ref{Target: ref.Commit, Commit: ref.Commit}
	}
	commitDates, err := history.RefDates(ctx, v.snapshot, v.History, commits)
	if err != nil {
		return nil, err
	}
	of := make(map[string]uint64, len(refs))
	for i, ref := range refs {
		of[ref.Name] = cmp.Or(dates[i], commitDates[i])
	}
	sorted := slices.Clone(refs)
	slices.SortFunc(sorted, func(x, y git.Ref) int {
		return cmp.Or(cmp.Compare(of[x.Name], of[y.Name]), spelling.CompareVersions(x.Tag(), y.Tag()))
	})
	return sorted, nil
}

// describeRef reads the data of a ref, and marks an unreadable one.
func (v *visit) describeRef(ref git.Ref) (refData, error) {
	d := refData{Name: quote(shortName(ref))}
	if !ref.Commit.IsZero() {
		d.SHA = ref.Commit.String()
	}
	var err error
	switch {
	case ref.Damage != nil:
		if d.Damaged = true; !ref.Target.IsZero() {
			d.Target = ref.Target.String()
		}
	case ref.Target != ref.Commit:
		d.Target = ref.Target.String()
		var tag history.Tag
		if tag, err = history.ReadTag(v.snapshot, ref.Target); err == nil && tag.Tagger.Zone != "" {
			d.Date = timestamp(tag.Tagger)
		}
		d.Subject = clean(tag.Subject())
		if git.IsAbsent(err) {
			err = nil // a file or a folder has neither date nor subject
		}
	case !ref.Commit.IsZero():
		var commit history.Commit
		if commit, err = history.ReadCommit(v.snapshot, ref.Commit); err == nil {
			d.Date, d.Subject = timestamp(commit.Committer), clean(commit.Subject())
		}
	}
	if errors.Is(err, git.ErrCorrupt) {
		d.Damaged, err = true, nil
	}
	return d, err
}

// shownID is the number of digits of abbreviated ids: enough to be unambiguous within a repository,
// and a third of a full id's length. Data has full ids.
const shownID = 12

// maxSignatureBytes bounds the shown part of a signature; most are below 1,000 bytes.
const maxSignatureBytes = 4 << 10

type tagArguments struct {
	place
	tag string
}

func (a *tagArguments) define(p *arguments.List) {
	a.place.define(p)
	p.Text(&a.tag, "tag", "Name of the tag.").Required = true
}

func (v *visit) getTag(_ context.Context, a tagArguments) error {
	name := strings.TrimPrefix(strings.TrimPrefix(unquoteName(a.tag), "refs/"), "tags/")
	shown, repository := quote(clip(name)), quote(v.name())
	ref, err := v.snapshot.Ref("refs/tags/" + name)
	if git.IsAbsent(err) {
		same := v.sameRefs(name, git.TagPrefix)
		if len(same) != 1 {
			if len(same) == 0 {
				same = v.similar(name, git.TagPrefix)
			}
			return say("There is no tag %s in %s.%s Find tags with list_tags and query.", shown, repository,
				didYouMean(same[:min(len(same), maxSuggested)]))
		}
		v.note("There is no tag %s; this is %s.", shown, quote(clip(same[0])))
		shown = quote(clip(same[0]))
		ref, err = v.snapshot.Ref("refs/tags/" + same[0])
	}
	if err != nil {
		return err
	}
	if ref.Target == ref.Commit {
		commit, err := history.ReadCommit(v.snapshot, ref.Commit)
		if err != nil {
			return err
		}
		v.content = commitLine(&commit, "", "").line + "\n"
		v.note("%s of %s is a lightweight tag: a name of the commit %s, without tagger, message and signature.", shown,
			repository, ref.Commit)
		return nil
	}
	tag, err := history.ReadTag(v.snapshot, ref.Target)
	if git.IsAbsent(err) {
		v.note("%s of %s is a lightweight tag of %s, which is no commit.", shown, repository, ref.Target)
		return nil
	}
	if err != nil {
		return err
	}
	v.content = tagText(v.result, &tag)
	v.note("%s of %s is an annotated tag.", shown, repository)
	switch {
	case ref.Commit.IsZero():
		v.note("It leads to no commit.")
		if tag.Kind == "tree" {
			v.note("It is of a folder, of which get_archive_link has the archive.")
		}
	case tag.Target != ref.Commit:
		v.note("It leads to the commit %s.", ref.Commit)
	}
	if tag.Signature == "" {
		v.note("It is not signed.")
	} else {
		v.note("It is signed; the signature was not verified.")
	}
	return nil
}

// tagText is commitText for tags.
func tagText(r *result, t *history.Tag) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tag %s\nobject %s (%s)\nname %s\n", t.ID, t.Target, line(t.Kind), quote(t.Name))
	if t.Tagger != (history.Person{}) {
		fmt.Fprintf(&b, "Tagger: %s\nTaggerDate: %s\n", personLine(t.Tagger), timestamp(t.Tagger))
	}
	b.WriteString("\n")
	b.WriteString(indentedPart(r, "message", t.Message, maxMessageBytes))
	if t.Signature != "" {
		b.WriteString("\n" + indentedPart(r, "signature", t.Signature, maxSignatureBytes))
	}
	return b.String()
}
