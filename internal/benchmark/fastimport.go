package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// firstCommitTime is in seconds since 1970; each commit is a minute later.
const firstCommitTime = 1_700_000_000

// importer writes commits on main through git fast-import. Its writer keeps the
// first error, which close returns.
type importer struct {
	cmd     *exec.Cmd
	said    *complaint
	pipe    io.WriteCloser
	w       *bufio.Writer
	commits int
}

func startImport(ctx context.Context, dir string) (*importer, error) {
	// Always a pack, however small.
	cmd := stage{"git", []string{"-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done"}}.command(ctx)
	i := &importer{cmd: cmd, said: &complaint{}}
	cmd.Dir, cmd.Stderr = dir, i.said
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	i.pipe, i.w = pipe, bufio.NewWriterSize(pipe, readBufferBytes)
	return i, cmd.Start()
}

// commit begins a commit. Its parent is the one before it.
func (i *importer) commit() {
	i.commits++
	message := fmt.Sprintf("commit %d\n", i.commits)
	i.printf("commit refs/heads/main\ncommitter A U Thor <author@example.com> %d +0000\ndata %d\n%s",
		firstCommitTime+60*i.commits, len(message), message)
}

// put adds or replaces a file of the commit.
func (i *importer) put(f file) {
	mode := "100644"
	if f.executable {
		mode = "100755"
	}
	i.printf("M %s inline %s\ndata %d\n", mode, quote(f.path), len(f.content))
	_, _ = i.w.Write(f.content) // close has the error
	i.printf("\n")
}

// stream adds a file of which only the size is known yet.
func (i *importer) stream(path string, size int64, write func(w io.Writer, size int64) error) error {
	i.printf("M 100644 inline %s\ndata %d\n", quote(path), size)
	err := write(i.w, size)
	i.printf("\n")
	return err
}

func (i *importer) remove(path string) { i.printf("D %s\n", quote(path)) }

func (i *importer) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(i.w, format, args...) // close has the error
}

func (i *importer) close() error {
	i.printf("done\n")
	err := errors.Join(i.w.Flush(), i.pipe.Close(), i.cmd.Wait())
	if err != nil {
		return fmt.Errorf("git fast-import: %w: %s", err, i.said)
	}
	return nil
}

// quote writes a path in the C style of fast-import.
func quote(path string) string {
	quoted := []byte{'"'}
	for _, c := range []byte(path) {
		if c == '"' || c == '\\' || c < ' ' {
			quoted = fmt.Appendf(quoted, `\%03o`, c)
			continue
		}
		quoted = append(quoted, c)
	}
	return string(append(quoted, '"'))
}
