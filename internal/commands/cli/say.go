package cli

import (
	"fmt"
	"io"

	"github.com/repomcp/repomcp/internal/git/quoting"
)

// Say writes a line for people, in the format of package fmt. Its arguments may come from a server,
// a committer or another program: strings are shown as names ([quoting.Name]) and errors as
// messages ([quoting.Text]), so that no control sequence reaches a terminal.
func Say(w io.Writer, format string, args ...any) error {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case string:
			shown[i] = quoting.Name(a)
		case error:
			shown[i] = quoting.Text(a.Error())
		default:
			shown[i] = a
		}
	}
	_, err := fmt.Fprintf(w, format, shown...)
	return err
}
