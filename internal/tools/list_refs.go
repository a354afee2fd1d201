package tools

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/internal/repos"
)

type refsArguments struct {
	place
	paging
}

func (a *refsArguments) define(p *parameters) {
	a.place.define(p)
	a.paging.define(p, 30, 100)
}

// refList is the data of list_branches and list_tags.
type refList struct {
	Repository    string    `json:"repository"`
	DefaultBranch string    `json:"defaultBranch,omitempty"`
	Refs          []refData `json:"refs"`
	pages
	remarks
}

type refData struct {
	Name string `json:"name" jsonschema:"Short name, the argument ref of the other tools"`
	SHA  string `json:"sha,omitempty" jsonschema:"Commit; absent when it leads to none"`
	// An annotated tag is an object, and a tag can be of a file or a folder.
	Target string `json:"target,omitempty" jsonschema:"Object that an annotated tag is, or that is tagged instead of a commit"`
}

func (d refData) line() string {
	l := d.Name
	if d.SHA != "" {
		l += " " + d.SHA
	}
	if d.Target != "" {
		l += " (object " + d.Target + ")"
	}
	return l
}

// named is a ref with its short name.
type named struct {
	repos.Ref
	short string
}

func branches(refs []repos.Ref) []named { return shortened(refs, repos.Ref.Branch) }

func tags(refs []repos.Ref) []named { return shortened(refs, repos.Ref.Tag) }

func shortened(refs []repos.Ref, short func(repos.Ref) string) []named {
	var list []named
	for _, ref := range refs {
		if name := short(ref); name != "" {
			list = append(list, named{ref, name})
		}
	}
	return list
}

func (s *service) listBranches(ctx context.Context, a refsArguments) (*result, error) {
	return s.listRefs(ctx, a, "branches", branches)
}

func (s *service) listTags(ctx context.Context, a refsArguments) (*result, error) {
	return s.listRefs(ctx, a, "tags", tags)
}

func (s *service) listRefs(ctx context.Context, a refsArguments, kind string, choose func([]repos.Ref) []named) (_ *result, err error) {
	snapshot, err := s.open(a.place)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	all, err := snapshot.Refs()
	if err != nil {
		return nil, err
	}
	branch, err := snapshot.DefaultBranch()
	if err != nil {
		return nil, err
	}
	refs := choose(all)
	start, end, err := a.window(len(refs))
	if err != nil {
		return nil, err
	}
	name := snapshot.Repository().Name()
	data, r := &refList{Repository: quote(name)}, &result{}
	if len(refs) == 0 {
		r.note("%s has no %s.", quote(name), kind)
	}
	var items []item[refData]
	for _, ref := range refs[start:end] {
		shown := refData{Name: quote(ref.short)}
		if !ref.Commit.IsZero() {
			shown.SHA = ref.Commit.String()
		}
		if ref.Target != ref.Commit {
			shown.Target = ref.Target.String()
		}
		items = append(items, item[refData]{shown.line(), shown})
	}
	data.Refs, data.pages = list(r, a.paging, len(refs), items)
	if branch != "" && kind == "branches" {
		data.DefaultBranch = quote(branch)
		r.note("The default branch is %s.", data.DefaultBranch)
	}
	r.data = data
	return r, s.pointRefs(ctx, r, name, data.pages, len(data.Refs))
}
