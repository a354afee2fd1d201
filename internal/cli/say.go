package cli

import (
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/cquote"
)

// Say writes a line for people, in the format of package fmt. A server, a committer or
// another program may have chosen its arguments: strings are shown as names ([cquote.Name])
// and errors as messages ([cquote.Text]), so that no control sequence reaches a terminal.
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
