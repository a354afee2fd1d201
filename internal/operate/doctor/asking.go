package doctor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/repomcp/repomcp/internal/access/oauth"
	"github.com/repomcp/repomcp/internal/access/rules"
	"github.com/repomcp/repomcp/internal/access/tokens"
	"github.com/repomcp/repomcp/internal/operate/refresh"
)

// Asking is the configuration of authentication and authorization.
type Asking struct {
	Tokens string // file; "" for none
	Issuer string // "" for none
	// Audience of the issuer's tokens; "" if unknown.
	Audience string
	// Access is the file of rules; "" grants all repositories to all clients.
	Access string
}

// asks reports whether clients need credentials.
func (a Asking) asks() bool { return a.Tokens != "" || a.Issuer != "" }

// staticPrincipal is the prefix of principals whose token is in the file.
const staticPrincipal = "token:"

// writers reports a file that other users can change. A file that they can only read is harmless
// here.
func (e *examination) writers(file, what string) {
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o002 != 0 {
		e.fault(file, "every user of this machine can change "+what, "chmod o-w")
	}
}

func (e *examination) checkTokens(context.Context) {
	if e.Asking.Tokens == "" {
		return
	}
	e.writers(e.Asking.Tokens, "which clients are admitted")
	list, err := tokens.List(e.Asking.Tokens)
	if err != nil {
		e.fault("--tokens", err.Error(), "repomcp token new makes the file")
		return
	}
	var expired []string
	for _, token := range list {
		if token.Expired(e.now()) {
			expired = append(expired, token.Name)
		}
	}
	switch {
	case len(list) == 0:
		e.warn("--tokens", "there are no tokens: no client is admitted", "repomcp token new NAME --tokens FILE")
	case len(expired) > 0:
		e.warn("--tokens", counted(len(expired), "token has", "tokens have")+" expired: "+few(expired),
			"repomcp token revoke, and repomcp token new where they are needed")
	}
	e.tokens = list
	if e.quiet() {
		e.ok(counted(len(list), "token", "tokens"))
	}
}

func (e *examination) checkAccess(context.Context) {
	if e.Asking.Access == "" {
		return
	}
	e.writers(e.Asking.Access, "the access rules")
	held, err := rules.Load(e.Asking.Access)
	if err != nil {
		e.fault("--access", err.Error(), notStarted)
		return
	}
	var unknown []string
	for _, id := range held.Principals() {
		name, static := strings.CutPrefix(id, staticPrincipal)
		if static && !slices.ContainsFunc(e.tokens, func(t tokens.Entry) bool { return t.Name == name }) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		e.warn("--access", "there is no token for "+few(unknown), "write them as repomcp token list does, or leave "+
			"them out")
	}
	if !e.Asking.asks() && held.Asks() {
		e.warn("--access", "rules name principals, groups or scopes, and the server has no authentication",
			"start it with --tokens or --oauth-issuer")
	}
	if idle := held.Idle(e.mirrors.names); len(idle) > 0 {
		e.warn("--access", "no repository fits "+few(idle), "compare them with the names that repomcp ls lists")
	}
	if e.quiet() {
		e.ok("understood")
	}
}

// checkIssuer requests the issuer's metadata and keys, as the server does.
func (e *examination) checkIssuer(ctx context.Context) {
	if e.Asking.Issuer == "" {
		return
	}
	subject := "--oauth-issuer " + e.Asking.Issuer
	if e.Asking.Audience == "" {
		return // the check of settings reports it
	}
	issuer, err := oauth.New(oauth.Options{URL: e.Asking.Issuer, Audience: e.Asking.Audience, Now: e.now})
	if err != nil {
		e.fault("--oauth-issuer", err.Error(), notStarted)
		return
	}
	count, err := issuer.Keys(ctx)
	if err != nil {
		e.fault(subject, strings.ReplaceAll(err.Error(), "\n", "; "),
			"clients with its tokens are refused until it answers")
		return
	}
	if count == 0 {
		e.fault(subject, "none of its keys verifies a signature", "clients with its tokens are refused")
		return
	}
	e.ok(fmt.Sprintf("%s, for tokens whose audience is %s", counted(count, "key", "keys"), e.Asking.Audience))
}

// checkProxies warns of trusted proxies that include every address.
func (e *examination) checkProxies(context.Context) {
	for _, text := range e.TrustedProxies {
		if network, err := netip.ParsePrefix(text); err == nil && network.Bits() == 0 {
			e.warn("--trusted-proxy "+text, "any client can choose the address that is counted for it",
				"name only the proxies")
		}
	}
	if e.quiet() && len(e.TrustedProxies) > 0 {
		e.ok(strings.Join(e.TrustedProxies, ", "))
	}
}

func (e *examination) checkFetchHook(context.Context) {
	if e.FetchHook == "" {
		return
	}
	if _, err := refresh.New(refresh.Options{Hook: e.FetchHook}); err != nil {
		e.fault("--fetch-hook", err.Error(), notStarted)
		return
	}
	at, err := url.Parse(e.FetchHook)
	if err == nil && at.Scheme == "http" && !isLocal(net.JoinHostPort(at.Hostname(), "80")) {
		e.warn("--fetch-hook", "names of mirrors travel unencrypted", "let it begin with https")
	}
	if e.quiet() {
		e.ok("understood")
	}
}

// mostNamed is the number of names in a line.
const mostNamed = 5

// few returns some of the names, and the number of others.
func few(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
