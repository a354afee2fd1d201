package git

import (
	"maps"
	"strings"

	"github.com/go-git/go-git/v5/config"

	"github.com/repomcp/repomcp/internal/git/gitconfig"
)

// MaxSubmodulesBytes is the largest .gitmodules file that is read: about a
// thousand submodules.
const MaxSubmodulesBytes = 64 << 10

// ParseSubmodules reads a .gitmodules file (gitmodules(5)): the URL of each submodule by its path.
// It leaves out submodules that git would not use, and a path that two submodules claim, since the
// right one is unknown. A malformed file names no submodules.
func ParseSubmodules(content []byte) map[string]string {
	if len(content) > MaxSubmodulesBytes {
		return nil
	}
	settings, err := gitconfig.Parse(string(content))
	if err != nil {
		return nil
	}
	modules := submodules(settings)
	urls := make(map[string]string, len(modules))
	claims := make(map[string]int, len(modules))
	for _, m := range modules {
		// Like git: a name that leads out of .git/modules, and a path or a URL that looks like an
		// option, are treated as an attack.
		if m.Validate() != nil || strings.HasPrefix(m.Path, "-") || strings.HasPrefix(m.URL, "-") {
			continue
		}
		path := strings.TrimSuffix(m.Path, "/")
		if path == "" {
			continue
		}
		urls[path] = m.URL
		claims[path]++
	}
	maps.DeleteFunc(urls, func(path, _ string) bool { return claims[path] > 1 })
	return urls
}

// submodules are those of a .gitmodules file by name, with the last value of each key.
func submodules(settings []gitconfig.Setting) map[string]*config.Submodule {
	modules := make(map[string]*config.Submodule)
	for _, s := range settings {
		name, ok := strings.CutPrefix(s.Name, "submodule.")
		end := strings.LastIndexByte(name, '.')
		if !ok || end < 0 {
			continue
		}
		name, key := name[:end], name[end+1:]
		if modules[name] == nil {
			modules[name] = &config.Submodule{Name: name}
		}
		switch key {
		case "path":
			modules[name].Path = s.Value
		case "url":
			modules[name].URL = s.Value
		}
	}
	return modules
}
