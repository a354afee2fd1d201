package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/cli"
)

// newManual is for those who make packages. The date of the pages is SOURCE_DATE_EPOCH,
// so that builds can be repeated, or today's.
func newManual(env cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands into a folder",
		Hidden: true,
		Args:   cli.CountArguments(1, 1, "name the folder that the pages go into"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // everybody reads manuals
				return err
			}
			date := time.Now()
			if epoch, ok := env.Lookup("SOURCE_DATE_EPOCH"); ok {
				seconds, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return cli.Misused(fmt.Errorf("SOURCE_DATE_EPOCH is a number of seconds, not %q", epoch))
				}
				date = time.Unix(seconds, 0)
			}
			return writeManual(c.Root(), args[0], date.UTC().Format(time.DateOnly))
		},
	}
}

// writeManual writes the page of a command, and of all below it.
func writeManual(c *cobra.Command, folder, date string) error {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	file := filepath.Join(folder, pageName(c)+".1")
	if err := os.WriteFile(file, []byte(manualPage(c, date)), 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	for _, inner := range c.Commands() {
		if !inner.IsAvailableCommand() {
			continue
		}
		if err := writeManual(inner, folder, date); err != nil {
			return err
		}
	}
	return nil
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage returns the page of a command in the language of man(7).
func manualPage(c *cobra.Command, date string) string {
	var page strings.Builder
	fmt.Fprintf(&page, ".TH %s 1 %s repomcp repomcp\n.nh\n.ad l\n", strings.ToUpper(pageName(c)), date)
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(&page, ".SH SYNOPSIS\n\\fB%s\\fR\n", roff(c.UseLine()))
	page.WriteString(".SH DESCRIPTION\n")
	writeText(&page, cmp.Or(c.Long, c.Short))
	writeOptions(&page, "OPTIONS", c.NonInheritedFlags())
	writeOptions(&page, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.HasExample() {
		page.WriteString(".SH EXAMPLES\n")
		writeText(&page, c.Example)
	}
	var related []string
	if c.HasParent() {
		related = append(related, pageName(c.Parent()))
	}
	for _, inner := range c.Commands() {
		if inner.IsAvailableCommand() {
			related = append(related, pageName(inner))
		}
	}
	for i, name := range related {
		related[i] = `\fB` + roff(name) + `\fR(1)`
	}
	fmt.Fprintf(&page, ".SH SEE ALSO\n%s\n", strings.Join(related, ",\n"))
	return page.String()
}

// writeText writes paragraphs, in which indented lines stay as they are.
func writeText(page *strings.Builder, text string) {
	example := false
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !example:
			page.WriteString(".EX\n")
		case !indented && example:
			page.WriteString(".EE\n")
		}
		if example = indented; line == "\n" {
			line = ".PP\n"
		} else {
			line = roff(line)
		}
		page.WriteString(line)
	}
	if example {
		page.WriteString(".EE\n")
	}
}

// writeOptions writes a section of flags, as --help shows them.
func writeOptions(page *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(page, ".SH %s\n", title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(flag)
		name := roff("--" + flag.Name)
		if flag.Shorthand != "" {
			name = roff("-"+flag.Shorthand) + ", " + name
		}
		fmt.Fprintf(page, ".TP\n\\fB%s\\fR", name)
		if kind != "" {
			fmt.Fprintf(page, " \\fI%s\\fR", kind)
		}
		fmt.Fprintf(page, "\n%s", roff(usage))
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, flag.DefValue) {
			fmt.Fprintf(page, " (default %s)", roff(flag.DefValue))
		}
		page.WriteString("\n")
	})
}

// roffSigns are what man(7) takes for commands, or shows as other characters than
// those that are to be typed.
var roffSigns = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff returns a line so that man(7) shows it as it is.
func roff(text string) string {
	shown := roffSigns.Replace(text)
	if strings.HasPrefix(shown, ".") {
		return `\&` + shown
	}
	return shown
}
