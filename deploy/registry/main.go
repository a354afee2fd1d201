// Command registry writes the server.json of a release for the registry of MCP
// servers: the one beside it, with the version and the digests of the bundles.
//
//	go run ./deploy/registry -version v1.2.3 -bundles dist.extra -o server.json
package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// template has the version noVersion throughout, and no digests.
//
//go:embed server.json
var template []byte

const noVersion = "0.0.0"

func main() {
	version := flag.String("version", "", "version of the release, with or without v")
	bundles := flag.String("bundles", "dist.extra", "folder of the .mcpb files of the release")
	output := flag.String("o", "server.json", "file to write")
	flag.Parse()
	document, err := fill(strings.TrimPrefix(*version, "v"), *bundles)
	if err == nil {
		err = os.WriteFile(*output, document, 0o600)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

// fill makes the document of a version, whose bundles are in a folder.
func fill(version, bundles string) ([]byte, error) {
	if version == "" || version == noVersion {
		return nil, errors.New("-version is missing, such as v1.2.3")
	}
	var document map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(template, []byte(noVersion), []byte(version)), &document); err != nil {
		return nil, err
	}
	packages, _ := document["packages"].([]any)
	for _, p := range packages {
		p, _ := p.(map[string]any)
		if p["registryType"] != "mcpb" {
			continue
		}
		identifier, _ := p["identifier"].(string)
		bundle, err := os.ReadFile(filepath.Join(bundles, path.Base(identifier)))
		if err != nil {
			return nil, err
		}
		p["fileSha256"] = fmt.Sprintf("%x", sha256.Sum256(bundle))
	}
	return json.MarshalIndent(document, "", "  ")
}
