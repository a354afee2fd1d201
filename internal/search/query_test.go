package search_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/repomcp/repomcp/internal/search"
	"github.com/repomcp/repomcp/internal/search/pattern"
)

// shortly writes a query in one line.
func shortly(q search.Query) string {
	var parts []string
	for _, t := range q.Terms {
		if t.Regexp {
			parts = append(parts, "/"+t.Text+"/")
		} else {
			parts = append(parts, fmt.Sprintf("%q", t.Text))
		}
	}
	for _, w := range q.Words {
		parts = append(parts, strings.Join(w, " or "))
	}
	for _, name := range q.Symbols {
		parts = append(parts, "symbol:"+name)
	}
	for _, c := range []struct {
		name   string
		choice search.Choice
	}{{"repo", q.Repositories}, {"path", q.Paths}, {"filename", q.Filenames}, {"extension", q.Extensions}, {"language",
		q.Languages}} {
		for _, v := range c.choice.Any {
			parts = append(parts, c.name+":"+v)
		}
		for _, v := range c.choice.None {
			parts = append(parts, "-"+c.name+":"+v)
		}
	}
	if q.Case != pattern.Smart {
		parts = append(parts, fmt.Sprint("case:", q.Case))
	}
	return strings.Join(parts, "|")
}

func TestParse(t *testing.T) {
	tests := []struct {
		text   string
		syntax search.Syntax
		want   string
	}{
		{"a", search.Words, "a"},
		{"  a\tb \n", search.Words, "a|b"},
		{`"a b" c`, search.Words, `"a b"|c`},
		{`is "a b", or "c"?`, search.Words, `"a b"|"c"|is|or`},
		{`"say \"hi\" \\ \n"`, search.Words, `"say \"hi\" \\ \\n"`},
		{`it"s`, search.Words, `it"s`},
		{"a AND b", search.Words, "a|b"},
		{"/a b/ c", search.Words, "/a b/|c"},
		{`/a\/b\.c/`, search.Words, `/a/b\.c/`},
		{"/usr/bin/env", search.Words, "/usr/bin/env"},
		{"// comment", search.Words, "//|comment"},
		{"a repo:x/y -repo:z", search.Words, "a|repo:x/y|-repo:z"},
		{"a REPO:x,y repo:z", search.Words, "a|repo:x|repo:y|repo:z"},
		{"org:x -user:y/ a", search.Words, "a|repo:x/*|-repo:y/*"},
		{`path:"a b" a -path:c`, search.Words, "a|path:a b|-path:c"},
		{"a NOT path:c NOT language:go", search.Words, "a|-path:c|-language:go"},
		{"a lang:go ext:go file:go.mod in:file", search.Words, "a|filename:go.mod|extension:go|language:go"},
		{"a case:YES", search.Words, "a|case:1"},
		{"a case:no", search.Words, "a|case:2"},
		{`content:"repo:x" content:y`, search.Words, `"repo:x"|"y"`},
		{`"repo:x"`, search.Words, `"repo:x"`},
		{"a OR b c", search.Words, "a or b|c"},
		{"a OR b OR c", search.Words, "a or b or c"},
		{`"a." OR b /c/ OR d`, search.Words, `/(?:a\.)|(?:b)/|/(?:c)|(?:d)/`},
		{"a repo:b OR repo:c", search.Words, "a|repo:b|repo:c"},
		{"symbol:parseURL a OR b", search.Words, "a or b|symbol:parseURL"},
		{"symbol:a OR symbol:b", search.Words, "symbol:a|symbol:b"},
		{`a "OR" b or c`, search.Words, `"OR"|a|b|or|c`},
		{"a OR b", search.Regexp, "/a OR b/"},
		{"std::vector case::x path://host http://x label: -flag -Wl,x:y", search.Words,
			"std::vector|case::x|path://host|http://x|label:|-flag|-Wl,x:y"},
		{`func \(\w+ \*Tree\)  x repo:a`, search.Regexp, `/func \(\w+ \*Tree\)  x/|repo:a`},
		{`repo:a a  b path:c d`, search.Regexp, `/a  b d/|repo:a|path:c`},
		{`"[^"]*" -x`, search.Regexp, `/"[^"]*" -x/`},
		{`name `, search.Regexp, `/name /`},
		{`  name  `, search.Regexp, `/  name  /`},
		{"\tname\t", search.Regexp, "/\tname\t/"},
		{`  a b repo:a  `, search.Regexp, `/  a b/|repo:a`},
		{`repo:a  a b  `, search.Regexp, `/a b  /|repo:a`},
		{` repo:a b path:c `, search.Regexp, `/b/|repo:a|path:c`},
		{"\n a \r\n", search.Regexp, `/ a /`},
		{`  name  `, search.Words, `name`},
		{`/a/`, search.Regexp, `//a//`},
	}
	for _, test := range tests {
		q, err := search.Parse(test.text, test.syntax)
		if got := shortly(q); err != nil || got != test.want {
			t.Errorf("%s: %s, %v; want %s", test.text, got, err, test.want)
		}
	}
}

func TestMistakesInQueries(t *testing.T) {
	tests := []struct {
		text   string
		syntax search.Syntax
		column int
		says   string
	}{
		{"", search.Words, 0, "nothing to search for"},
		{"repo:x", search.Words, 0, "besides the qualifiers"},
		{"é \"open", search.Words, 3, "not closed"},
		{`"a"b`, search.Words, 4, "space must follow"},
		{"OR b", search.Words, 1, "between two words"},
		{"a OR", search.Words, 3, "between two words"},
		{"a OR OR b", search.Words, 6, "between two words"},
		{"a OR repo:b", search.Words, 3, "between two words"},
		{"repo:b OR a", search.Words, 8, "between two words"},
		{"repo:b OR path:a", search.Words, 8, "between two words"},
		{"a NOT b", search.Words, 3, "cannot be excluded"},
		{"a -content:b", search.Words, 3, "cannot be excluded"},
		{"a repo:", search.Words, 3, "no value"},
		{`a path:""`, search.Words, 3, "no value"},
		{"a symbol:x.y", search.Words, 3, "one name"},
		{"a -symbol:x", search.Words, 3, "cannot be excluded"},
		{"a symbol:x language:markdown", search.Words, 0, "no pattern"},
		{"a case:maybe", search.Words, 3, "yes, no or smart"},
		{"a in:path", search.Words, 3, "contents"},
		{"a /b(/", search.Words, 4, "missing closing )"},
		{`é a\nb`, search.Regexp, 4, "one line"},
		{"a(?=b)", search.Regexp, 2, "RE2"},
		{"a language:pythn", search.Words, 0, "Python"},
		{"a\xff", search.Words, 0, "UTF-8"},
		{strings.Repeat(`"x" `, 20), search.Words, 66, "at most 16"},
		{strings.Repeat("x", search.MaxQueryBytes+1), search.Words, 0, "shorten"},
		{"a" + strings.Repeat(" path:x", 101), search.Words, 0, "more than 100"},
	}
	for _, test := range tests {
		_, err := search.Parse(test.text, test.syntax)
		var wrong *search.QueryError
		if !errors.As(err, &wrong) || wrong.Column != test.column || !strings.Contains(wrong.Error(), test.says) {
			t.Errorf("%.50s: %v", test.text, err)
		}
	}
}

// What is parsed can be written down with all texts in quotes, and means the
// same again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a b", `"a b" -path:x`, `/a(b)\/c/ language:go`, "NOT repo:x,y z",
		`content:"x \" y" case:no`, "-- x:y", "a AND OR", `path:"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = search.Parse(text, search.Regexp)
		q, err := search.Parse(text, search.Words)
		if err != nil {
			return
		}
		again, err := search.Parse(written(q), search.Words)
		if err != nil || !reflect.DeepEqual(q, again) {
			t.Errorf("%q is %+v, written %q it is %+v, %v", text, q, written(q), again, err)
		}
	})
}

func written(q search.Query) string {
	var b strings.Builder
	quote := func(name, value string) {
		value = strings.ReplaceAll(strings.ReplaceAll(value, `\`, `\\`), `"`, `\"`)
		fmt.Fprintf(&b, `%s"%s" `, name, value)
	}
	for _, term := range q.Terms {
		if term.Regexp {
			fmt.Fprintf(&b, "/%s/ ", strings.ReplaceAll(term.Text, "/", `\/`))
		} else {
			quote("", term.Text)
		}
	}
	for _, word := range q.Words {
		fmt.Fprint(&b, strings.Join(word, " OR "), " ")
	}
	for _, name := range q.Symbols {
		quote("symbol:", name)
	}
	for name, c := range map[string]search.Choice{"repo:": q.Repositories, "path:": q.Paths, "filename:": q.Filenames,
		"extension:": q.Extensions, "language:": q.Languages} {
		for _, v := range c.Any {
			quote(name, v)
		}
		for _, v := range c.None {
			quote("-"+name, v)
		}
	}
	fmt.Fprintf(&b, "case:%s", []string{"smart", "yes", "no"}[q.Case])
	return b.String()
}
