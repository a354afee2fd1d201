package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestBundleHasTheProgramForOnePlatform(t *testing.T) {
	for system, p := range platforms {
		t.Run(system, func(t *testing.T) { testBundle(t, system, p.name, p.program) })
	}
}

func testBundle(t *testing.T, system, platform, entry string) {
	program := bytes.Repeat([]byte("\x7fELF program\n"), 1000)
	file := filepath.Join(t.TempDir(), "repomcp")
	if err := os.WriteFile(file, program, 0o600); err != nil {
		t.Fatal(err)
	}
	var packed, again bytes.Buffer
	b := bundle{binary: file, platform: system, version: "v1.2.3"}
	if err := b.write(&packed); err != nil {
		t.Fatal(err)
	}
	if err := b.write(&again); err != nil || !bytes.Equal(packed.Bytes(), again.Bytes()) {
		t.Errorf("%v, or the bytes differ the second time", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil || len(archive.File) != 2 {
		t.Fatalf("%v, %d files", err, len(archive.File))
	}
	read := func(name string, mode os.FileMode) []byte {
		entry, err := archive.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := entry.Stat()
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		content, err := io.ReadAll(entry)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	if !bytes.Equal(read(entry, 0o755), program) {
		t.Error("the program differs")
	}
	var manifest struct {
		Version string
		Server  struct {
			EntryPoint string                   `json:"entry_point"`
			MCPConfig  struct{ Command string } `json:"mcp_config"`
		}
		Compatibility struct{ Platforms []string }
	}
	if err := json.Unmarshal(read("manifest.json", 0o644), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Version != "1.2.3" || len(manifest.Compatibility.Platforms) != 1 ||
		manifest.Compatibility.Platforms[0] != platform || manifest.Server.EntryPoint != entry ||
		manifest.Server.MCPConfig.Command != "${__dirname}/"+entry {
		t.Errorf("%+v", manifest)
	}
}

func TestBundleLeavesNothingBehindWhenItFails(t *testing.T) {
	for _, b := range []bundle{
		{binary: "none", platform: "linux", version: "1.2.3"},
		{binary: "main.go", platform: "plan9", version: "1.2.3"},
		{binary: "main.go", platform: "linux"},
	} {
		name := filepath.Join(t.TempDir(), "x.mcpb")
		if err := b.writeFile(name); err == nil {
			t.Errorf("%+v was packed", b)
		}
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}
