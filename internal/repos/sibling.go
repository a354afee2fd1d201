package repos

import (
	"net/url"
	"slices"
	"strings"
)

// maxURLBytes bounds the URL of a submodule.
const maxURLBytes = 4 << 10

// siblingNames are the names that a URL may mean, the best first.
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

// relativeName resolves a relative URL of gitmodules(5), "submodule.<name>.url", against a name in
// place of a URL. A URL that leads out of the root has no name.
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

// splitURL extracts the host and the path from the forms of git-clone(1): URLs, host:path, and
// paths.
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

// nameParts divides a path into the parts of a name. It fails for a misleading path.
func nameParts(path string) ([]string, bool) {
	path = strings.TrimSuffix(strings.TrimRight(path, "/"), ".git")
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool { return part == "" })
	return parts, !slices.ContainsFunc(parts, func(part string) bool { return part == "." || part == ".." })
}
