package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
)

// The modules that have the schemas, and where. They are no part of this one: go test
// looks into the module cache, and at the proxy when they are not there.
const (
	registrySchema = "github.com/modelcontextprotocol/registry@v1.8.8/internal/validators/schemas/2025-12-11.json"
	releaseSchema  = "github.com/goreleaser/goreleaser/v2@v2.13.3/www/docs/static/schema.json"
)

// schemaOf compiles a schema of another module, by MODULE@VERSION/PATH.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	module, rest, _ := strings.Cut(name, "@")
	version, path, _ := strings.Cut(rest, "/")
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module+"@"+version)
	command.Dir = t.TempDir() // of no module, whose go.sum it would be held against
	out, err := command.Output()
	var found struct{ Dir string }
	if err != nil || json.Unmarshal(out, &found) != nil || found.Dir == "" {
		t.Skipf("the module %s cannot be had: %v", module, err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(found.Dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// validate holds a document against a schema, by way of JSON, whose types are those
// of schemas.
func validate(t *testing.T, schema *jsonschema.Schema, document any) {
	t.Helper()
	encoded, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(plain); err != nil {
		t.Error(err)
	}
}

// The documented version of the release tool builds the configuration.
func TestReleaseConfiguration(t *testing.T) {
	var release struct {
		Builds []struct {
			ID, Main     string
			Ldflags      []string
			Flags        []string
			Goos, Goarch []string
			Hooks        struct{ Post []struct{ Cmd string } }
		}
		Archives  []struct{ Files []struct{ Src string } }
		DockersV2 []struct {
			Dockerfile string
			IDs        []string
			Labels     map[string]string
			Platforms  []string
		} `yaml:"dockers_v2"`
		SBOMs    []map[string]any
		Checksum struct {
			Name  string                  `yaml:"name_template"`
			Extra []struct{ Glob string } `yaml:"extra_files"`
		}
	}
	readYAML(t, releaseFile, &release)
	for _, build := range release.Builds {
		// The linker says nothing of a variable that does not exist.
		if len(build.Ldflags) != 1 || !strings.Contains(build.Ldflags[0], "-X main.release={{ .Tag }}") {
			t.Errorf("%s: %q", build.ID, build.Ldflags)
		}
		if info, err := os.Stat(filepath.Join("../..", build.Main)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", build.Main, err)
		}
		if slices.Contains(build.Flags, "-tags=cloud") != (build.ID == "image") {
			t.Errorf("%s: %q", build.ID, build.Flags)
		}
	}
	var written struct{ Packages []struct{ Identifier string } }
	content, err := os.ReadFile("../../deploy/registry/server.json")
	if err != nil || json.Unmarshal(content, &written) != nil {
		t.Fatal(err)
	}
	// Each bundle that a release makes is in server.json, and no other.
	wanted := 0
	for _, platform := range release.Builds[0].Goos {
		for _, arch := range release.Builds[0].Goarch {
			wanted++
			if !slices.ContainsFunc(written.Packages, func(p struct{ Identifier string }) bool {
				return strings.HasSuffix(p.Identifier, "/repomcp_"+platform+"_"+arch+".mcpb")
			}) {
				t.Errorf("server.json lacks the bundle for %s on %s", platform, arch)
			}
		}
	}
	if wanted == 0 || len(written.Packages) != wanted+1 {
		t.Errorf("%d packages, and %d bundles", len(written.Packages), wanted)
	}
	for _, entry := range release.Archives[0].Files {
		if strings.HasPrefix(entry.Src, "dist.extra/") { // a release makes it
			continue
		}
		if found, err := filepath.Glob(filepath.Join("../..", entry.Src)); err != nil || len(found) == 0 {
			t.Errorf("nothing is %s: %v", entry.Src, err)
		}
	}
	images := release.DockersV2[0]
	if !slices.Equal(images.Platforms, []string{"linux/amd64", "linux/arm64"}) || len(release.SBOMs) == 0 ||
		release.Checksum.Name != "SHA256SUMS" || len(release.Checksum.Extra) != 1 {
		t.Errorf("%+v", release)
	}
	for _, file := range []string{"Dockerfile", images.Dockerfile} {
		checkImage(t, filepath.Join("../..", file))
	}
	var document any
	readYAML(t, releaseFile, &document)
	validate(t, schemaOf(t, releaseSchema), document)
}

// checkImage looks for what clients, the registry and Kubernetes hold an image
// against.
func checkImage(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`io.modelcontextprotocol.server.name="` + registryName(t) + `"`, "\nUSER 65532:65532\n",
		"--chown=65532:65532 /out/cache /var/cache/repomcp\n", "FROM --platform=$BUILDPLATFORM ",
	} {
		if !bytes.Contains(content, []byte(want)) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	// The words of its command line are flags of today.
	command := regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindSubmatch(content)
	var words []string
	if command == nil || json.Unmarshal(command[1], &words) != nil || len(words) < 2 {
		t.Fatalf("%s: %s", file, command)
	}
	if found, _, err := newRoot(cli.Environment{}).Find(words); err != nil || found.ParseFlags(words[1:]) != nil {
		t.Errorf("%s: %v: %v", file, words, err)
	}
}

func registryName(t *testing.T) string {
	t.Helper()
	var document struct{ Name string }
	content, err := os.ReadFile("../../deploy/registry/server.json")
	if err != nil || json.Unmarshal(content, &document) != nil || document.Name == "" {
		t.Fatal(err)
	}
	return document.Name
}

// What is filled in for a release fits the schema of the registry, says what the
// server says of itself, and its command line serves.
func TestRegistryDocument(t *testing.T) {
	gittest.Long(t)
	folder := t.TempDir()
	for _, bundle := range []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64", "windows_arm64", "windows_amd64"} {
		if err := os.WriteFile(filepath.Join(folder, "repomcp_"+bundle+".mcpb"), []byte(bundle), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(folder, "server.json")
	if said, err := exec.Command("go", "run", "../../deploy/registry", "-version", "v1.2.3", "-bundles", folder, "-o",
		output).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	content, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Name, Title, Description, Version string
		Packages                          []struct {
			RegistryType, Identifier, FileSha256 string
			PackageArguments                     []struct{ Type, Name, Value string }
		}
	}
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	card := map[string]any{}
	if err := json.Unmarshal(fetched(t, `"https://git.example.com/mcp/server-card"`, serveSamples(t).url),
		&card); err != nil ||
		card["name"] != document.Name || card["title"] != document.Title ||
		card["description"] != document.Description {
		t.Errorf("%v\nthe card is %v", document, card)
	}
	for _, p := range document.Packages {
		switch p.RegistryType {
		case "oci":
			var words []string
			for _, a := range p.PackageArguments {
				words = append(words, slices.DeleteFunc([]string{a.Name, a.Value},
					func(s string) bool { return s == "" })...)
			}
			words[slices.Index(words, writtenRoot)] = "../../testrepos"
			useTools(t, "the image", &mcp.CommandTransport{Command: exec.Command(program(t), words...)})
		case "mcpb":
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(p.Identifier), "repomcp_"), ".mcpb")
			if p.FileSha256 != hexDigest([]byte(name)) || !strings.Contains(p.Identifier, "/v1.2.3/") {
				t.Errorf("%+v", p)
			}
		}
	}
	if document.Version != "1.2.3" || bytes.Contains(content, []byte("0.0.0")) {
		t.Errorf("%s", content)
	}
	validate(t, schemaOf(t, registrySchema), json.RawMessage(content))
}

// A desktop client puts folders in the place of variables and starts the command.
func TestBundleStarts(t *testing.T) {
	content, err := os.ReadFile("../../deploy/mcpb/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Server struct {
			EntryPoint string `json:"entry_point"`
			MCPConfig  struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
		UserConfig map[string]struct{ Type string } `json:"user_config"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	entry := filepath.Join(folder, manifest.Server.EntryPoint)
	if err := os.MkdirAll(filepath.Dir(entry), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program(t), entry); err != nil {
		t.Fatal(err)
	}
	replace := []string{"${__dirname}", folder}
	for name := range manifest.UserConfig {
		replace = append(replace, "${user_config."+name+"}", "../../testrepos")
	}
	variables := strings.NewReplacer(replace...)
	words := []string{variables.Replace(manifest.Server.MCPConfig.Command)}
	for _, word := range manifest.Server.MCPConfig.Args {
		words = append(words, variables.Replace(word))
	}
	if words[0] != entry || strings.Contains(strings.Join(words, " "), "${") {
		t.Fatalf("%q", words)
	}
	useTools(t, "the bundle", &mcp.CommandTransport{Command: exec.Command(words[0], words[1:]...)})
}

// sampleLine is a setting of the sample, or one that is commented out.
var sampleLine = regexp.MustCompile(`^(?:# )?([a-z][a-z-]+): \S`)

// The sample configuration has all settings, and each value that it shows is taken.
func TestSampleConfiguration(t *testing.T) {
	const sample = "../../deploy/systemd/repomcp.yaml"
	content, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	serve, _, err := newRoot(cli.Environment{}).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	missing := make(map[string]bool)
	serve.LocalFlags().VisitAll(func(flag *pflag.Flag) { missing[flag.Name] = true })
	for _, other := range []string{"help", "stdio", "config"} { // how it is started, no settings
		delete(missing, other)
	}
	var all []byte
	for line := range strings.Lines(string(content)) {
		match := sampleLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		if !missing[match[1]] {
			t.Errorf("%s is no setting, or twice in the sample", match[1])
		}
		delete(missing, match[1])
		all = append(all, strings.TrimPrefix(line, "# ")...)
	}
	for name := range missing {
		t.Errorf("deploy/systemd/repomcp.yaml lacks %s", name)
	}
	whole := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(whole, all, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{sample, whole} {
		if err := serve.ParseFlags([]string{"--config", file}); err != nil {
			t.Fatal(err)
		}
		if err := cli.ApplySettings(serve, func(string) (string, bool) { return "", false }); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	serveSamples(t, "--config", sample, "--log-format", "text")
}

// The unit starts what there is, and systemd, where it is, knows all of its lines.
func TestSystemdUnit(t *testing.T) {
	content, err := os.ReadFile("../../deploy/systemd/repomcp.service")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/repomcp (.*)$`).FindSubmatch(content)
	if command == nil {
		t.Fatal("the unit starts nothing")
	}
	words := strings.Fields(string(command[1]))
	if found, _, err := newRoot(cli.Environment{}).Find(words); err != nil || found.ParseFlags(words[1:]) != nil {
		t.Errorf("%q: %v", words, err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is missing")
	}
	// With a command and a manual that are there.
	unit := filepath.Join(t.TempDir(), "repomcp.service")
	tried := bytes.Replace(content, []byte("/usr/local/bin/repomcp"), []byte(program(t)), 1)
	tried = bytes.Replace(tried, []byte("man:repomcp-serve(1) "), nil, 1)
	if err := os.WriteFile(unit, tried, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil ||
		len(said) > 0 {
		t.Errorf("%v: %s", err, said)
	}
}

// commandsBelow lists the names of all commands that are shown, such as "repomcp serve".
func commandsBelow(c *cobra.Command) []string {
	names := []string{c.CommandPath()}
	for _, inner := range c.Commands() {
		if inner.IsAvailableCommand() {
			names = append(names, commandsBelow(inner)...)
		}
	}
	return names
}

func TestManualHasEveryCommand(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "man")
	manual := exec.Command("go", "run", "-trimpath", "-tags", "manual", ".", "man", folder)
	// Without the flags of the tests: all packages would be compiled again for the race detector.
	manual.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "GOFLAGS=", "CGO_ENABLED=0")
	if said, err := manual.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	names, flags := commandsBelow(newRoot(cli.Environment{})), 0
	if len(names) < 8 {
		t.Errorf("only %q", names)
	}
	for _, name := range names {
		page, err := os.ReadFile(filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".1"))
		if err != nil || !bytes.Contains(page, []byte(`"Nov 2023"`)) || !bytes.Contains(page, []byte("\n.SH NAME\n")) {
			t.Errorf("%s: %v: %.100s", name, err, page)
		}
		help, err := exec.Command(program(t), append(strings.Fields(name)[1:], "--help")...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, flag := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[\w-]+) .*$`).FindAllStringSubmatch(string(help),
			-1) {
			if flags++; !strings.Contains(string(page), flag[1]+`\fP`) {
				t.Errorf("%s: no %s", name, flag[1])
			}
		}
	}
	if flags < 80 {
		t.Errorf("only %d flags", flags)
	}
}

func TestCompletionsKnowTheCommands(t *testing.T) {
	for shell, check := range map[string][]string{
		"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "-n"}, "powershell": nil,
	} {
		script, err := exec.Command(program(t), "completion", shell).Output()
		if err != nil || !bytes.Contains(script, []byte("__complete")) {
			t.Errorf("%s: %v: %.100s", shell, err, script)
		}
		if check == nil {
			continue
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("there is no %s to read its script", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), shell)
		if err := os.WriteFile(file, script, 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(check[0], append(check[1:], file)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, said)
		}
	}
	// What the scripts ask the program for.
	for words, want := range map[string]string{"se": "serve", "serve --log-f": "--log-format", "arch": "archive"} {
		said, err := exec.Command(program(t), append([]string{"__complete"}, strings.Fields(words)...)...).Output()
		first, _, _ := strings.Cut(string(said), "\t")
		if err != nil || first != want {
			t.Errorf("%s is completed to %q, %v", words, first, err)
		}
	}
}
