package tree

import (
	"testing"

	"github.com/repomcp/repomcp/internal/archive/attributes"
	"github.com/repomcp/repomcp/internal/git"
)

// TestFilesThatAreCopiedCostNothing: attributes of most files ask for nothing,
// and trees have a hundred thousand.
func TestFilesThatAreCopiedCostNothing(t *testing.T) {
	for name, lines := range map[string]string{
		"text": "* text=auto\n", "a driver": "* diff=golang\n", "binary": "* binary\n", "line ends": "* eol=lf\n",
		"a filter": "* filter=lfs\n",
	} {
		stack := attributes.NewStack(nil)
		stack.Push(nil, []byte(lines))
		rules := &Rules{stack: stack}
		path := []byte("some/file.go")
		if n := testing.AllocsPerRun(100, func() { rules.Treatment(path, git.ModeRegular) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
