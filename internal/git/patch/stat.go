package patch

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/repomcp/repomcp/internal/git/history"
	"github.com/repomcp/repomcp/internal/git/quoting"
)

const (
	// statColumns is the width of a diffstat in a mail.
	statColumns = 72
	// statMargin are the columns of a line beside name, number and graph.
	statMargin = 6
	// minGraph is the least width of the graph if it is too long for the line.
	minGraph = 6
	// binaryColumns are those of "Bin  ->  bytes" and the numbers' blanks; binaryBefore of them are
	// before the graph begins.
	binaryColumns = 14
	binaryBefore  = 4

	binaryMark = "Bin"
	ellipsis   = "..."
)

// statLine is a line of a diffstat.
type statLine struct {
	name string
	history.FileStat
}

func (l statLine) changed() int { return l.Added + l.Deleted }

// stat writes the diffstat and the summary of what is new, gone and moved: git-diff(1), --stat and
// --summary.
func (w *writer) stat(ctx context.Context, files []history.FileChange) error {
	lines := make([]statLine, len(files))
	var total history.FileStat
	for i, file := range files {
		stat, err := w.differ.Stat(ctx, file)
		if err != nil {
			return err
		}
		lines[i] = statLine{nameOf(file), stat}
		total.Added, total.Deleted = total.Added+stat.Added, total.Deleted+stat.Deleted
	}
	layout := layoutOf(lines)
	for _, line := range lines {
		_, _ = w.out.WriteString(layout.line(line))
	}
	_, _ = w.out.WriteString(totalLine(len(lines), total))
	for _, file := range files {
		_, _ = w.out.WriteString(summaryLine(file))
	}
	return nil
}

// layout is the widths of the columns.
type layout struct {
	name, number, graph int
	most                int // changed lines of a file
}

// layoutOf divides the width: the graph gives way first, down to three eighths, and then the names.
func layoutOf(lines []statLine) layout {
	var l layout
	binary := 0
	for _, line := range lines {
		l.name = max(l.name, len(line.name))
		if line.Binary {
			binary = max(binary, binaryColumns+len(strconv.FormatInt(line.NewSize, 10))+
				len(strconv.FormatInt(line.OldSize, 10)))
			l.number = len(binaryMark)
			continue
		}
		l.most = max(l.most, line.changed())
	}
	l.number = max(l.number, len(strconv.Itoa(l.most)))
	l.graph = max(l.most, binary-binaryBefore)
	width := statColumns - l.number - statMargin
	if l.name+l.graph <= width {
		return l
	}
	l.graph = min(l.graph, max(statColumns*3/8-l.number-statMargin, minGraph))
	if l.name > width-l.graph {
		l.name = width - l.graph
	} else {
		l.graph = width - l.name
	}
	return l
}

func (l layout) line(s statLine) string {
	name := s.name
	if len(name) > l.name {
		name = name[len(name)-l.name+len(ellipsis):]
		if slash := strings.IndexByte(name, '/'); slash >= 0 {
			name = name[slash:]
		}
		name = ellipsis + name
	}
	begin := fmt.Sprintf(" %-*s | ", l.name, name)
	switch {
	case s.Binary && s.OldSize == 0 && s.NewSize == 0:
		return fmt.Sprintf("%s%*s\n", begin, l.number, binaryMark)
	case s.Binary:
		return fmt.Sprintf("%s%*s %d -> %d bytes\n", begin, l.number, binaryMark, s.OldSize, s.NewSize)
	case s.changed() == 0:
		return fmt.Sprintf("%s%*d\n", begin, l.number, 0)
	}
	added, deleted := l.scale(s.Added, s.Deleted)
	return fmt.Sprintf("%s%*d %s%s\n", begin, l.number, s.changed(), strings.Repeat("+", added),
		strings.Repeat("-", deleted))
}

// scale returns how many signs the graph has for added and deleted lines.
func (l layout) scale(added, deleted int) (plus, minus int) {
	if l.most < l.graph {
		return added, deleted
	}
	total := l.scaled(added + deleted)
	if added > 0 && deleted > 0 {
		total = max(total, 2)
	}
	if added < deleted {
		plus = l.scaled(added)
		return plus, total - plus
	}
	minus = l.scaled(deleted)
	return total - minus, minus
}

// scaled returns at least 1 for a line.
func (l layout) scaled(lines int) int {
	if lines == 0 {
		return 0
	}
	return 1 + lines*(l.graph-1)/l.most
}

// totalLine leaves out lines that were not added or not deleted, unless both are 0.
func totalLine(files int, total history.FileStat) string {
	line := fmt.Sprintf(" %d file%s changed", files, plural(files))
	if total.Added > 0 || total.Deleted == 0 {
		line += fmt.Sprintf(", %d insertion%s(+)", total.Added, plural(total.Added))
	}
	if total.Deleted > 0 || total.Added == 0 {
		line += fmt.Sprintf(", %d deletion%s(-)", total.Deleted, plural(total.Deleted))
	}
	return line + "\n"
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// summaryLine tells of a file that is new, gone, moved or has another mode; it is "" for others.
func summaryLine(c history.FileChange) string {
	name := string(quoting.AppendPath(nil, "", c.NewPath))
	switch {
	case c.OldMode == 0:
		return fmt.Sprintf(" create mode %s %s\n", c.NewMode, name)
	case c.NewMode == 0:
		return fmt.Sprintf(" delete mode %s %s\n", c.OldMode, name)
	}
	modes := ""
	if c.OldMode != c.NewMode {
		modes = fmt.Sprintf(" mode change %s => %s", c.OldMode, c.NewMode)
	}
	switch {
	case c.Status == history.Renamed || c.Status == history.Copied:
		verb := map[history.Status]string{history.Renamed: "rename", history.Copied: "copy"}[c.Status]
		line := fmt.Sprintf(" %s %s (%d%%)\n", verb, nameOf(c), c.Score)
		if modes != "" {
			line += modes + "\n"
		}
		return line
	case modes != "":
		return modes + " " + name + "\n"
	default:
		return ""
	}
}

// nameOf returns the path of a file, and both of a moved one with their common folders outside of
// braces.
func nameOf(c history.FileChange) string {
	before, after := quoting.AppendPath(nil, "", c.OldPath), quoting.AppendPath(nil, "", c.NewPath)
	if c.OldPath == c.NewPath {
		return string(after)
	}
	if before[0] == '"' || after[0] == '"' {
		return string(before) + " => " + string(after)
	}
	head, tail := commonFolders(before, after)
	if head+tail == 0 {
		return c.OldPath + " => " + c.NewPath
	}
	middle := func(path string) string { return path[head:max(len(path)-tail, head)] }
	return c.OldPath[:head] + "{" + middle(c.OldPath) + " => " + middle(c.NewPath) + "}" +
		c.OldPath[len(c.OldPath)-tail:]
}

// commonFolders returns the lengths of the common beginning of two paths, up to a slash, and of their
// common end, from a slash. Both may have the same slash.
func commonFolders(a, b []byte) (head, tail int) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	head = bytes.LastIndexByte(a[:same], '/') + 1
	least := max(head-1, 0)
	for n := 1; len(a)-n >= least && len(b)-n >= least && a[len(a)-n] == b[len(b)-n]; n++ {
		if a[len(a)-n] == '/' {
			tail = n
		}
	}
	return head, tail
}
