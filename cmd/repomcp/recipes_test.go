package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestDocumentationOfRecipes(t *testing.T) {
	server := serveSamples(t).url
	archive := fetched(t, only(t, "python", "http_archive"), server)
	digest := hexDigest(archive)

	t.Run("digest", func(t *testing.T) {
		if _, said := runIn(t, withServer(only(t, "sh", "sha256sum"), server)); !strings.HasPrefix(said, digest+" ") {
			t.Errorf("%s, not %s", said, digest)
		}
	})
	t.Run("sandbox", func(t *testing.T) {
		archive := fetched(t, only(t, "ts", "tarball"), server)
		zipped, err := gzip.NewReader(bytes.NewReader(archive))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, zipped); err != nil || n == 0 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	t.Run("devcontainer", func(t *testing.T) {
		var container struct {
			OnCreateCommand string
			Customizations  struct {
				VSCode struct {
					MCP struct{ Servers map[string]installed }
				}
			}
		}
		if err := json.Unmarshal([]byte(only(t, "json", "onCreateCommand")), &container); err != nil {
			t.Fatal(err)
		}
		if got := container.Customizations.VSCode.MCP.Servers["repomcp"]; got.URL != "https://git.example.com/mcp" ||
			got.Type != "http" {
			t.Errorf("%+v", got)
		}
		folder, _ := runIn(t, withServer(container.OnCreateCommand, server))
		if _, err := os.Stat(filepath.Join(folder, "vendor/hello/README.md")); err != nil {
			t.Error(err)
		}
	})
	t.Run("actions", func(t *testing.T) {
		var job struct{ Steps []struct{ Run string } }
		if err := yaml.Unmarshal([]byte(only(t, "yaml", "steps:")), &job); err != nil || len(job.Steps) != 1 {
			t.Fatalf("%v, %+v", err, job)
		}
		folder, _ := runIn(t, withServer(job.Steps[0].Run, server))
		if _, err := os.Stat(filepath.Join(folder, "hello/README.md")); err != nil {
			t.Error(err)
		}
	})
	t.Run("bazel", func(t *testing.T) {
		recipe := only(t, "python", "http_archive")
		if got := quotedDigest.FindStringSubmatch(recipe)[1]; got != digest {
			t.Errorf("the digest is %s", digest)
		}
		if !strings.Contains(recipe, `strip_prefix = "hello"`) {
			t.Error("the folder in the archive is hello")
		}
	})
	t.Run("nix", func(t *testing.T) {
		recipe := only(t, "nix", "fetchTarball")
		folder := t.TempDir()
		unpackInto(t, fetched(t, recipe, server), folder)
		// If the archive has a single folder, its content counts.
		if got, want := quotedDigest.FindStringSubmatch(recipe)[1], narDigest(t,
			filepath.Join(folder, "hello")); got != want {
			t.Errorf("the digest is %s", want)
		}
	})
}

func hexDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func unpackInto(t *testing.T, archive []byte, folder string) {
	t.Helper()
	command := exec.Command("tar", "xzf", "-", "-C", folder)
	command.Stdin = bytes.NewReader(archive)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

// narDigest is the digest of a file tree that Nix writes down: SHA-256 of its NAR
// archive.
func narDigest(t *testing.T, path string) string {
	t.Helper()
	var nar narWriter
	nar.text("nix-archive-1")
	nar.node(t, path)
	sum := sha256.Sum256(nar.Bytes())
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// narWriter writes the format of which Nix says what it is in "Nix Archive (NAR)
// format" of its manual.
type narWriter struct{ bytes.Buffer }

// text writes a length and what has it, up to a multiple of eight bytes.
func (w *narWriter) text(texts ...string) {
	for _, s := range texts {
		w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		w.WriteString(s)
		w.Write(make([]byte, -len(s)&7))
	}
}

func (w *narWriter) node(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	w.text("(", "type")
	switch {
	case info.IsDir():
		w.text("directory")
		entries, err := os.ReadDir(path) // in the order of their bytes
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			w.text("entry", "(", "name", entry.Name(), "node")
			w.node(t, filepath.Join(path, entry.Name()))
			w.text(")")
		}
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			t.Fatal(err)
		}
		w.text("symlink", "target", target)
	default:
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.text("regular")
		if info.Mode()&0o100 != 0 {
			w.text("executable", "")
		}
		w.text("contents", string(content))
	}
	w.text(")")
}

// The digest of an empty folder is a well-known constant of Nix.
func TestNarDigestOfNothing(t *testing.T) {
	if got := narDigest(t, t.TempDir()); got != "sha256-pQpattmS9VmO3ZIQUFn66az8GSmB4IvYhTTCFn6SUmo=" {
		t.Error(got)
	}
}
