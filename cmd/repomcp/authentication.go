package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/access/oauth"
	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/commands/cli"
	"github.com/repomcp/repomcp/internal/httpx"
)

// defaultScope is the default of the required scope.
const defaultScope = "repomcp:read"

// authenticationFlags define how a server authenticates clients.
type authenticationFlags struct {
	tokens      string
	issuer      string
	audience    string
	scope       string
	groupsClaim string
	insecure    bool
}

func (f *authenticationFlags) define(set *pflag.FlagSet) {
	set.StringVar(&f.tokens, "tokens", "",
		"file with the hashes of accepted tokens; repomcp token new writes it, and changes are followed")
	set.StringVar(&f.issuer, "oauth-issuer", "",
		"authorization server whose tokens (JWT) are accepted, such as https://login.example.com")
	set.StringVar(&f.audience, "oauth-audience", "",
		"required audience of the issuer's tokens (default: the MCP endpoint's address)")
	set.StringVar(&f.scope, "oauth-scope", defaultScope, "required scope of the issuer's tokens; empty: none")
	set.StringVar(&f.groupsClaim, "oauth-groups-claim", "groups",
		"claim with the groups of the client; dots lead into objects: realm_access.roles")
	set.BoolVar(&f.insecure, "insecure-no-auth", false,
		"serve without authentication although other machines can connect: a proxy authenticates, or all clients may "+
			"read all")
}

// authentication holds a server's verifiers, which may be nil.
type authentication struct {
	httpx.Authentication
	tokens *tokens.Store
	issuer *oauth.Issuer
}

// open reads the tokens. Clients reach the server at the public URL or, without one, at the
// listener.
func (f authenticationFlags) open(publicURL string, at endpoint, logger *slog.Logger) (*authentication, error) {
	a := new(authentication)
	if err := f.check(publicURL, at); err != nil || !f.asks() {
		return a, err
	}
	verifiers := access.Verifiers{Prefix: tokens.Prefix}
	if f.tokens != "" {
		var scopes []string
		if f.scope != "" {
			scopes = []string{f.scope}
		}
		var err error
		if a.tokens, err = tokens.Open(f.tokens, scopes, time.Now); err != nil {
			return nil, cli.Misused(fmt.Errorf("--tokens: %w; repomcp token new makes the file", err))
		}
		verifiers.Static = a.tokens
		logger.Info("tokens were read", "file", f.tokens, "tokens", a.tokens.Count())
	}
	if f.issuer != "" {
		audience, err := f.audienceAt(publicURL, at)
		if err != nil {
			return nil, err
		}
		a.issuer, err = oauth.New(oauth.Options{
			URL: f.issuer, Audience: audience, Scope: f.scope, GroupsClaim: f.groupsClaim, Logger: logger,
		})
		if err != nil {
			return nil, cli.Misused(fmt.Errorf("--oauth-issuer: %w", err))
		}
		verifiers.Issued = a.issuer
		logger.Info("tokens of an issuer are accepted", "issuer", f.issuer, "audience", audience, "scope", f.scope)
	}
	a.Authentication = httpx.Authentication{Verifier: verifiers, Issuer: f.issuer, Scope: f.scope}
	return a, nil
}

// asks reports whether clients must authenticate.
func (f authenticationFlags) asks() bool { return f.tokens != "" || f.issuer != "" }

// check refuses contradictory flags, without reading the files that they name.
func (f authenticationFlags) check(publicURL string, at endpoint) error {
	switch {
	case !f.asks():
		return f.refuseOpenDoor(at)
	case f.insecure:
		return cli.Misused(errors.New("--insecure-no-auth turns authentication off, and --tokens and --oauth-issuer " +
			"turn it on: leave out the one or the others"))
	case f.issuer != "":
		_, err := f.audienceAt(publicURL, at)
		return err
	default:
		return nil
	}
}

// refuseOpenDoor refuses to admit other machines without authentication, unless that is explicitly
// allowed.
func (f authenticationFlags) refuseOpenDoor(at endpoint) error {
	if !at.external || f.insecure {
		return nil
	}
	return cli.Misused(fmt.Errorf("%s: make a token with \"repomcp token new NAME --tokens FILE\" and start with "+
		"--tokens FILE; or name an authorization server with --oauth-issuer; or listen on 127.0.0.1:8080 or a Unix "+
		"socket; or, if all clients that can connect may read everything, start with --insecure-no-auth", exposed))
}

// audienceAt returns the configured audience, or else the address of the endpoint, which clients
// name to the issuer when they request a token (RFC 8707).
func (f authenticationFlags) audienceAt(publicURL string, at endpoint) (string, error) {
	switch {
	case f.audience != "":
		return f.audience, nil
	case publicURL != "":
		return strings.TrimSuffix(publicURL, "/") + "/mcp", nil
	case at.external || at.socket != "":
		return "", cli.Misused(errors.New("--oauth-issuer needs --public-url, the address under which clients reach " +
			"the server: tokens name it as their audience. Where they name something else, give --oauth-audience"))
	default:
		return at.base + "/mcp", nil
	}
}

// asks reports whether clients must authenticate.
func (a *authentication) asks() bool { return a.Verifier != nil }
