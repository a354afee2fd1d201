package repos_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/repos"
)

func TestCheckNoticesARootThatIsGone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "mirrors")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	catalogue := open(t, root, repos.Options{})
	if err := catalogue.Check(); err != nil {
		t.Fatalf("a root that is there: %v", err)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := catalogue.Check(); err == nil || strings.Contains(err.Error(), root) {
		t.Errorf("a deleted root: %v", err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := catalogue.Check(); err == nil {
		t.Error("another folder in the place of the root passes for it")
	}
}
