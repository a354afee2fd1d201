package main

import (
	"fmt"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// environmentPrefix begins the names of environment variables.
const environmentPrefix = "REPOMCP_"

// applySettings fills the flags that the command line did not give from the
// environment and then from the config file.
func applySettings(c *cobra.Command, lookup func(string) (string, bool)) error {
	if err := applyEnvironment(c.Flags(), lookup); err != nil {
		return err
	}
	path, err := c.Flags().GetString("config")
	if err != nil || path == "" {
		return err
	}
	settings := koanf.New("\x00")
	if err := settings.Load(file.Provider(path), yaml.Parser()); err != nil {
		return fmt.Errorf("config file %s: %w", path, err)
	}
	return applyFile(c, settings, path)
}

func applyEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
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

// applyFile takes the settings of this command. A key that is no flag of any
// command is refused: it is a spelling mistake.
func applyFile(c *cobra.Command, settings *koanf.Koanf, path string) error {
	for _, key := range settings.Keys() {
		flag := c.Flags().Lookup(key)
		if flag == nil && !anyCommandHas(c.Root(), key) {
			return fmt.Errorf("config file %s: unknown setting %q", path, key)
		}
		if flag == nil || flag.Changed {
			continue
		}
		value := settings.String(key)
		if list := settings.Strings(key); len(list) > 0 {
			value = strings.Join(list, ",")
		}
		if err := c.Flags().Set(key, value); err != nil {
			return fmt.Errorf("config file %s: %w", path, err)
		}
	}
	return nil
}

func anyCommandHas(root *cobra.Command, name string) bool {
	for _, command := range root.Commands() {
		if command.Flags().Lookup(name) != nil {
			return true
		}
	}
	return false
}
