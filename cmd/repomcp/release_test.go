package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/gittest"
)

const (
	releaseFile     = "../../.goreleaser.yaml"
	releaseWorkflow = ".github/workflows/release.yml"
	verifyPage      = "../../docs/verify.md"
	writtenVersion  = "v1.2.3" // of the page
)

// verifyBlock returns the commands of docs/verify.md that have a word in them.
func verifyBlock(t *testing.T, word string) string {
	t.Helper()
	page, err := os.ReadFile(verifyPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		if block[1] == "sh" && strings.Contains(block[2], word) {
			return block[2]
		}
	}
	t.Fatalf("docs/verify.md has no commands with %q", word)
	return ""
}

// runScript runs commands in a folder, without what the environment tells Go.
func runScript(t *testing.T, folder, script string) {
	t.Helper()
	command := exec.Command("sh", "-euc", script)
	command.Dir = folder
	command.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{"GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED"}, name)
	})
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, said, script)
	}
}

// A commit gives the same program and the same bundle in any folder, whether it is built as a release
// or by the commands of the page.
func TestBuildsAreReproducible(t *testing.T) {
	gittest.Long(t)
	t.Parallel()
	var release struct {
		Builds []struct{ Flags, Ldflags, Env []string }
	}
	readYAML(t, releaseFile, &release)
	build := release.Builds[0]
	origin, work := filepath.Join(t.TempDir(), "origin"), t.TempDir()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	runScript(t, work, "git clone -q "+shellWord(repository)+" "+shellWord(origin)+
		" && git -C "+shellWord(origin)+" -c user.name=t -c user.email=t@localhost tag -f "+writtenVersion)

	linker := strings.ReplaceAll(build.Ldflags[0], "{{ .Tag }}", writtenVersion)
	released := filepath.Join(work, "repomcp_1.2.3_linux_amd64", "repomcp")
	runScript(t, origin, "export "+strings.Join(build.Env, " ")+"\nGOOS=linux GOARCH="+runtime.GOARCH+" go build "+
		strings.Join(build.Flags, " ")+" -ldflags "+shellWord(linker)+" -o "+shellWord(released)+" ./cmd/repomcp")

	script := verifyBlock(t, "go build")
	for old, now := range map[string]string{
		"https://github.com/repomcp/repomcp": shellWord(origin),
		"GOARCH=amd64":                       "GOARCH=" + runtime.GOARCH, // what the tests have compiled
		"GOTOOLCHAIN=go1.26.5":               "GOTOOLCHAIN=local",
	} {
		if !strings.Contains(script, old) {
			t.Errorf("the commands lack %q:\n%s", old, script)
		}
		script = strings.Replace(script, old, now, 1)
	}
	runScript(t, work, script) // it compares the two

	content, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{origin, work} {
		if bytes.Contains(content, []byte(folder)) {
			t.Errorf("the program has the folder %s in it", folder)
		}
	}
	packer := filepath.Join(work, "mcpb")
	runScript(t, origin, "CGO_ENABLED=0 go build -trimpath -o "+shellWord(packer)+" ./deploy/mcpb")
	var bundles [][]byte
	for _, folder := range []string{origin, filepath.Join(work, "repomcp-"+writtenVersion)} {
		bundle := filepath.Join(work, "bundle.mcpb")
		runScript(t, folder, shellWord(packer)+" -binary "+shellWord(released)+" -platform linux -version "+writtenVersion+
			" -o "+shellWord(bundle))
		packed, err := os.ReadFile(bundle)
		if err != nil {
			t.Fatal(err)
		}
		bundles = append(bundles, packed)
	}
	if len(bundles[0]) < len(content)/10 || !bytes.Equal(bundles[0], bundles[1]) {
		t.Errorf("two bundles have %d and %d bytes and differ, want the same", len(bundles[0]), len(bundles[1]))
	}
}

// shellWord quotes a path for a shell.
func shellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// What a release is made by is pinned, signed in the name of the workflow, and attested; the page
// verifies by the same names.
func TestReleaseIsSigned(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Permissions map[string]string
			Steps       []struct {
				Uses, Run string
				With      map[string]string
			}
		}
	}
	readYAML(t, "../../"+releaseWorkflow, &workflow)
	job := workflow.Jobs["release"]
	if workflow.Permissions == nil || len(workflow.Permissions) != 0 || job.Permissions["id-token"] != "write" ||
		job.Permissions["attestations"] != "write" {
		t.Errorf("the permissions are %v and %v, want none but those of the job", workflow.Permissions, job.Permissions)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	var attested []string
	commands := ""
	for _, step := range job.Steps {
		if step.Uses != "" && !pinned.MatchString(step.Uses) {
			t.Errorf("%s is not pinned by its commit", step.Uses)
		}
		if strings.HasPrefix(step.Uses, "actions/attest@") {
			attested = append(attested, step.With["subject-checksums"]+step.With["subject-path"])
		}
		commands += step.Run
	}
	var release struct {
		Checksum struct {
			Name string `yaml:"name_template"`
		}
		Digests struct {
			Name string `yaml:"name_template"`
		} `yaml:"docker_digest"`
		Signs []struct {
			Cmd, Artifacts, Signature string
			Args                      []string
		}
		DockerSigns []struct{ Cmd, Artifacts string } `yaml:"docker_signs"`
		Release     struct{ Draft bool }
	}
	readYAML(t, releaseFile, &release)
	want := []string{"dist/" + release.Checksum.Name, "dist/*/repomcp", "dist/" + release.Digests.Name}
	if !slices.Equal(attested, want) {
		t.Errorf("%q are attested, want %q", attested, want)
	}
	if !release.Release.Draft || !strings.HasSuffix(strings.TrimSpace(commands), "--draft=false") {
		t.Error("a release is published before it is attested")
	}
	if len(release.Signs) != 1 || release.Signs[0].Artifacts != "checksum" || len(release.DockerSigns) != 1 {
		t.Fatalf("%+v and %+v are signed, want the checksums and the images", release.Signs, release.DockerSigns)
	}
	signature := strings.ReplaceAll(release.Signs[0].Signature, "${artifact}", release.Checksum.Name)
	for _, name := range []string{"verify-blob " + release.Checksum.Name + " --bundle " + signature,
		"repomcp/" + releaseWorkflow + "@refs/tags/" + writtenVersion} {
		if block := verifyBlock(t, "verify-blob"); !strings.Contains(block, name) {
			t.Errorf("docs/verify.md does not verify %q:\n%s", name, block)
		}
	}
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^GORELEASER=(\S+)$`).FindSubmatch(ci)
	if version == nil || !strings.Contains(commands, "goreleaser/v2@"+string(version[1])+"\n") {
		t.Errorf("the workflow runs another goreleaser than the %q whose schema is tested", version)
	}
}
