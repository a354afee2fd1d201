package objects

import (
	"slices"
	"strings"
)

// configSize bounds a repository's configuration file.
const configSize = 1 << 20

// The extensions that do not change how objects are read: gitrepository-
// layout(5) and "extensions.*" in git-config(1). All others are refused, as
// git refuses what it does not know.
func harmless(extension, value string) bool {
	switch extension {
	case "noop", "noop-v1", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees":
		return true
	case "objectformat":
		return value == "sha1"
	case "refstorage":
		return value == "files"
	}
	return false
}

// checkFormat refuses repositories that are not of the format that this
// package reads. Only core.repositoryformatversion and extensions.* are looked
// at, and includes are not followed, as when git itself checks the format.
func checkFormat(config string) error {
	version, extensions := "0", []setting(nil)
	for _, s := range parseConfig(config) {
		switch {
		case s.section == "core" && s.key == "repositoryformatversion":
			version = s.value
		case s.section == "extensions":
			extensions = slices.DeleteFunc(extensions, func(old setting) bool { return old.key == s.key })
			extensions = append(extensions, s)
		}
	}
	if version != "0" && version != "1" {
		return &UnsupportedError{"core.repositoryformatversion", version}
	}
	for _, e := range extensions {
		// Under version 0 git ignores the names that came after version 1,
		// but refuses to open a repository that uses one of its own: nobody
		// can mean SHA-1 by writing sha256, so both are refused here.
		known := e.key == "objectformat" || e.key == "refstorage" || e.key == "compatobjectformat"
		if (version == "1" || known) && !harmless(e.key, strings.ToLower(e.value)) {
			return &UnsupportedError{"extensions." + e.key, e.value}
		}
	}
	return nil
}

// setting is one line of a configuration: section and key in lower case.
type setting struct{ section, key, value string }

// parseConfig reads what checkFormat needs of the syntax in git-config(1):
// sections without subsection, keys, values with quotes, comments, lines that
// go on. What it cannot read it passes over.
func parseConfig(text string) []setting {
	var settings []setting
	section := ""
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			name, after, _ := strings.Cut(rest, "]")
			section, line = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(after)
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, given := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if !given {
			value = "true"
		}
		settings = append(settings, setting{section, key, configValue(value)})
	}
	return settings
}

// configValue removes quotes and comments.
func configValue(raw string) string {
	var value strings.Builder
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(raw):
			i++
			value.WriteByte(raw[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(value.String())
		default:
			value.WriteByte(c)
		}
	}
	return strings.TrimSpace(value.String())
}

// Configured returns the values of keys such as core.bare, in lower case, in the
// order of the repository's configuration file. Sections with a subsection and
// included files are not looked at.
func (db *Database) Configured(names ...string) []string {
	var values []string
	for _, s := range db.settings {
		if slices.Contains(names, s.section+"."+s.key) {
			values = append(values, s.value)
		}
	}
	return values
}

// partial says whether the repository is a partial clone: objects may be missing
// by design (git-clone(1), --filter).
func (db *Database) partial() bool {
	return slices.ContainsFunc(db.settings, func(s setting) bool {
		return s.section == "extensions" && s.key == "partialclone" ||
			strings.HasPrefix(s.section, "remote ") && s.key == "promisor" && s.value == "true"
	})
}
