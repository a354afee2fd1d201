package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/gittest"
)

// The chart is rendered by helm itself, and the program takes the settings in it.
func TestHelmChart(t *testing.T) {
	gittest.Long(t)
	if _, err := exec.LookPath("helm"); err != nil {
		t.Skip("helm is missing")
	}
	const chart = "../../deploy/helm"
	if said, err := exec.Command("helm", "lint", "--strict", chart, "--set",
		"mirrors.existingClaim=mirrors,authentication.existingSecret=tokens").
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	render := func(flags ...string) (string, error) {
		said, err := exec.Command("helm", append([]string{
			"template", "git", chart, "--kube-version", "1.31.0", "--namespace", "mirrors",
		}, flags...)...).CombinedOutput()
		return string(said), err
	}
	for _, c := range []struct {
		flags []string
		says  string
	}{
		{nil, "mirrors.existingClaim"},
		{[]string{"--set", "mirrors.existingClaim=m"}, "authentication.existingSecret"},
		{[]string{"--set", "mirrors.existingClaim=m,replicas=2"}, "keys.existingSecret"},
		{[]string{"--set", "mirrors.existingClaim=m,replica=2"}, "replica"},
	} {
		if said, err := render(c.flags...); err == nil || !strings.Contains(said, c.says) {
			t.Errorf("%q: %v: %s", c.flags, err, said)
		}
	}
	least, err := render("--set", "mirrors.existingClaim=m,authentication.insecureNoAuth=true")
	if err != nil {
		t.Fatal(least)
	}
	checkChart(t, least, 4, "/healthz http")
	most,
		err := render("--set", "mirrors.volume.nfs.server=nas,mirrors.volume.nfs.path=/git,replicas=3,cache.bytes=8GB",
		"--set", "keys.existingSecret=keys,settings.max-archive-entries=30000000,settings.allowed-host={git.example}",
		"--set", "authentication.existingSecret=tokens,authentication.issuer=https://login.example",
		"--set", "settings.public-url=https://git.example,settings.hide-refs={refs/pull,!refs/pull/7}",
		"--set-json", `access.rules=[{"groups":["platform"],"repositories":["platform/**"]}]`)
	if err != nil {
		t.Fatal(most)
	}
	checkChart(t, most, 5, "/healthz http")
	for listen, probed := range map[string]string{
		"0.0.0.0:9090": "/readyz admin", ":9": "/readyz admin", "[::]:9090": "/readyz admin",
		"127.0.0.1:9090": "/healthz http", "localhost:9090": "/healthz http", "[::1]:9090": "/healthz http",
		"unix:/run/x/1": "/healthz http",
	} {
		rendered, err := render("--set", "mirrors.existingClaim=m,authentication.insecureNoAuth=true",
			"--set-string", "settings.admin-listen="+listen)
		if err != nil {
			t.Fatal(rendered)
		}
		checkChart(t, rendered, 4, probed)
		port := listen[strings.LastIndexByte(listen, ':')+1:]
		if named := strings.Contains(rendered, "{name: admin, containerPort: "+port+
			"}"); named != (probed == "/readyz admin") {
			t.Errorf("%s: the port is named: %v", listen, named)
		}
	}
	for _, want := range []string{"git-repomcp.mirrors.svc.cluster.local", "git.example",
		"max-archive-entries: 30000000", "secretName: \"tokens\"",
		"oauth-issuer: https://login.example", "tokens: /run/secrets/repomcp-tokens/tokens",
		"access: /etc/repomcp/access.yaml",
		"access.yaml: |\n    rules:\n    - groups:\n      - platform\n      repositories:\n      - platform/**"} {
		if !strings.Contains(most, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// manifestOf is what the chart promises of what runs.
type manifestOf struct {
	Kind string
	Data map[string]string
	Spec struct {
		Template struct {
			Spec struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []struct {
					Args            []string
					SecurityContext struct {
						ReadOnly   bool `yaml:"readOnlyRootFilesystem"`
						Escalation bool `yaml:"allowPrivilegeEscalation"`
					} `yaml:"securityContext"`
					LivenessProbe  map[string]any `yaml:"livenessProbe"`
					ReadinessProbe struct {
						HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
					} `yaml:"readinessProbe"`
					VolumeMounts []struct {
						Name, MountPath string
						ReadOnly        bool `yaml:"readOnly"`
					} `yaml:"volumeMounts"`
				}
			}
		}
	}
}

// checkChart compares the path and the port of the readiness probe as well.
func checkChart(t *testing.T, rendered string, kinds int, probed string) {
	t.Helper()
	decoder, seen := yaml.NewDecoder(bufio.NewReader(strings.NewReader(rendered))), 0
	for {
		var m manifestOf
		if err := decoder.Decode(&m); err != nil {
			break
		}
		seen++
		switch m.Kind {
		case "ConfigMap":
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(m.Data["config.yaml"]), 0o600); err != nil {
				t.Fatal(err)
			}
			serve, _, err := newRoot(cli.Environment{}).Find([]string{"serve"})
			if err != nil {
				t.Fatal(err)
			}
			if err := serve.ParseFlags([]string{"--config", file}); err != nil {
				t.Fatal(err)
			}
			if err := cli.ApplySettings(serve, func(string) (string, bool) { return "", false }); err != nil {
				t.Error(err)
			}
		case "Deployment":
			pod := m.Spec.Template.Spec
			c := pod.Containers[0]
			if !pod.SecurityContext.RunAsNonRoot || !c.SecurityContext.ReadOnly || c.SecurityContext.Escalation ||
				c.LivenessProbe == nil || c.ReadinessProbe.HTTPGet.Path+" "+c.ReadinessProbe.HTTPGet.Port != probed {
				t.Errorf("%+v", pod)
			}
			for _, mount := range c.VolumeMounts {
				if !mount.ReadOnly && mount.Name != "cache" && mount.Name != "tmp" {
					t.Errorf("%s can be written", mount.Name)
				}
			}
		}
	}
	if seen != kinds {
		t.Errorf("%d manifests, not %d:\n%s", seen, kinds, rendered)
	}
}
