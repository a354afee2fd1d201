package patch

import (
	"bufio"
	"context"
	"io"
	"time"

	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/pretty"
)

// Signature ends each mail, after a line with two dashes and a blank (RFC 3676, section 4.3). git
// writes its version there, which would make the bytes depend on what the server is made of.
const Signature = "repomcp"

const bufferBytes = 32 << 10

// WriteTo writes the patch. Errors are [git.ErrCorrupt], those of the disk, the context's and the
// writer's.
func (p *Plan) WriteTo(ctx context.Context, w io.Writer) error {
	out := &writer{
		Plan: p, out: bufio.NewWriterSize(w, bufferBytes),
		differ: history.NewDiffer(p.snapshot, history.PatchOptions{
			Context: history.DefaultContext, Binary: p.form == Mails, Abbreviate: p.abbreviate,
		}),
	}
	for i := range p.steps {
		if err := out.step(ctx, i); err != nil {
			return err
		}
	}
	return out.out.Flush()
}

type writer struct {
	*Plan
	out    *bufio.Writer // keeps its first error
	differ *history.Differ
	mails  int // that were written
}

// step writes a diff or a mail. A commit that changes no file has none, but counts.
func (w *writer) step(ctx context.Context, number int) error {
	step := w.steps[number]
	changes, err := history.CompareCommits(
		ctx, w.snapshot, w.cache, step.Parent, step.Commit, history.CompareOptions{},
	)
	if err != nil || len(changes.Files) == 0 {
		return err
	}
	if w.form == Diff {
		return w.patches(ctx, changes.Files)
	}
	if w.mails++; w.mails > 1 {
		_ = w.out.WriteByte('\n')
	}
	text := pretty.New(w.snapshot, step.Commit, time.Now).NewText(ctx, nil)
	text.Mail(number+1, len(w.steps))
	mail, err := text.Bytes()
	if err != nil {
		return err
	}
	_, _ = w.out.Write(mail)
	if err := w.stat(ctx, changes.Files); err != nil {
		return err
	}
	_ = w.out.WriteByte('\n')
	if err := w.patches(ctx, changes.Files); err != nil {
		return err
	}
	_, err = w.out.WriteString("-- \n" + Signature + "\n\n")
	return err
}

func (w *writer) patches(ctx context.Context, files []history.FileChange) error {
	for _, file := range files {
		if _, err := w.differ.Patch(ctx, w.out, file); err != nil {
			return err
		}
	}
	return nil
}
