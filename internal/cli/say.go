package cli

import (
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/cquote"
)

// Say writes a line for people. Whatever is said of names and errors may come from a
// server, a committer or another program: strings are shown as names ([cquote.Name]) and
// errors as texts ([cquote.Text]), so that none of it reaches a terminal as it is.
func Say(w io.Writer, format string, args ...any) error {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case string:
			shown[i] = cquote.Name(a)
		case error:
			shown[i] = cquote.Text(a.Error())
		default:
			shown[i] = a
		}
	}
	_, err := fmt.Fprintf(w, format, shown...)
	return err
}
