// Command mcpb packs the program into an MCP bundle (.mcpb), which desktop clients
// install by a double click: a zip file of manifest.json and server/repomcp, on Windows server/repomcp.exe.
//
//	go run ./deploy/mcpb -binary repomcp -platform linux -version 1.2.3 -o repomcp.mcpb
//
// A bundle has one program, and thus is for one platform. The same inputs make the
// same bytes.
package main

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// template is the manifest but for what differs between bundles.
//
//go:embed manifest.json
var template []byte

func main() {
	var b bundle
	flag.StringVar(&b.binary, "binary", "repomcp", "the program, built for the platform")
	flag.StringVar(&b.platform, "platform", "", "GOOS of the program: darwin, linux or windows")
	flag.StringVar(&b.version, "version", "", "version of the bundle, with or without v")
	output := flag.String("o", "repomcp.mcpb", "file to write")
	flag.Parse()
	if err := b.writeFile(*output); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "mcpb:", err)
		os.Exit(1)
	}
}

// bundle is what goes into a file.
type bundle struct{ binary, platform, version string }

// platforms have, by GOOS, their names in a manifest and those of the program in a bundle.
var platforms = map[string]struct{ name, program string }{
	"darwin":  {"darwin", "server/repomcp"},
	"linux":   {"linux", "server/repomcp"},
	"windows": {"win32", "server/repomcp.exe"},
}

func (b bundle) writeFile(name string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	return b.write(file)
}

func (b bundle) write(w io.Writer) error {
	manifest, err := b.manifest()
	if err != nil {
		return err
	}
	program, err := os.Open(b.binary)
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }() // it was only read
	archive := zip.NewWriter(w)
	if err := add(archive, "manifest.json", 0o644, bytes.NewReader(manifest)); err != nil {
		return err
	}
	if err := add(archive, platforms[b.platform].program, 0o755, program); err != nil {
		return err
	}
	return archive.Close()
}

func add(archive *zip.Writer, name string, mode os.FileMode, content io.Reader) error {
	// The first time that zip can tell.
	header := &zip.FileHeader{
		Name: name, Method: zip.Deflate, Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC),
	}
	header.SetMode(mode)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(entry, content)
	return err
}

// manifest is the template for one platform.
func (b bundle) manifest() ([]byte, error) {
	platform, ok := platforms[b.platform]
	if !ok {
		return nil, fmt.Errorf("-platform %q is none of darwin, linux and windows", b.platform)
	}
	var m map[string]any
	text := bytes.ReplaceAll(template, []byte(platforms["linux"].program), []byte(platform.program))
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	m["compatibility"] = map[string]any{"platforms": []string{platform.name}}
	version := strings.TrimPrefix(b.version, "v")
	if version == "" {
		return nil, errors.New("-version is missing, such as 1.2.3")
	}
	m["version"] = version
	return json.MarshalIndent(m, "", "  ")
}
