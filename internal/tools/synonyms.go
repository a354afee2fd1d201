package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// rename returns the arguments with the names that this tool has. An unknown name is replaced if
// there is exactly one argument that it can mean, and that can have the value; this is noted.
func (p *parameters) rename(values map[string]any) map[string]any {
	known := p.names()
	renamed := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(known, name) || values[name] == nil {
			continue
		}
		if q, value := p.meant(name, values[name], renamed); q != nil {
			delete(renamed, name)
			renamed[q.name] = value
			p.notes = append(p.notes, fmt.Sprintf("There is no argument %s; it is taken as %s.", quote(clip(name)), q.name))
		}
	}
	return renamed
}

// meant returns the only argument without a value that another name can mean, and its value.
func (p *parameters) meant(name string, value any, given map[string]any) (found *parameter, its any) {
	for _, q := range p.list {
		if given[q.name] != nil || !slices.Contains(p.meanings(name), q.name) {
			continue
		}
		converted := q.convert(value)
		if q.set(converted) != "" {
			continue
		}
		if found != nil {
			return nil, nil
		}
		found, its = q, converted
	}
	return found, its
}

// meanings returns the names of arguments that an unknown name can mean: the same words in another
// way to write them, or else the synonyms.
func (p *parameters) meanings(name string) (meant []string) {
	folded := spelling.Fold(clip(name))
	for _, known := range p.names() {
		if spelling.Fold(known) == folded {
			meant = append(meant, known)
		}
	}
	if len(meant) > 0 {
		return meant
	}
	return strings.Fields(synonyms[folded])
}

// convert returns the value of a synonym as the argument takes it.
func (q *parameter) convert(value any) any {
	switch given := value.(type) {
	case bool:
		if q.name == "detail" && given {
			return detailPatch
		} else if q.name == "detail" {
			return detailStats
		}
	case []any:
		if q.schema.Type == "string" && len(given) == 1 {
			return given[0]
		}
	}
	return value
}

// refuseUnknown fails for misspelt names: ignoring them would answer another question.
func (p *parameters) refuseUnknown(values map[string]any) error {
	known := p.names()
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)),
		func(name string) bool { return slices.Contains(known, name) })
	if len(unknown) == 0 {
		return nil
	}
	name := clip(unknown[0])
	meant := slices.DeleteFunc(p.meanings(name), func(name string) bool { return !slices.Contains(known, name) })
	if len(meant) == 0 {
		meant = spelling.Closest(name, known, 1)
	}
	return say("There is no argument %s.%s This tool has: %s.", quote(name), didYouMean(meant),
		strings.Join(known, ", "))
}

// synonyms maps folded argument names of other tools to names that may mean the same here.
var synonyms = map[string]string{
	"q": "query grep", "text": "query grep", "search": "query grep", "keyword": "query grep", "message": "grep",
	"pattern": "glob query grep", "regex": "query grep", "regexp": "query grep",
	"limit": "perPage", "count": "perPage", "max": "perPage", "maxresults": "perPage", "first": "perPage",
	"pagesize": "perPage", "page": "cursor", "after": "cursor since", "before": "until", "nextcursor": "cursor",
	"line": "start_line", "linerange": "lines", "viewrange": "lines", "range": "lines base",
	"from": "base since", "to": "head until",
	"basehead": "base head", "startdate": "since", "enddate": "until",
	"file": "path paths", "filename": "path paths", "filepath": "path paths", "dir": "path paths",
	"directory": "path paths", "folder": "path paths", "path": "paths", "paths": "path",
	"repository": "repo", "reponame": "repo", "project": "repo", "org": "owner", "user": "owner",
	"name": "tag query repo", "branch": "ref head", "revision": "ref head", "rev": "ref head", "tag": "ref head",
	"commit": "sha head", "commitsha": "sha head", "commitid": "sha head", "hash": "sha head",
	"depth": "recursive", "maxdepth": "recursive", "diff": "detail", "includediff": "detail",
	"patch": "detail", "ignorecase": "case case_sensitive",
}
