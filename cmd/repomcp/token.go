package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// day is a unit of lifetimes, which package time lacks.
const day = 24 * time.Hour

// tokenFlags are common to the commands about tokens.
type tokenFlags struct {
	env  cli.Environment
	file string
}

func newToken(env cli.Environment) *cobra.Command {
	f := &tokenFlags{env: env}
	command := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens of clients",
		Long: `Create, list and revoke the tokens of a server's --tokens file. It contains hashes, from
which no token can be derived, with names, groups and dates; a running server
follows changes within seconds. The file is replaced atomically, and other lines
stay.`,
	}
	command.PersistentFlags().StringVar(&f.file, "tokens", "", "file with the tokens (required)")
	command.AddCommand(f.newNew(), f.newList(), f.newRevoke())
	return command
}

var errNoTokens = cli.Misused(errors.New("name the file of the tokens with --tokens FILE, or in REPOMCP_TOKENS"))

func (f *tokenFlags) newNew() *cobra.Command {
	var groups []string
	var life lifetime
	command := &cobra.Command{
		Use:   "new NAME --tokens FILE",
		Short: "Create a token and print it once",
		Long: `Make a token for a person or a machine, by a name that the logs show, and print it.
It is stored nowhere: make another one if it is lost.`,
		Example: `  repomcp token new alice --tokens /etc/repomcp/tokens
  repomcp token new ci --group build --expires 90d --tokens /etc/repomcp/tokens`,
		Args: cli.CountArguments(1, 1, "name the token, such as the person or the machine that it is for"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.file == "" {
				return errNoTokens
			}
			token, entry, err := tokens.New(args[0], groups, time.Duration(life), time.Now())
			if err != nil {
				return cli.Misused(err)
			}
			if err := tokens.Add(f.file, entry); err != nil {
				return fmt.Errorf("tokens in %s: %w", f.file, err)
			}
			_, err = fmt.Fprintln(f.env.Stdout, token)
			return err
		},
	}
	command.Flags().StringSliceVar(&groups, "group", nil, "group that the bearer belongs to (repeatable)")
	command.Flags().Var(&life, "expires",
		"how long the token is good, such as 90d or 12h (default: until it is revoked)")
	return command
}

func (f *tokenFlags) newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list --tokens FILE",
		Short: "List the names of tokens, with groups and dates",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if f.file == "" {
				return errNoTokens
			}
			list, err := tokens.List(f.file)
			if err != nil {
				return fmt.Errorf("tokens in %s: %w", f.file, withoutPath(err))
			}
			return f.print(list, time.Now())
		},
	}
}

func (f *tokenFlags) print(list []tokens.Entry, now time.Time) error {
	table := tabwriter.NewWriter(f.env.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tMADE\tEXPIRES\tGROUPS") // Flush fails if this does
	for _, e := range list {
		expires := "never"
		if !e.Expires.IsZero() {
			expires = e.Expires.Format(time.DateOnly)
		}
		if e.Expired(now) {
			expires += " (expired)"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", e.Name, e.Created.Format(time.DateOnly), expires,
			strings.Join(e.Groups, ","))
	}
	return table.Flush()
}

func (f *tokenFlags) newRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME --tokens FILE",
		Short: "Remove a token from the file, so that it is refused from now on",
		Args:  cli.CountArguments(1, 1, "name the token that is to be revoked"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.file == "" {
				return errNoTokens
			}
			if err := tokens.Remove(f.file, args[0]); err != nil {
				return fmt.Errorf("tokens in %s: %w", f.file, err)
			}
			return nil
		},
	}
}

// lifetime is a duration flag that also accepts days.
type lifetime time.Duration

// String implements [pflag.Value].
func (l *lifetime) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements [pflag.Value].
func (l *lifetime) Type() string { return "time" }

// maxLifetime keeps dates within their format.
const maxLifetime = 100 * 365 * day

// Set implements [pflag.Value].
func (l *lifetime) Set(text string) error {
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		count, failed := strconv.Atoi(days)
		length, err = time.Duration(count)*day, failed
		if count > int(maxLifetime/day) {
			length = maxLifetime + 1
		}
	}
	if err != nil || length <= 0 || length > maxLifetime {
		return errors.New("it is no time such as 90d or 12h, of a hundred years at most")
	}
	*l = lifetime(length)
	return nil
}
