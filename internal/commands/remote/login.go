package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/commands/credentials"
)

// maxTokenBytes bounds a token: headers have limits.
const maxTokenBytes = 16 << 10

// ownCredentials are the credentials of a command.
type ownCredentials struct {
	env           cli.Environment
	authorization string
	token         string
	tokenFile     string
}

func (o *ownCredentials) define(set *pflag.FlagSet) {
	set.StringVar(&o.authorization, "authorization", "",
		"header of that name for the server's own origin; preferably set by REPOMCP_AUTHORIZATION")
	set.StringVar(&o.token, "token", "", "token for the server; preferably set by REPOMCP_TOKEN, or by repomcp login")
	set.StringVar(&o.tokenFile, "token-file", "", "file with the token for the server")
}

// header returns the Authorization header for a server: the command's own, or else that of a stored
// login for the origin.
func (o *ownCredentials) header(server string) (string, error) {
	token := o.token
	switch {
	case o.authorization != "":
		return o.authorization, nil
	case token != "":
	case o.tokenFile != "":
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", cli.Misused(fmt.Errorf("--token-file: %w", err))
		}
		if token, err = tokenIn(string(text)); err != nil {
			return "", cli.Misused(fmt.Errorf("--token-file: %w", err))
		}
	default:
		origin, store, err := storeFor(o.env, server)
		if err != nil { // a user without a folder has stored nothing
			return "", nil //nolint:nilerr // see above
		}
		if token, err = store.Token(origin); err != nil {
			return "", err
		}
	}
	if token == "" {
		return "", nil
	}
	return "Bearer " + token, nil
}

// tokenIn extracts a token from pasted or piped input.
func tokenIn(text string) (string, error) {
	fields := strings.Fields(text)
	if len(fields) != 1 {
		return "", errors.New("give one token, without spaces in it")
	}
	return fields[0], nil
}

// storeOf returns the store of the user's logins.
func storeOf(env cli.Environment) (credentials.Store, error) {
	if folder, ok := env.Lookup("XDG_CONFIG_HOME"); ok && filepath.IsAbs(folder) {
		return credentials.At(folder), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return credentials.Store{}, errors.New(
			"there is no home folder to store credentials in; set HOME or XDG_CONFIG_HOME")
	}
	return credentials.At(filepath.Join(home, ".config")), nil
}

// AskToLogIn is the hint after an authentication failure.
const AskToLogIn = "run \"repomcp login URL\" with the address of the server"

func newLogin(env cli.Environment) *cobra.Command {
	var token string
	command := &cobra.Command{
		Use:   "login URL",
		Short: "Store a token for a server, with which the other commands ask it",
		Long: `Read a token from the terminal, where it is not shown, or from standard input; try it
at the server; and store it for the server's origin in ~/.config/repomcp (or below
$XDG_CONFIG_HOME), in a file that only you can read. URL is the MCP endpoint, or the
server's address without a path. No other server is ever sent the token.

--authorization, REPOMCP_AUTHORIZATION, REPOMCP_TOKEN and REPOMCP_TOKEN_FILE win over
what is stored.`,
		Example: `  repomcp login https://git.example.com
  repomcp login https://git.example.com < token`,
		Args: cli.CountArguments(1, 1, "name the server, such as https://git.example.com"),
		RunE: func(c *cobra.Command, args []string) error { return logIn(c.Context(), env, args[0], token) },
	}
	command.Flags().StringVar(&token, "token", "",
		"the token; other users of this machine see it while the command runs")
	return command
}

func newLogout(env cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "logout URL",
		Short: "Forget the token for a server",
		Long: `Forget the token that repomcp login stored for a server. It stays valid for others that
have it, until the server's operator revokes it.`,
		Args: cli.CountArguments(1, 1, "name the server, such as https://git.example.com"),
		RunE: func(_ *cobra.Command, args []string) error {
			origin, store, err := storeFor(env, args[0])
			if err != nil {
				return err
			}
			found, err := store.Forget(origin)
			if err == nil && !found {
				_, err = fmt.Fprintf(env.Stderr, "nothing was stored for %s\n", origin)
			}
			return err
		},
	}
}

// storeFor returns the origin of a server and the store of logins.
func storeFor(env cli.Environment, server string) (origin string, store credentials.Store, err error) {
	if origin = credentials.Origin(server); origin == "" {
		return "", store, cli.Misused(errors.New("name a server by its address, such as https://git.example.com"))
	}
	store, err = storeOf(env)
	return origin, store, err
}

func logIn(ctx context.Context, env cli.Environment, server, token string) error {
	origin, store, err := storeFor(env, server)
	if err != nil {
		return err
	}
	if strings.HasPrefix(origin, "http://") && !isLocal(origin) {
		_, _ = fmt.Fprintln(env.Stderr, "warning: over plain http anyone on the way can read the token")
	}
	if token == "" {
		token, err = readToken(os.Stdin, env.Stderr, origin)
	} else {
		token, err = tokenIn(token)
	}
	if err != nil {
		return cli.Misused(err)
	}
	if err := tryToken(ctx, endpointOf(server), token); err != nil {
		return err
	}
	if err := store.Keep(origin, token); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stderr, "stored for %s in %s\n", origin, store.Path())
	return err
}

// readToken reads from a terminal without echo, or from a pipe.
func readToken(in *os.File, prompt io.Writer, origin string) (string, error) {
	if !term.IsTerminal(int(in.Fd())) {
		text, err := io.ReadAll(io.LimitReader(bufio.NewReader(in), maxTokenBytes))
		if err != nil {
			return "", err
		}
		return tokenIn(string(text))
	}
	_, _ = fmt.Fprintf(prompt, "token for %s: ", origin)
	text, err := term.ReadPassword(int(in.Fd()))
	_, _ = fmt.Fprintln(prompt)
	if err != nil {
		return "", err
	}
	return tokenIn(string(text))
}

var errUnasked = errors.New("the server has no authentication, so nothing was stored")

// tryToken fails unless the server accepts the token and refuses requests without it.
func tryToken(ctx context.Context, endpoint, token string) error {
	try := func(authorization string) (unauthorized bool, err error) {
		c, err := client.Connect(ctx, endpoint, client.Options{Authorization: authorization, Retries: -1})
		if refused, ok := errors.AsType[*client.Error](err); err != nil {
			return ok && refused.Unauthorized(), err
		}
		return false, c.Close()
	}
	switch unauthorized, err := try(""); {
	case err == nil:
		return errUnasked
	case !unauthorized:
		return err
	}
	unauthorized, err := try("Bearer " + token)
	if unauthorized {
		return fmt.Errorf("%w (nothing was stored)", err)
	}
	return err
}
