package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/tools/spelling"
)

// UsageError is a mistake in the command line or in a setting.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Misused returns a [UsageError].
func Misused(err error) error { return &UsageError{err} }

// nearest returns the likely meaning of a wrong name, or "".
func nearest(name string, known []string) string {
	return strings.Join(spelling.Closest(name, known, 1), "")
}

// DidYouMean returns a sentence with a leading space that suggests the likely meaning of a wrong
// name, or "".
func DidYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return " Did you mean " + near + "?"
	}
	return ""
}

// CountArguments refuses other numbers of arguments.
func CountArguments(least, most int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Misused(errors.New(text))
		}
		return nil
	}
}

// NoArguments refuses every argument.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misused(fmt.Errorf("%s takes no argument %q; %s --help lists its flags", c.Name(), args[0],
			c.CommandPath()))
	}
	return nil
}

// ExplainMistakes makes a command and its subcommands explain wrong words and flags. Call it after
// all commands are added.
func ExplainMistakes(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range append(Below(root), root) {
		switch {
		case c.Name() == "help":
			c.Args = refuseTopic
		case c.HasSubCommands():
			c.Args = refuseWord
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	root.SetFlagErrorFunc(explainFlag)
}

// refuseTopic refuses unknown help topics.
func refuseTopic(help *cobra.Command, args []string) error {
	found, rest, err := help.Root().Find(args)
	if err != nil || !found.HasSubCommands() {
		return err
	}
	return refuseWord(found, rest)
}

// refuseWord refuses a word in place of a command.
func refuseWord(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, inner := range c.Commands() {
		if inner.IsAvailableCommand() {
			names = append(names, inner.Name())
		}
	}
	wanted := strings.TrimPrefix(c.CommandPath()+" "+args[0], c.Root().Name()+" ")
	return Misused(fmt.Errorf("there is no command %q.%s There are %s", wanted, DidYouMean(args[0], names),
		strings.Join(names, ", ")))
}

// explainFlag explains a wrong flag of a command.
func explainFlag(c *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return Misused(err)
	}
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return refuseWord(c, args) // the flag belongs to that word
	}
	name := unknown.GetSpecifiedName()
	if group := unknown.GetSpecifiedShortnames(); len(group) > 1 {
		name = group // -root, which pflag reads as -r -o -o -t
	}
	var names, owners []string
	c.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	for _, inner := range Below(c) {
		if inner.IsAvailableCommand() && inner.Flags().Lookup(name) != nil {
			owners = append(owners, inner.CommandPath())
		}
	}
	near := DidYouMean(name, names)
	switch {
	case owners != nil:
		err = fmt.Errorf("%w; it is one of %s", err, strings.Join(owners, ", "))
	case near != "":
		err = fmt.Errorf("%w.%s", err, near)
	default:
		err = fmt.Errorf("%w; %s --help lists them", err, c.CommandPath())
	}
	return Misused(err)
}
