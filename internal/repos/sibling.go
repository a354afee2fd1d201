package repos

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/config"

	"github.com/repomcp/repomcp/internal/git/gitconfig"
)

// MaxSubmodulesBytes is the largest .gitmodules file that is read: about a
// thousand submodules.
const MaxSubmodulesBytes = 64 << 10

// maxURLBytes bounds the URL of a submodule.
const maxURLBytes = 4 << 10

// ParseSubmodules reads a .gitmodules file (gitmodules(5)): the URL of each
// submodule by its path. What git would not use is left out, as is a path that
// two submodules claim, for nothing says which of them is meant. A file that is
// malformed names no submodules.
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
		// Like git: a name that is a path out of .git/modules, and a path or an
		// URL that looks like an option, are taken for an attack.
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

// submodules are those of a .gitmodules file by name, of each key the last value.
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

// siblingNames are the names that an URL may mean, the best first.
func siblingNames(own, rawURL string) []string {
	if len(rawURL) > maxURLBytes {
		return nil
	}
	if strings.HasPrefix(rawURL, "./") || strings.HasPrefix(rawURL, "../") {
		return relativeName(own, rawURL)
	}
	host, path, ok := splitURL(rawURL)
	if !ok || host == "." || host == ".." {
		return nil
	}
	parts, ok := nameParts(path)
	if !ok || len(parts) == 0 {
		return nil
	}
	shortest := min(len(parts), 2)
	if host != "" {
		parts = append([]string{strings.ToLower(host)}, parts...)
	}
	var names []string
	for from := 0; len(parts)-from >= shortest; from++ {
		names = append(names, strings.Join(parts[from:], "/"))
	}
	return names
}

// relativeName resolves a relative URL of gitmodules(5), "submodule.<name>.url",
// from a name in place of a URL: beyond the root there is nothing.
func relativeName(own, relative string) []string {
	parts := strings.Split(own, "/")
	for rest := relative; ; {
		switch {
		case strings.HasPrefix(rest, "./"):
			rest = rest[len("./"):]
		case strings.HasPrefix(rest, "../"):
			if len(parts) == 0 {
				return nil
			}
			rest, parts = rest[len("../"):], parts[:len(parts)-1]
		default:
			below, ok := nameParts(rest)
			if !ok || len(below) == 0 {
				return nil
			}
			return []string{strings.Join(append(parts, below...), "/")}
		}
	}
}

// splitURL takes the host and the path out of the forms of git-clone(1): URLs,
// host:path, and paths.
func splitURL(raw string) (host, path string, ok bool) {
	if strings.Contains(raw, "://") {
		u, err := url.Parse(raw)
		if err != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", "", false
		}
		return u.Hostname(), u.Path, true
	}
	before, after, colon := strings.Cut(raw, ":")
	if !colon || strings.Contains(before, "/") {
		return "", raw, strings.HasPrefix(raw, "/")
	}
	if strings.HasPrefix(after, ":") { // a remote helper: gitremote-helpers(7)
		return "", "", false
	}
	return before[strings.LastIndexByte(before, '@')+1:], after, true
}

// nameParts divides a path into the parts of a name. It fails for one that
// names something else than it seems.
func nameParts(path string) ([]string, bool) {
	path = strings.TrimSuffix(strings.TrimRight(path, "/"), ".git")
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool { return part == "" })
	return parts, !slices.ContainsFunc(parts, func(part string) bool { return part == "." || part == ".." })
}
