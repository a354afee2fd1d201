// Package statuspage writes the page that a browser is shown of a server: which
// repositories the visitor may read, how old their mirrors are, and how an agent is
// connected. It knows no HTTP.
//
// # Promises
//
// What repositories say of themselves, their names, branches and descriptions, is text
// that can be seen, and never markup. The page has no script and loads nothing; [Page.Policy] says so to
// the browser. A request opens at most [PageSize] repositories, however many there are.
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
	"github.com/repomcp/repomcp/internal/cquote"
	"github.com/repomcp/repomcp/internal/repos"
)

const (
	// PageSize is how many repositories are on a page: each is opened for it.
	PageSize = 50
	// maxQueryBytes bounds what is compared with every name.
	maxQueryBytes = 200
)

//go:embed page.html
var markup string

//go:embed style.css
var style string

// Options of a [Page]. The catalogue is required.
type Options struct {
	Catalogue repos.Views
	// Version is that of the server.
	Version string
	// Authentication says that the server asks who visitors are, and Tokens that
	// clients have to be given a token for it.
	Authentication, Tokens bool
}

// Page writes the page for any number of visitors.
type Page struct {
	options  Options
	template *template.Template
	policy   string
}

// New makes a page.
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

// Visit is what a visitor asks for.
type Visit struct {
	// Base is the address under which clients reach the server, without a slash at the
	// end.
	Base string
	// Endpoint is the path of MCP below it.
	Endpoint string
	// Query has q, the words that names must have, and page, which begins at 1.
	Query url.Values
}

// view is what the template shows.
type view struct {
	Style         template.CSS
	Version       string
	Visitor       string // who asks; "" for nobody that is known
	Authenticates bool
	Tokens        bool
	Base          string
	Endpoint      string
	Clients       []instruction
	Rows          []row
	listing
}

// Render writes the page for the principal of the context. An error is of the context.
func (p *Page) Render(ctx context.Context, v Visit) ([]byte, error) {
	shown := view{
		Style: template.CSS(style), Version: p.options.Version, //nolint:gosec // it is our own file
		Visitor:       cquote.Clean(access.PrincipalOf(ctx).ID),
		Authenticates: p.options.Authentication, Tokens: p.options.Tokens, Base: v.Base, Endpoint: v.Base + v.Endpoint,
	}
	shown.Clients = instructions(shown.Endpoint, p.options.Tokens)
	readable := p.options.Catalogue.For(ctx)
	shown.listing = list(readable.Names(), v.Query)
	now := time.Now()
	for _, name := range shown.names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// One that is not there has just been deleted.
		if repository, err := readable.Known(name); err == nil {
			shown.Rows = append(shown.Rows, newRow(repository, v.Base, now))
		}
	}
	var out bytes.Buffer
	if err := p.template.Execute(&out, shown); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// listing is a page of the names that a visitor looks for.
type listing struct {
	Search         string // as it was sent, cut
	All            int    // that may be read
	Found          int
	From, To       int // of those found, from 1 on
	Number, Pages  int
	Earlier, Later template.URL // "" at an end
	names          []string
}

// list picks the page that is asked for. A number that is none is that of the first,
// and one beyond the end that of the last.
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
	asked, _ := strconv.Atoi(query.Get("page")) // 0 where it is no number, the largest where it is too large
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

// link leads to another page of the same listing.
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
