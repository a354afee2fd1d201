package history

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

const (
	// statWidth is how wide git writes its summary for what is no terminal.
	statWidth = 80
	// graphLeast and nameLeast are the least columns for the graph and for the
	// path: 3/8 and 5/8 of 16.
	graphLeast = 6
	nameLeast  = 10
	// statBetween are the columns of " ", " | ", " " and one that stays empty.
	statBetween = 6
)

// WriteNameStatus writes files as git diff --name-status does: the letter,
// with the score of what was renamed or copied, and the paths.
func WriteNameStatus(w io.Writer, files []FileChange) error {
	out := bufio.NewWriter(w)
	for _, f := range files {
		line := []byte(f.Status.String())
		if _, moved := moves[f.Status]; moved {
			line = fmt.Appendf(line, "%03d\t", f.Score)
			line = appendPath(line, "", f.OldPath)
		}
		line = appendPath(append(line, '\t'), "", f.NewPath)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteNumstat writes files as git diff --numstat does: added and deleted lines,
// "-" for binary files, and the path.
func WriteNumstat(w io.Writer, files []FileDiff) error {
	out := bufio.NewWriter(w)
	for _, f := range files {
		added, deleted := fmt.Sprint(f.Added), fmt.Sprint(f.Deleted)
		if f.Binary {
			added, deleted = "-", "-"
		}
		if _, err := fmt.Fprintf(out, "%s\t%s\t%s\n", added, deleted, statName(f.FileChange)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteStat writes files as git show --stat does when its output is no terminal:
// 80 columns, with a graph of the lines, and a summary at the end. For no files
// it writes nothing.
func WriteStat(w io.Writer, files []FileDiff) error {
	if len(files) == 0 {
		return nil
	}
	out := bufio.NewWriter(w)
	layout := measureStat(files)
	for _, f := range files {
		if err := layout.line(out, f); err != nil {
			return err
		}
	}
	if _, err := out.WriteString(Summary(files)); err != nil {
		return err
	}
	return out.Flush()
}

// Summary is the last line of git diff --stat: how many files changed, and how
// many lines in those that are not binary.
func Summary(files []FileDiff) string {
	if len(files) == 0 {
		return " 0 files changed\n"
	}
	added, deleted := 0, 0
	for _, f := range files {
		added += f.Added
		deleted += f.Deleted
	}
	text := fmt.Sprintf(" %d file%s changed", len(files), plural(len(files)))
	if added > 0 || deleted == 0 {
		text += fmt.Sprintf(", %d insertion%s(+)", added, plural(added))
	}
	if deleted > 0 || added == 0 {
		text += fmt.Sprintf(", %d deletion%s(-)", deleted, plural(deleted))
	}
	return text + "\n"
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// statName is the path, or both: what they have in common is said once when it
// ends at a slash, as in "dir/{old => new}/file".
func statName(c FileChange) string {
	from, to := c.OldPath, c.NewPath
	if from == to {
		return QuotePath(to)
	}
	if mustQuote(from) || mustQuote(to) {
		return QuotePath(from) + " => " + QuotePath(to)
	}
	head, tail := commonFolders(from, to)
	if head+tail == 0 {
		return from + " => " + to
	}
	middle := func(path string) string { return path[head:max(head, len(path)-tail)] }
	return from[:head] + "{" + middle(from) + " => " + middle(to) + "}" + from[len(from)-tail:]
}

// commonFolders measures what two paths begin with, up to a slash, and what
// they end with, from a slash on. The slash that ends the beginning may be the
// one that begins the end.
func commonFolders(from, to string) (head, tail int) {
	for i := 0; i < min(len(from), len(to)) && from[i] == to[i]; i++ {
		if from[i] == '/' {
			head = i + 1
		}
	}
	overlap := 0
	if head > 0 {
		overlap = 1
	}
	for n := 1; n <= min(len(from), len(to))-head+overlap && from[len(from)-n] == to[len(to)-n]; n++ {
		if from[len(from)-n] == '/' {
			tail = n
		}
	}
	return head, tail
}

// statLayout is how the columns of a summary are shared out: show_stats of git's
// diff.c.
type statLayout struct {
	name, number, graph int // columns
	most                int // lines changed in one file
}

func measureStat(files []FileDiff) statLayout {
	var l statLayout
	binary := 0 // columns of "Bin X -> Y bytes"
	for _, f := range files {
		l.name = max(l.name, len(statName(f.FileChange)))
		if f.Binary {
			binary = max(binary, len("Bin  ->  bytes")+len(fmt.Sprint(f.OldSize))+len(fmt.Sprint(f.NewSize)))
			l.number = len("Bin")
		} else {
			l.most = max(l.most, f.Added+f.Deleted)
		}
	}
	l.number = max(l.number, len(fmt.Sprint(l.most)))
	width := max(statWidth, nameLeast+graphLeast+statBetween+l.number)
	l.graph = max(l.most, binary-4)
	if l.name+l.number+statBetween+l.graph > width {
		l.graph = min(l.graph, max(width*3/8-l.number-statBetween, graphLeast))
		if room := width - l.number - statBetween - l.graph; l.name > room {
			l.name = room
		} else {
			l.graph = width - l.number - statBetween - l.name
		}
	}
	return l
}

func (l statLayout) line(out *bufio.Writer, f FileDiff) error {
	name := l.fit(statName(f.FileChange))
	var text string
	switch {
	case f.Binary && f.OldSize == 0 && f.NewSize == 0:
		text = fmt.Sprintf("%*s", l.number, "Bin")
	case f.Binary:
		text = fmt.Sprintf("%*s %d -> %d bytes", l.number, "Bin", f.OldSize, f.NewSize)
	default:
		plus, minus := l.scale(f.Added, f.Deleted)
		text = fmt.Sprintf("%*d %s%s", l.number, f.Added+f.Deleted, strings.Repeat("+", plus), strings.Repeat("-", minus))
	}
	_, err := fmt.Fprintf(out, " %-*s | %s\n", l.name, name, strings.TrimRight(text, " "))
	return err
}

// fit cuts the beginning off a name that is too long, up to a slash if there is
// one.
func (l statLayout) fit(name string) string {
	const ellipsis = "..."
	if len(name) <= l.name {
		return name
	}
	name = name[len(name)-(l.name-len(ellipsis)):]
	if slash := strings.IndexByte(name, '/'); slash >= 0 {
		name = name[slash:]
	}
	return ellipsis + name
}

// scale shortens a graph that is too wide. What is not nothing stays visible.
func (l statLayout) scale(added, deleted int) (plus, minus int) {
	if l.graph > l.most {
		return added, deleted
	}
	part := func(n int) int {
		if n == 0 {
			return 0
		}
		return 1 + n*(l.graph-1)/l.most
	}
	total := part(added + deleted)
	if total < 2 && added > 0 && deleted > 0 {
		total = 2
	}
	if added < deleted {
		plus = part(added)
		return plus, total - plus
	}
	minus = part(deleted)
	return total - minus, minus
}
