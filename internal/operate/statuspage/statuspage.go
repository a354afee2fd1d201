// Package statuspage writes the page that a server shows to browsers: the repositories that the
// visitor may read, the age of their mirrors, and how to connect an agent. It does not depend on
// HTTP.
//
// # Promises
//
// Names, branches and descriptions of repositories appear as visible text, never as markup. The
// page has no script and loads nothing; [Page.Policy] tells the browser so. A request opens at most
// [PageSize] repositories.
package statuspage

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/git/quoting"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// PageSize is the number of repositories on a page, each of which is opened.
	PageSize = 50
	// maxQueryBytes bounds the query, which is compared with every name.
	maxQueryBytes = 200
)

//go:embed page.html
var markup string

//go:embed style.css
var style string

// Options of a [Page]. Catalogue is required.
type Options struct {
	Catalogue repos.Views
	// Version of the server.
	Version string
	// Authentication reports that the server requires authentication; Tokens, that clients need a
	// token for it.
	Authentication, Tokens bool
}

// Page writes the page. It is safe for concurrent use.
type Page struct {
	options  Options
	template *template.Template
	policy   string
}

// New returns a page.
func New(options Options) *Page {
	sum := sha256.Sum256([]byte(style))
	return &Page{
		options: options,
		template: template.Must(template.New("page").Funcs(template.FuncMap{
			"count": count, "age": age, "date": func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
		}).Parse(markup)),
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	}
}

// Policy is the Content-Security-Policy of the page.
func (p *Page) Policy() string { return p.policy }

// view is the input of the template.
type view struct {
	Style         template.CSS
	Version       string
	Visitor       string // the authenticated visitor; "" without authentication
	Authenticates bool
	Tokens        bool
	Base          string
	Endpoint      string
	Clients       []instruction
	TokenVariable string
	Rows          []row
	listing
}

// Render returns the page's HTML for the principal of the context. base is the server's address
// without a trailing slash; endpoint is that of MCP. The query has q, words that names must
// contain, and page, which starts at 1. Errors are those of the context.
func (p *Page) Render(ctx context.Context, base, endpoint string, query url.Values) ([]byte, error) {
	shown := view{
		Style: template.CSS(style), Version: p.options.Version, //nolint:gosec // it is our own file
		Visitor:       quoting.Clean(access.PrincipalOf(ctx).ID),
		Authenticates: p.options.Authentication, Tokens: p.options.Tokens, TokenVariable: tokenVariable,
		Base: base, Endpoint: endpoint,
	}
	shown.Clients = instructions(shown.Endpoint, p.options.Tokens)
	readable := p.options.Catalogue.For(ctx)
	shown.listing = list(readable.Names(), query)
	now := time.Now()
	for _, name := range shown.names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// A missing one was deleted meanwhile.
		if repository, err := readable.Known(name); err == nil {
			shown.Rows = append(shown.Rows, newRow(repository, base, now))
		}
	}
	var out bytes.Buffer
	if err := p.template.Execute(&out, shown); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// listing is a page of the names that match the query.
type listing struct {
	Search         string // as sent, cut
	All            int    // number of readable repositories
	Found          int
	From, To       int // of the matches, from 1
	Number, Pages  int
	Earlier, Later template.URL // "" at the ends
	names          []string
}

// list selects the requested page. An invalid number means the first page, and a number beyond the
// end the last.
func list(all []string, query url.Values) listing {
	l := listing{Search: clip(query.Get("q")), All: len(all)}
	found := all
	if words := strings.Fields(strings.ToLower(l.Search)); len(words) > 0 {
		found = slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			return slices.ContainsFunc(words,
				func(word string) bool { return !strings.Contains(strings.ToLower(name), word) })
		})
	}
	l.Found, l.Pages = len(found), max(1, (len(found)+PageSize-1)/PageSize)
	asked, _ := strconv.Atoi(query.Get("page")) // 0 for no number, the maximum for a too large one
	l.Number = min(max(asked, 1), l.Pages)
	start := (l.Number - 1) * PageSize
	l.names = found[start:min(start+PageSize, len(found))]
	l.From, l.To = min(start+1, len(found)), start+len(l.names)
	if l.Number > 1 {
		l.Earlier = l.link(l.Number - 1)
	}
	if l.Number < l.Pages {
		l.Later = l.link(l.Number + 1)
	}
	return l
}

// link returns the address of another page of the listing.
func (l *listing) link(number int) template.URL {
	values := url.Values{"page": {strconv.Itoa(number)}}
	if l.Search != "" {
		values.Set("q", l.Search)
	}
	return template.URL("?" + values.Encode()) //nolint:gosec // Encode has escaped it
}

func clip(text string) string {
	if len(text) > maxQueryBytes {
		text = text[:maxQueryBytes]
	}
	return strings.ToValidUTF8(text, "")
}
