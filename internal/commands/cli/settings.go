package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const (
	// environmentPrefix is the prefix of environment variables.
	environmentPrefix = "REPOMCP_"
	// fromFile marks flags that the config file set.
	fromFile = "from the config file"
)

// ApplySettings sets the flags that the command line lacks from the environment, and then from the
// config file.
func ApplySettings(c *cobra.Command, lookup func(string) (string, bool)) error {
	if err := applyEnvironment(c.Flags(), lookup); err != nil {
		return err
	}
	path, err := c.Flags().GetString("config")
	if err != nil {
		return err
	}
	if path != "" {
		err = applyConfig(c, path)
	}
	return errors.Join(err, refuseNegative(c.Flags()))
}

// readConfig reads a config file: one YAML mapping from flag names to values. List elements are
// joined by commas, as flags take them.
func readConfig(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", path, err)
	}
	var nodes map[string]yaml.Node
	err = yaml.Unmarshal(content, &nodes)
	if lines := (*yaml.TypeError)(nil); errors.As(err, &lines) {
		err = errors.New(strings.Join(lines.Errors, "; ")) // one line
	}
	if err != nil {
		return nil, fmt.Errorf("config file %s: %w", path, err)
	}
	settings := make(map[string]string, len(nodes))
	for name, node := range nodes {
		if settings[name], err = settingValue(name, &node); err != nil {
			return nil, fmt.Errorf("config file %s: %w", path, err)
		}
	}
	return settings, nil
}

// settingValue returns a value in command-line form.
func settingValue(name string, node *yaml.Node) (string, error) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		inner := "NAME"
		if len(node.Content) > 0 {
			inner = node.Content[0].Value
		}
		return "", fmt.Errorf("%q has settings below it; write %q at the beginning of a line", name, inner+":")
	case yaml.SequenceNode:
		elements := make([]string, len(node.Content))
		for i, element := range node.Content {
			if element.Kind != yaml.ScalarNode {
				return "", fmt.Errorf("the list %q has an element that is not a single value", name)
			}
			elements[i] = element.Value
		}
		return strings.Join(elements, ","), nil
	default:
		if node.Tag == "!!null" {
			return "", nil
		}
		return node.Value, nil
	}
}

func applyEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := variable(flag.Name)
		value, ok := lookup(name)
		if !ok || flag.Changed || failed != nil {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			failed = fmt.Errorf("environment variable %s: %w", name, err)
		}
	})
	return failed
}

// variable returns the environment variable of a flag.
func variable(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// WarnOfSettings warns of variables that are no setting of any command.
func WarnOfSettings(logger *slog.Logger, root *cobra.Command, environ []string) {
	for name, advice := range UnknownVariables(root, environ) {
		logger.Warn("an environment variable is no setting; "+advice, "variable", name)
	}
}

// UnknownVariables maps variables that are no setting of any command to advice.
func UnknownVariables(root *cobra.Command, environ []string) map[string]string {
	known := settingNames(root)
	unknown := make(map[string]string)
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		setting, ours := strings.CutPrefix(name, environmentPrefix)
		if !ours {
			continue
		}
		switch near := nearest(setting, known); {
		case near == "":
			unknown[name] = "repomcp serve --help lists them"
		case variable(near) != name:
			unknown[name] = "did you mean " + variable(near) + "?"
		}
	}
	return unknown
}

// settingNames returns the flag names of all commands without duplicates.
func settingNames(root *cobra.Command) []string {
	names := []string{"config"}
	for _, command := range Below(root) {
		command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refuseNegative refuses negative numbers and times, which never have a meaning.
func refuseNegative(flags *pflag.FlagSet) error {
	var failed []error
	flags.VisitAll(func(flag *pflag.Flag) {
		if t := flag.Value.Type(); (t == "int" || t == "int64" || t == "duration") &&
			strings.HasPrefix(flag.Value.String(), "-") {
			failed = append(failed, fmt.Errorf("--%s %s is negative", flag.Name, flag.Value))
		}
	})
	return errors.Join(failed...)
}

// applyConfig applies the file's settings for this command. An unknown key is a spelling mistake
// and refused.
func applyConfig(c *cobra.Command, path string) error {
	settings, err := readConfig(path)
	if err != nil {
		return err
	}
	known := settingNames(c.Root())
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		flag := c.Flags().Lookup(key)
		if flag == nil && !slices.Contains(known, key) {
			return fmt.Errorf("config file %s: unknown setting %q.%s", path, key, DidYouMean(key, known))
		}
		if flag == nil || flag.Changed {
			continue
		}
		if err := c.Flags().Set(key, settings[key]); err != nil {
			return fmt.Errorf("config file %s: %w", path, err)
		}
		if err := c.Flags().SetAnnotation(key, fromFile, nil); err != nil {
			return err
		}
	}
	return nil
}

// FileSetting returns a setting as a restart would see it: the command line and the environment
// still take precedence, and the file is read again.
func FileSetting(c *cobra.Command, name string) (string, error) {
	flag := c.Flags().Lookup(name)
	_, fromTheFile := flag.Annotations[fromFile]
	path, err := c.Flags().GetString("config")
	if err != nil || path == "" || flag.Changed && !fromTheFile {
		return flag.Value.String(), err
	}
	settings, err := readConfig(path)
	if err != nil {
		return "", err
	}
	if value, ok := settings[name]; ok {
		return value, nil
	}
	return flag.DefValue, nil
}

// Below returns all direct and indirect subcommands.
func Below(c *cobra.Command) (list []*cobra.Command) {
	for _, inner := range c.Commands() {
		list = append(append(list, inner), Below(inner)...)
	}
	return list
}
