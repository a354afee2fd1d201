package statuspage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/repomcp/repomcp/internal/access"
	"github.com/repomcp/repomcp/internal/gittest"
	"github.com/repomcp/repomcp/internal/operate/clientconfig"
	"github.com/repomcp/repomcp/internal/repos"
	"github.com/repomcp/repomcp/internal/repos/repostest"
)

const base = "https://git.example.com"

// render writes the page of a root folder and reads it as a browser does.
func render(t *testing.T, ctx context.Context, root string, options Options, query string) *html.Node {
	t.Helper()
	options.Catalogue = repostest.Open(t, root, repos.Options{})
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	text, err := New(options).Render(ctx, base, base+"/mcp", values)
	if err != nil {
		t.Fatal(err)
	}
	page, err := html.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// all finds the elements of a name.
func all(page *html.Node, name string) []*html.Node {
	var found []*html.Node
	for n := range page.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, n)
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is what is read of an element.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// rows are the texts of the table's rows, without its head.
func rows(page *html.Node) []string {
	var found []string
	for _, tr := range all(page, "tr")[min(1, len(all(page, "tr"))):] {
		found = append(found, text(tr))
	}
	return found
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRowsSayWhatThereIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(name string) *gittest.Repo { return gittest.At(t, filepath.Join(root, name+".git")) }
	fetched := at("a/fetched")
	commit := fetched.Commit("main", gittest.Regular("f", "1\n"))
	write(t, filepath.Join(fetched.Dir, "description"), "What it is for\n")
	head := filepath.Join(fetched.Dir, "FETCH_HEAD")
	write(t, head, "what came\n")
	when := time.Now().Add(-26 * time.Hour)
	if err := os.Chtimes(head, when, when); err != nil {
		t.Fatal(err)
	}
	detached := at("b-detached")
	other := detached.Commit("main", gittest.Regular("f", "2\n"))
	write(t, filepath.Join(detached.Dir, "HEAD"), other+"\n")
	write(t, filepath.Join(detached.Dir, "FETCH_HEAD"), "")
	at("c-empty")
	unborn := at("d-unborn")
	unborn.Commit("main", gittest.Regular("f", "3\n"))
	write(t, filepath.Join(unborn.Dir, "HEAD"), "ref: refs/heads/none\n")
	damaged := at("e-damaged")
	damaged.Commit("main", gittest.Regular("f", "4\n"))
	write(t, filepath.Join(damaged.Dir, "refs/heads/main"), "no id\n")
	format := at("f-format")
	write(t, filepath.Join(format.Dir, "config"),
		"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n")
	page := render(t, t.Context(), root, Options{}, "")
	links := "tar.gz tar.zst zip refs"
	want := []string{
		"a/fetched" + "What it is for main " + commit[:shortID] + " 1 day ago " + links,
		"b-detached no branch " + other[:shortID] + " fetch unfinished " + links,
		"c-empty main empty never fetched",
		"d-unborn none HEAD names no branch that exists never fetched",
		"e-damaged main cannot be read never fetched",
		"f-format a format that is not read never fetched",
	}
	if got := rows(page); !slices.Equal(got, want) {
		t.Errorf("rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var marked []string // problems; a clone that never fetched has none
	for _, span := range all(page, "span") {
		if attribute(span, "class") == "state" {
			marked = append(marked, text(span))
		}
	}
	if want := []string{"fetch unfinished", "empty", "HEAD names no branch that exists", "cannot be read",
		"a format that is not read"}; !slices.Equal(marked, want) {
		t.Errorf("marked are %q, want %q", marked, want)
	}
	if got, want := attribute(all(page, "time")[0], "datetime"), when.UTC().Format(time.RFC3339); got != want {
		t.Errorf("fetched at %s, want %s", got, want)
	}
	if got, want := attribute(all(page, "a")[0], "href"), base+"/archive/a/fetched/HEAD.tar.gz"; got != want {
		t.Errorf("the first download is %s, want %s", got, want)
	}
}

// What repositories say of themselves is text, and every address stays one.
func TestHostileNamesAreText(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	hostile := []string{
		`<script>alert(1)</script>`, `"><img/src=x/onerror=alert(1)>`, `'onmouseover='alert(1)`,
		`</title><script>1</script>`,
		`</style><style>*{display:none}`, `{{.Style}}`, `javascript:alert(1)`, `&lt;b&gt;`, "\u202eevil", `]]><!--`,
		"\x1b[31mred", "no\u200bthing", "two\nlines",
	}
	for i, name := range hostile {
		repo := gittest.At(t, filepath.Join(root, fmt.Sprintf("r%02d.git", i)))
		repo.Commit("main", gittest.Regular("f", "1\n"))
		write(t, filepath.Join(repo.Dir, "description"), name)
		branch := "refs/heads/" + strings.NewReplacer(":", "_", "*", "_", "[", "_", "{", "(", "\x1b", "_", "\n", "_").Replace(name)
		repo.SetRef(branch, repo.Git("rev-parse", "main"))
		write(t, filepath.Join(repo.Dir, "HEAD"), "ref: "+branch+"\n")
	}
	const unseen = "\u202e\x1b\u200b"
	// What a name may have.
	odd := "group/ünï+x~1@y=z,!"
	gittest.At(t, filepath.Join(root, odd+".git")).Commit("main", gittest.Regular("f", "1\n"))
	for _, query := range append(slices.Clone(hostile), "") {
		page := render(t, access.WithPrincipal(t.Context(), access.Principal{ID: "token:" + query}), root,
			Options{Authentication: true, Version: query}, "q="+url.QueryEscape(query))
		for _, name := range []string{"script", "img", "iframe", "link", "object", "base"} {
			if n := len(all(page, name)); n != 0 {
				t.Errorf("%q: %d elements %s", query, n, name)
			}
		}
		if n := len(all(page, "style")); n != 1 {
			t.Errorf("%q: %d styles", query, n)
		}
		for n := range page.Descendants() {
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					t.Errorf("%q: attribute %s", query, a.Key)
				}
				if a.Key == "href" && !strings.HasPrefix(a.Val, base+"/") && !strings.HasPrefix(a.Val, "?") {
					t.Errorf("%q: an address is %q", query, a.Val)
				}
			}
		}
		if got := attribute(all(page, "input")[0], "value"); got != query {
			t.Errorf("%q is searched for, and is shown as %q", query, got)
		}
		if visitor := text(all(page, "strong")[0]); strings.ContainsAny(visitor, unseen) {
			t.Errorf("the visitor is shown as %q", visitor)
		}
		if query != "" {
			continue
		}
		shown := rows(page)
		if len(shown) != len(hostile)+1 {
			t.Fatalf("%d rows", len(shown))
		}
		for i, name := range hostile {
			name = strings.NewReplacer("\u202e", "\uFFFD", "\x1b", "\uFFFD", "\u200b", "\uFFFD", "\n", " ").Replace(name)
			if !strings.Contains(shown[i+1], name) {
				t.Errorf("row %d has not %q: %q", i, name, shown[i+1])
			}
		}
		for _, row := range shown {
			if strings.ContainsAny(row, unseen) {
				t.Errorf("%q changes how what is around it is seen", row)
			}
		}
		if got, want := attribute(all(page, "a")[0], "href"), base+
			"/archive/group/%C3%BCn%C3%AF+x~1@y=z%2C%21/HEAD.tar.gz"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Names as a server of ten thousand mirrors has them.
func manyNames() []string {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("group-%02d/Project-%05d", i/100, i)
	}
	return names
}

func TestPagesHaveEveryRepositoryOnce(t *testing.T) {
	t.Parallel()
	names := manyNames()
	for _, search := range []string{"", "project-0", "GROUP-07 9", "none such"} {
		var want []string
		for _, name := range names {
			fits := true
			for _, word := range strings.Fields(search) {
				fits = fits && strings.Contains(strings.ToLower(name), strings.ToLower(word))
			}
			if fits {
				want = append(want, name)
			}
		}
		var got []string
		query := url.Values{"q": {search}}
		for pages := 0; ; pages++ {
			l := list(names, query)
			if len(l.names) > PageSize || l.Found != len(want) || l.All != len(names) || l.To-l.From+
				1 != len(l.names) && l.Found > 0 {
				t.Fatalf("%q: %+v", search, l)
			}
			got = append(got, l.names...)
			if l.Later == "" {
				if pages+1 != l.Pages {
					t.Errorf("%q: %d pages of %d", search, pages+1, l.Pages)
				}
				break
			}
			next, err := url.Parse(string(l.Later))
			if err != nil {
				t.Fatal(err)
			}
			query = next.Query()
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %d names, want %d", search, len(got), len(want))
		}
	}
	for page, first := range map[string]string{
		"": names[0], "0": names[0], "-3": names[0], "x": names[0], "99999999999999999999": names[9950], "2": names[50],
		"200": names[9950], "201": names[9950], "1000000": names[9950],
	} {
		if l := list(names, url.Values{"page": {page}}); l.names[0] != first {
			t.Errorf("page %q begins with %s, want %s", page, l.names[0], first)
		}
	}
}

func TestAPageOpensItsOwnRepositoriesAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	names := gittest.Crowd(t, root, 2*PageSize+20)
	slices.Sort(names)
	for _, test := range []struct {
		query, caption string
		rows           int
		first          string
		hrefs          []string // of the ways to other pages
	}{
		{"", "1 to 50 of 120", 50, names[0], []string{"?page=2"}},
		{"page=2", "51 to 100 of 120", 50, names[50], []string{"?page=1", "?page=3"}},
		{"page=3", "101 to 120 of 120", 20, names[100], []string{"?page=2"}},
		{"q=PROJECT-0000+team-1", "1 to 2 of 2 whose name contains “PROJECT-0000 team-1”", 2,
			"group-00/team-1/project-00001", []string{"?"}},
	} {
		page := render(t, t.Context(), root, Options{}, test.query)
		got := rows(page)
		if len(got) != test.rows || !strings.HasPrefix(got[0], test.first+" main ") {
			t.Errorf("%q: %d rows, the first %q", test.query, len(got), got[0])
		}
		if caption := text(all(page, "caption")[0]); caption != test.caption {
			t.Errorf("%q: %q", test.query, caption)
		}
		var hrefs []string
		for _, a := range all(page, "a") {
			if href := attribute(a, "href"); strings.HasPrefix(href, "?") {
				hrefs = append(hrefs, href)
			}
		}
		if !slices.Equal(hrefs, test.hrefs) {
			t.Errorf("%q: ways to other pages %q, want %q", test.query, hrefs, test.hrefs)
		}
	}
	if page := render(t, t.Context(), root, Options{}, "q=none"); len(rows(page)) != 0 ||
		!strings.Contains(text(page), "No repository that you may read has “none” in its name.") {
		t.Errorf("nothing is found: %q", rows(page))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	page := New(Options{Catalogue: repostest.Open(t, root, repos.Options{})})
	if _, err := page.Render(ctx, base, base, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("for a visitor that has gone: %v", err)
	}
}

// The page tells each client what its page of docs/install tells.
func TestClientsAreToldWhatTheDocumentationSays(t *testing.T) {
	t.Parallel()
	const written = "http://127.0.0.1:8080/mcp"
	documents := ""
	for _, client := range clientconfig.Clients {
		document, err := os.ReadFile(filepath.Join("../../../docs/install", client.ID+".md"))
		if err != nil {
			t.Fatal(err)
		}
		documents += string(document)
	}
	shown, withToken := instructions(written, false), instructions(written, true)
	if len(shown) != len(clientconfig.Clients) {
		t.Fatalf("there are %d instructions, want one for each of %d clients", len(shown), len(clientconfig.Clients))
	}
	for i, want := range shown {
		if !strings.Contains(documents, want.Text) {
			t.Errorf("docs/install does not have the instruction %q of %s", want.Text, want.Name)
		}
		if got := withToken[i].Text; !strings.Contains(got, tokenVariable) || !strings.Contains(got, written) {
			t.Errorf("the instruction of %s with a token is %q, want its variable and the address", want.Name, got)
		}
	}
	page := render(t, t.Context(), t.TempDir(), Options{}, "")
	blocks := all(page, "pre")
	if len(blocks) != len(shown) {
		t.Fatalf("the page has %d blocks, want %d", len(blocks), len(shown))
	}
	for i, want := range instructions(base+"/mcp", false) {
		if got := blocks[i].FirstChild.FirstChild.Data; got != want.Text {
			t.Errorf("%s: %q, want %q", want.Name, got, want.Text)
		}
	}
}

func TestThePageSaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	known := access.WithPrincipal(t.Context(), access.Principal{ID: "token:ci"})
	for _, test := range []struct {
		ctx     context.Context
		options Options
		want    string // "" for no notice
		tokens  bool
	}{
		{t.Context(), Options{}, "", false},
		{known, Options{}, "", false},
		{t.Context(), Options{Authentication: true},
			"You are not signed in. This server asks who you are: listed is what anybody may read.", false},
		{known, Options{Authentication: true, Tokens: true}, "You are token:ci. What you may read is listed here.",
			true},
	} {
		page := render(t, test.ctx, t.TempDir(), test.options, "")
		notice := ""
		for _, p := range all(page, "p") {
			if attribute(p, "class") == "notice" {
				notice = text(p)
			}
		}
		if notice != test.want || strings.Contains(text(page), "YOUR_TOKEN") != test.tokens {
			t.Errorf("%+v: %q", test.options, notice)
		}
	}
}

// What programs that read pages aloud go by.
func TestThePageIsAccessible(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	gittest.Crowd(t, root, PageSize+1)
	page := render(t, t.Context(), root, Options{Authentication: true}, "q=project")
	if lang := attribute(all(page, "html")[0], "lang"); lang != "en" {
		t.Errorf("the language is %q", lang)
	}
	if len(all(page, "h1")) != 1 || len(all(page, "h2")) != 2 || len(all(page, "main")) != 1 ||
		len(all(page, "caption")) != 1 {
		t.Error("headings, main part or caption")
	}
	ids := make(map[string]bool)
	for n := range page.Descendants() {
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %q twice", id)
			}
			ids[id] = true
		}
	}
	for _, section := range all(page, "section") {
		if by := attribute(section, "aria-labelledby"); !ids[by] {
			t.Errorf("a section is labelled by %q", by)
		}
	}
	for _, input := range all(page, "input") {
		if !slices.ContainsFunc(all(page, "label"),
			func(l *html.Node) bool { return attribute(l, "for") == attribute(input, "id") }) {
			t.Error("an input has no label")
		}
	}
	for _, th := range all(page, "th") {
		if scope := attribute(th, "scope"); scope != "col" && scope != "row" {
			t.Errorf("a header has the scope %q", scope)
		}
	}
	labels := make(map[string]bool)
	for _, a := range all(all(page, "tbody")[0], "a") {
		if label := attribute(a, "aria-label"); label == "" || labels[label] {
			t.Errorf("two links are called %q", label)
		} else {
			labels[label] = true
		}
	}
	if len(labels) != 4*PageSize {
		t.Errorf("%d links", len(labels))
	}
}

func TestAges(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago", 59*time.Minute +
			59*time.Second: "59 minutes ago",
		25 * time.Hour: "1 day ago", 5000 * 24 * time.Hour: "5,000 days ago",
	} {
		if got := age(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
