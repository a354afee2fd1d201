package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repomcp/repomcp/internal/git/wildmatch"
)

// maxPatterns bounds the patterns of all rules: those that are neither names nor whole folders are
// matched against every name.
const maxPatterns = 20_000

// gitSuffix ends the folders of bare repositories, and is no part of names.
const gitSuffix = ".git"

// lists are the keys of a rule whose values are lists of strings.
var lists = map[string]struct {
	setOf func(r *rule) *set // nil: the repositories
	check func(text string) error
}{
	"principals":   {func(r *rule) *set { return &r.principals }, checkName},
	"groups":       {func(r *rule) *set { return &r.groups }, checkName},
	"scopes":       {func(r *rule) *set { return &r.scopes }, checkName},
	"repositories": {nil, checkPattern},
}

// parse parses a file. It refuses whatever it does not understand, because a misspelt right would
// be a different one.
func parse(text []byte) ([]rule, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0:
		return nil, errors.New("the file is empty; write \"rules: []\" to forbid everything")
	case err != nil:
		return nil, yamlError(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document; write all rules into one list")
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode || len(root.Content) != 2 || root.Content[0].Value != "rules" {
		return nil, faultAt(root, "the file has one key, rules, with a list")
	}
	list := root.Content[1]
	if list.Kind != yaml.SequenceNode {
		return nil, faultAt(list, "rules is a list; begin each rule with a dash")
	}
	rules, patterns := make([]rule, len(list.Content)), 0
	for i, node := range list.Content {
		if err := rules[i].read(node); err != nil {
			return nil, err
		}
		if patterns += len(rules[i].repositories); patterns > maxPatterns {
			return nil, faultAt(node, "there are more than %d patterns; name folders with **", maxPatterns)
		}
	}
	return rules, nil
}

// yamlError returns an error without the name of the library. The usual mistake is an unquoted star
// at the beginning of a string, which is an alias in YAML.
func yamlError(err error) error {
	return fmt.Errorf("%s; put patterns into quotes", strings.TrimPrefix(err.Error(), "yaml: "))
}

func faultAt(node *yaml.Node, format string, values ...any) error {
	return fmt.Errorf("line %d: %s", node.Line, fmt.Sprintf(format, values...))
}

func (r *rule) read(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return faultAt(node, "a rule has keys: repositories, and its principals, groups or scopes")
	}
	seen := make(set)
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if seen[key.Value] {
			return faultAt(key, "the rule has %q twice", key.Value)
		}
		seen[key.Value] = true
		if err := r.set(key, value); err != nil {
			return err
		}
	}
	named := r.principals != nil || r.groups != nil || r.scopes != nil
	switch {
	case len(r.repositories) == 0:
		return faultAt(node, "the rule has no repositories")
	case !named && !r.anybody:
		return faultAt(node, "the rule has no condition; name principals, groups or scopes, or write "+
			"\"anybody: true\"")
	case named && r.anybody:
		return faultAt(node, "the rule has \"anybody\" and a condition; leave one of them out")
	}
	return nil
}

// set parses one key of a rule.
func (r *rule) set(key, value *yaml.Node) error {
	if key.Value == "anybody" {
		if value.Decode(&r.anybody) != nil || !r.anybody {
			return faultAt(value, "anybody is true, or left out")
		}
		return nil
	}
	list, known := lists[key.Value]
	if !known {
		return faultAt(key, "a rule has no key %q; it has principals, groups, scopes, anybody and repositories",
			key.Value)
	}
	if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
		return faultAt(value, "%s is a list of one string or more, such as [%q]", key.Value, "a")
	}
	texts := make(set, len(value.Content))
	for _, item := range value.Content {
		if item.Kind != yaml.ScalarNode || item.ShortTag() != "!!str" {
			return faultAt(item, "%s is a list of strings; put other values into quotes", key.Value)
		}
		if err := list.check(item.Value); err != nil {
			return faultAt(item, "%s", err)
		}
		texts[item.Value] = true
		if list.setOf == nil {
			r.repositories = append(r.repositories, strings.TrimSuffix(item.Value, gitSuffix))
		}
	}
	if list.setOf != nil {
		*list.setOf(r) = texts
	}
	return nil
}

func checkName(name string) error {
	if name == "" || strings.TrimSpace(name) != name {
		return fmt.Errorf("%q is no name of a principal, group or scope", name)
	}
	return nil
}

func checkPattern(pattern string) error {
	bare := strings.TrimSuffix(pattern, gitSuffix)
	switch {
	case bare != strings.Trim(bare, "/") || strings.Contains(bare, "//") || bare == "":
		return fmt.Errorf("%q can match no repository; write names with single slashes between them", pattern)
	case wildmatch.Malformed(bare):
		return fmt.Errorf("%q is no pattern: a set such as [abc] has no end, or a backslash nothing behind it", pattern)
	}
	return nil
}
