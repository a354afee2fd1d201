package tools

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/tools/arguments"
)

const (
	// maxMessageBytes bounds the message: more than people write, and half of a result.
	maxMessageBytes = 16 << 10
	// maxShownParents exceeds what git's own merges have.
	maxShownParents = 64
)

type commitArguments struct {
	revision
	mailmap bool
	changeView
}

func (a *commitArguments) define(p *arguments.List) {
	a.revision.define(p)
	a.changeView.define(p, detailStats)
	defineMailmap(p, &a.mailmap)
}

func (v *visit) getCommit(ctx context.Context, a commitArguments) error {
	at, err := v.commit(ctx, a.pinned(0, a.revision))
	if err != nil {
		return err
	}
	a.pin(at.ID)
	names, err := v.people(a.mailmap)
	if err != nil {
		return err
	}
	page, err := history.Log(ctx, v.snapshot, v.History, history.LogOptions{Start: at.ID, Limit: 1, Mailmap: names})
	if err != nil {
		return err
	}
	commit := page.Commits[0] // a log begins with its start
	if a.isFirst() && (a.detail != detailPatch || a.patchLine == 1) {
		v.content = commitText(v.result, &commit)
	}
	v.note("%s.", at)
	if len(commit.Parents) > 1 {
		v.note("It is a merge of %d parents. What it changed is against the first, %s; for another give it to "+
			"compare_commits as base, with two_dot=true.", len(commit.Parents), commit.Parents[0])
	}
	if a.detail == detailNone {
		return nil
	}
	comparison, err := history.CompareWithParent(ctx, v.snapshot, v.History, at.ID, a.compare)
	if err != nil {
		return err
	}
	c := changes{visit: v, changeView: a.changeView, Comparison: comparison, commit: at.ID.String()}
	if len(commit.Parents) > 0 {
		c.base = commit.Parents[0].String()
	}
	return c.show(ctx)
}

// commitText returns the header of git show --format=fuller, with full ids and RFC 3339 times. The
// message is indented, so that none of its lines can pass for a header line.
func commitText(r *result, c *history.Commit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s\ntree %s\n", c.ID, c.Tree)
	for i, parent := range c.Parents {
		if i == maxShownParents {
			r.note("%d of its %d parents are shown.", i, len(c.Parents))
			break
		}
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "Author: %s\nAuthorDate: %s\nCommit: %s\nCommitDate: %s\n\n",
		personLine(c.Author), timestamp(c.Author), personLine(c.Committer), timestamp(c.Committer))
	b.WriteString(indentedPart(r, "message", c.Message, maxMessageBytes))
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// indentedPart returns a part of a commit or tag with indented lines, and notes where it was cut.
func indentedPart(r *result, part, text string, most int) string {
	shown, whole := indent(strings.ToValidUTF8(text, string(utf8.RuneError)), most)
	shown = strings.TrimRight(shown, "\n") + "\n"
	if whole {
		return shown
	}
	cut := fmt.Sprintf("The %s has %d bytes; only its beginning is shown.", part, len(text))
	r.note("%s", cut)
	return shown + cutHere(cut)
}

// indent indents lines, as many as fit.
func indent(lines string, most int) (indented string, whole bool) {
	var b strings.Builder
	for text := range strings.Lines(lines) {
		margin := "    "
		if text == "\n" {
			margin = ""
		}
		if room := most - b.Len() - len(margin); len(text) > room {
			if text = text[:max(room, 0)]; text != "" {
				b.WriteString(margin + text[:quoting.WholeRunes(text)])
			}
			return b.String(), false
		}
		b.WriteString(margin + text)
	}
	return b.String(), true
}
