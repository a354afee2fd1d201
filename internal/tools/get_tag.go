package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/history"
	"github.com/repomcp/repomcp/internal/repos"
)

// maxSignatureBytes is how much of a signature is shown; most have below 1,000.
const maxSignatureBytes = 4 << 10

type tagArguments struct {
	place
	tag string
}

func (a *tagArguments) define(p *parameters) {
	a.place.define(p)
	p.text(&a.tag, "tag", "Name of the tag.").require()
}

func (s *service) getTag(_ context.Context, a tagArguments) (_ *result, err error) {
	snapshot, err := s.open(a.place)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	name := strings.TrimPrefix(strings.TrimPrefix(asListed(a.tag), "refs/"), "tags/")
	shown, repository := quote(clip(name)), quote(snapshot.Repository().Name())
	ref, err := snapshot.Ref("refs/tags/" + name)
	if errors.Is(err, repos.ErrNotFound) && !errors.Is(err, repos.ErrCorrupt) {
		return nil, say("There is no tag %s in %s. Find tags with list_tags and query.", shown, repository)
	}
	if err != nil {
		return nil, err
	}
	r := &result{}
	if ref.Target == ref.Commit {
		return r, lightweight(r, snapshot, ref.Commit, shown, repository)
	}
	tag, err := history.ReadTag(snapshot, ref.Target)
	if errors.Is(err, repos.ErrNotFound) && !errors.Is(err, repos.ErrCorrupt) {
		r.note("%s of %s is a lightweight tag of %s, which is no commit.", shown, repository, ref.Target)
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.content, r.hasContent = tagText(r, &tag), true
	r.note("%s of %s is an annotated tag.", shown, repository)
	switch {
	case ref.Commit.IsZero():
		r.note("It leads to no commit.")
		if tag.Kind == "tree" {
			r.note("It is of a folder, of which get_archive_link has the archive.")
		}
	case tag.Target != ref.Commit:
		r.note("It leads to the commit %s.", ref.Commit)
	}
	if tag.Signature == "" {
		r.note("It is not signed.")
	} else {
		r.note("It is signed; the signature was not verified.")
	}
	return r, nil
}

// lightweight is a tag that is a name and nothing else.
func lightweight(r *result, snapshot *repos.Snapshot, id repos.ID, name, repository string) error {
	commit, err := history.ReadCommit(snapshot, id)
	if err != nil {
		return err
	}
	i := commitLine(&commit, "")
	r.content, r.hasContent = i.line+"\n", true
	r.note("%s of %s is a lightweight tag: a name of the commit %s, without tagger, message and signature.", name,
		repository, id)
	return nil
}

// tagText is a tag as commitText is a commit.
func tagText(r *result, t *history.Tag) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tag %s\nobject %s (%s)\nname %s\n", t.ID, t.Target, line(t.Kind), quote(t.Name))
	if t.Tagger != (history.Person{}) {
		fmt.Fprintf(&b, "Tagger: %s\nTaggerDate: %s\n", signature(t.Tagger), stamp(t.Tagger))
	}
	b.WriteString("\n")
	b.WriteString(indented(r, "message", t.Message, maxMessageBytes))
	if t.Signature != "" {
		b.WriteString("\n" + indented(r, "signature", t.Signature, maxSignatureBytes))
	}
	return b.String()
}
