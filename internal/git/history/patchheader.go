package history

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/internal/git"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

// writeHeader writes the lines before the hunks: the paths, and the extended header lines of
// git-diff(1), "Generating patch text with -p", for all changes other than content. A patch of a
// binary file has the whole ids.
func (d *Differ) writeHeader(out *bufio.Writer, c FileChange, wholeIDs bool) error {
	h := append(out.AvailableBuffer(), "diff --git "...)
	h = quoting.AppendPath(h, "a/", c.OldPath)
	h = quoting.AppendPath(append(h, ' '), "b/", c.NewPath)
	h = append(h, '\n')
	switch {
	case c.OldMode == 0:
		h = fmt.Appendf(h, "new file mode %s\n", c.NewMode)
	case c.NewMode == 0:
		h = fmt.Appendf(h, "deleted file mode %s\n", c.OldMode)
	case c.OldMode != c.NewMode:
		h = fmt.Appendf(h, "old mode %s\nnew mode %s\n", c.OldMode, c.NewMode)
	}
	if verb, ok := moves[c.Status]; ok {
		h = fmt.Appendf(h, "similarity index %d%%\n%s from ", c.Score, verb)
		h = quoting.AppendPath(h, "", c.OldPath)
		h = append(append(append(h, '\n'), verb...), " to "...)
		h = quoting.AppendPath(h, "", c.NewPath)
		h = append(h, '\n')
	}
	h, err := d.appendIndex(h, c, wholeIDs)
	if err != nil {
		return err
	}
	_, err = out.Write(h)
	return err
}

// moves are git's words for renamed and copied files.
var moves = map[Status]string{Renamed: "rename", Copied: "copy"}

// appendIndex writes the ids of both contents if they differ, and the mode if it is unchanged.
func (d *Differ) appendIndex(h []byte, c FileChange, whole bool) ([]byte, error) {
	if c.OldID == c.NewID {
		return h, nil
	}
	abbreviate := d.options.Abbreviate
	if whole {
		abbreviate = func(id git.ID) (string, error) { return id.String(), nil }
	}
	before, err := abbreviate(c.OldID)
	if err != nil {
		return nil, err
	}
	after, err := abbreviate(c.NewID)
	if err != nil {
		return nil, err
	}
	h = fmt.Appendf(h, "index %s..%s", before, after)
	if c.OldMode == c.NewMode {
		h = fmt.Appendf(h, " %s", c.OldMode)
	}
	return append(h, '\n'), nil
}

// automatic selects git's default length of abbreviations.
const automatic = -1

// tabAfter ends a path with a space, because some programs would parse the rest as a date.
func tabAfter(path string) string {
	if strings.Contains(path, " ") {
		return "\t"
	}
	return ""
}
