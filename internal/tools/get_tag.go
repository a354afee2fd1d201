package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

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
	if isAbsent(err) {
		same := v.sameRefs(name, tags)
		if len(same) != 1 {
			if len(same) == 0 {
				same = v.similar(name, tags)
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
	if isAbsent(err) {
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
