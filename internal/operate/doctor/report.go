package doctor

import (
	"fmt"
	"io"
	"strings"
)

// mostLines bounds the lines of one level and check in the text, so that a report with many mirrors
// fits a screen.
const mostLines = 10

// WriteText writes a line for each finding and a summary. It writes at most ten findings with the
// same level and check.
func (r Report) WriteText(w io.Writer) error {
	var text strings.Builder
	for start, end := 0, 0; start < len(r.Findings); start = end {
		for end = start; end < len(r.Findings) && r.Findings[end].sameKind(r.Findings[start]); end++ {
			if end-start < mostLines {
				text.WriteString(r.Findings[end].line())
			}
		}
		if more := end - start - mostLines; more > 0 {
			first := r.Findings[start]
			_, _ = fmt.Fprintf(&text, "%-8s %-12s and %d more; --json lists all\n", first.Level, first.Check, more)
		}
	}
	_, _ = fmt.Fprintf(&text, "\n%s, %s; %s looked at\n", counted(r.Faults, "fault", "faults"),
		counted(r.Warnings, "warning", "warnings"), counted(r.Repositories, "repository", "repositories"))
	_, err := io.WriteString(w, text.String())
	return err
}

func (f Finding) sameKind(other Finding) bool {
	return f.Level == other.Level && f.Check == other.Check
}

func (f Finding) line() string {
	text := f.Text
	if f.Subject != "" {
		text = f.Subject + ": " + text
	}
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	return fmt.Sprintf("%-8s %-12s %s\n", f.Level, f.Check, strings.Join(strings.Fields(text), " "))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}
