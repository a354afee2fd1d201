package objects

import (
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/gitconfig"
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

// readSettings reads the configuration of a repository of the format that this
// package reads. A malformed one is refused, as by git: its rules of what is
// hidden would count for nothing.
func readSettings(config string) ([]gitconfig.Setting, error) {
	settings, err := gitconfig.Parse(config)
	if err != nil {
		return nil, &UnsupportedError{"config", err.Error()}
	}
	return settings, checkFormat(settings)
}

// checkFormat refuses repositories that are not of the format that this
// package reads. Only core.repositoryformatversion and extensions.* are looked
// at, of each the last that is given.
func checkFormat(settings []gitconfig.Setting) error {
	version, extensions := "0", make(map[string]string)
	for _, s := range settings {
		if s.Name == "core.repositoryformatversion" {
			version = s.Value
		} else if name, ok := strings.CutPrefix(s.Name, "extensions."); ok {
			extensions[name] = s.Value
		}
	}
	if version != "0" && version != "1" {
		return &UnsupportedError{"core.repositoryformatversion", version}
	}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		// Under version 0 git ignores the names that came after version 1,
		// but refuses to open a repository that uses one of its own: nobody
		// can mean SHA-1 by writing sha256, so both are refused here.
		known := name == "objectformat" || name == "refstorage" || name == "compatobjectformat"
		if value := extensions[name]; (version == "1" || known) && !harmless(name, strings.ToLower(value)) {
			return &UnsupportedError{"extensions." + name, value}
		}
	}
	return nil
}

// Configured returns the values of keys such as core.bare, in lower case, in the
// order of the repository's configuration file. Included files are not looked at.
func (db *Database) Configured(names ...string) []string {
	var values []string
	for _, s := range db.settings {
		if slices.Contains(names, s.Name) {
			values = append(values, s.Value)
		}
	}
	return values
}

// partial says whether the repository is a partial clone: objects may be missing
// by design (git-clone(1), --filter).
func (db *Database) partial() bool {
	return slices.ContainsFunc(db.settings, func(s gitconfig.Setting) bool {
		return s.Name == "extensions.partialclone" ||
			strings.HasPrefix(s.Name, "remote.") && strings.HasSuffix(s.Name, ".promisor") && s.Value == "true"
	})
}
