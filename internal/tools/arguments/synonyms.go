package arguments

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// rename returns the arguments with the names that this tool has. An unknown name is replaced if
// there is exactly one argument that it can mean, and that can have the value; this is noted.
func (p *List) rename(values map[string]any) map[string]any {
	known := p.Names()
	renamed := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(known, name) || values[name] == nil {
			continue
		}
		if q, value := p.meant(name, values[name], renamed); q != nil {
			delete(renamed, name)
			renamed[q.Name] = value
			p.Notes = append(p.Notes, fmt.Sprintf("There is no argument %s; it is taken as %s.",
				quoting.Name(spelling.Clip(name)), q.Name))
		}
	}
	return renamed
}

// meant returns the only argument without a value that another name can mean, and its value.
func (p *List) meant(name string, value any, given map[string]any) (found *Argument, its any) {
	for _, q := range p.list {
		if given[q.Name] != nil || !slices.Contains(p.meanings(name), q.Name) {
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
func (p *List) meanings(name string) (meant []string) {
	folded := spelling.Fold(spelling.Clip(name))
	for _, known := range p.Names() {
		if spelling.Fold(known) == folded {
			meant = append(meant, known)
		}
	}
	if len(meant) > 0 {
		return meant
	}
	return strings.Fields(p.Synonyms[folded])
}

// convert returns the value of a synonym as the argument takes it.
func (q *Argument) convert(value any) any {
	switch given := value.(type) {
	case bool:
		if word := q.flags[given]; word != "" {
			return word
		}
	case []any:
		if q.schema.Type == "string" && len(given) == 1 {
			return given[0]
		}
	}
	return value
}

// refuseUnknown fails for misspelt names: ignoring them would answer another question.
func (p *List) refuseUnknown(values map[string]any) error {
	known := p.Names()
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)),
		func(name string) bool { return slices.Contains(known, name) })
	if len(unknown) == 0 {
		return nil
	}
	name := spelling.Clip(unknown[0])
	meant := slices.DeleteFunc(p.meanings(name), func(name string) bool { return !slices.Contains(known, name) })
	if len(meant) == 0 {
		meant = spelling.Closest(name, known, 1)
	}
	return say("There is no argument %s.%s This tool has: %s.", quoting.Name(name), spelling.DidYouMean(meant),
		strings.Join(known, ", "))
}
