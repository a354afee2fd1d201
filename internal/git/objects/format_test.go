package objects

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

func TestFormatIsCheckedBeforeAnythingIsRead(t *testing.T) {
	cases := []struct {
		name, config, key string // key is empty when the repository can be read
	}{
		{"none", "", ""},
		{"version 0", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n", ""},
		{"version 1", "[core]\n\trepositoryformatversion = 1\n", ""},
		{"version 2", "[core]\n\trepositoryformatversion = 2\n", "core.repositoryformatversion"},
		{"last one counts", "[core]\nrepositoryformatversion = 2\nrepositoryformatversion = 0\n", ""},
		{"sha256", "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n",
			"extensions.objectformat"},
		{"sha256, other spelling", "[CORE] RepositoryFormatVersion=1\n[Extensions] ObjectFormat = \"SHA256\" # so\n",
			"extensions.objectformat"},
		{"modules elsewhere", "[core]\nrepositoryformatversion = 1\n[extensions]\nsubmodulePathConfig = true\n", ""},
		{"sha1", "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha1\n", ""},
		{"reftable", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n", ""},
		{"reftable, long line", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = ref\\\ntable\n", ""},
		{"reftable under version 0", "[extensions]\nrefstorage = reftable\n", "extensions.refstorage"},
		{"refs elsewhere", "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable:///tmp/x\n",
			"extensions.refstorage"},
		{"unknown extension", "[core]\nrepositoryformatversion = 1\n[extensions]\nfuture = yes\n", "extensions.future"},
		{"unknown extension of version 0", "[core]\nrepositoryformatversion = 0\n[extensions]\nfuture = yes\n", ""},
		{"sha256 under version 0", "[extensions]\nobjectformat = sha256\n", "extensions.objectformat"},
		{"partial clone", "[core]\nrepositoryformatversion = 1\n[extensions]\npartialclone = origin\n", ""},
		{"extension after a comment that ends in a backslash", "# a\\\n[extensions]\nobjectformat = sha256\n",
			"extensions.objectformat"},
		{"extension with a subsection", "[core]\nrepositoryformatversion = 1\n[extensions \"noop\"]\nx = 1\n",
			"extensions.noop.x"},
		{"malformed", "[transfer]\nhiderefs = \"refs/secret\n", "config"},
		{"subsections and comments", "; a\n[remote \"a]b\"]\nurl = x\n# b\n[core]\nrepositoryformatversion = 0 ; c\n",
			""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			repo := gittest.New(t)
			write(t, filepath.Join(repo.Dir, "config"), c.config)
			_, err := newStore(t, nil, repo).Open("repo.git")
			switch {
			case c.key == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.key != "" && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.key+" = ")):
				t.Errorf("Open gives %v, want %s named", err, c.key)
			}
		})
	}
}

func TestSHA256RepositoryOfGitIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo.git")
	cmd := exec.Command("git", "init", "-q", "--bare", "--object-format=sha256", dir)
	cmd.Env = gittest.Env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := newStore(t, nil, &gittest.Repo{Dir: dir})
	if _, err := s.Open("repo.git"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "sha256") {
		t.Errorf("Open gives %v", err)
	}
}

func TestFormatThatChangesIsSeen(t *testing.T) {
	repo := gittest.New(t)
	s := newStore(t, nil, repo)
	first, err := s.Open("repo.git")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.Open("repo.git/"); again != first {
		t.Error("a known repository is opened anew")
	}
	write(t, filepath.Join(repo.Dir, "config"),
		"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n")
	if _, err := s.Open("repo.git"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Open gives %v", err)
	}
	if err := os.RemoveAll(repo.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open("repo.git"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Open gives %v", err)
	}
}

func TestNamesOutsideTheRootAreNoRepositories(t *testing.T) {
	repo := gittest.New(t)
	s := newStore(t, nil, repo)
	for _, dir := range []string{"", ".", "..", "../" + filepath.Base(filepath.Dir(repo.Dir)) + "/repo.git", repo.Dir,
		"nothing", "repo.git/HEAD", "a\x00b"} {
		if _, err := s.Open(dir); err == nil || strings.Contains(err.Error(), filepath.Dir(repo.Dir)) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}
