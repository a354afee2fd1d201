package arguments

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

type sampleArguments struct {
	repo, owner string
	start       int
	deep        bool
	format      string
	paths       []string
}

func (a *sampleArguments) define(p *List) {
	p.Text(&a.repo, "repo", "Full name, from search_repositories.").Required = true
	p.Text(&a.owner, "owner", "").Hidden = true
	a.format = "tar"
	p.Number(&a.start, "start_line", "First line.", 1, 1000)
	p.Flag(&a.deep, "recursive", "All.")
	p.Choice(&a.format, "format", "Kind.", "tar", "zip")
	p.Texts(&a.paths, "paths", "Paths.")
}

func readSample(t *testing.T, arguments string) (sampleArguments, error) {
	t.Helper()
	var decoded any
	if err := json.Unmarshal([]byte(arguments), &decoded); err != nil {
		t.Fatal(err)
	}
	var a sampleArguments
	p := &List{Synonyms: map[string]string{"path": "paths", "file": "paths format"}}
	a.define(p)
	return a, p.Read(decoded)
}

func TestArgumentsAreRead(t *testing.T) {
	for arguments, want := range map[string]sampleArguments{
		`{"repo":"a"}`: {repo: "a", format: "tar"},
		`{"repo":"a","owner":"b","start_line":7}`: {repo: "a", owner: "b", start: 7, format: "tar"},
		`{"repo":"a","start_line":" 12 "}`:        {repo: "a", start: 12, format: "tar"},
		`{"repo":"a","start_line":3.0,"recursive":true}`: {repo: "a", start: 3, deep: true,
			format: "tar"},
		`{"repo":"a","recursive":"true","format":"zip"}`: {repo: "a", deep: true, format: "zip"},
		`{"repo":"a","paths":["x","y"]}`: {repo: "a", format: "tar",
			paths: []string{"x", "y"}},
		`{"repo":"a","path":"x","startLine":2}`: {repo: "a", format: "tar", start: 2,
			paths: []string{"x"}},
		`{"repo":"a","paths":"x"}`:                    {repo: "a", format: "tar", paths: []string{"x"}},
		`{"repo":"a","start_line":null,"owner":null}`: {repo: "a", format: "tar"},
	} {
		if got, err := readSample(t, arguments); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", arguments, got, err)
		}
	}
}

// An error names the argument, what is wrong with it and what to do.
func TestArgumentsAreRefused(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:            "The argument repo is missing. It is: Full name, from search_repositories.",
		`null`:          "The argument repo is missing.",
		`{"repo":null}`: "The argument repo is missing.",
		`[]`: "The arguments must be an object with these members: repo, owner, start_line, recursive, " +
			"format, paths.",
		`{"repo":7}`: "The argument repo must be a string.",
		`{"repo":"` + strings.Repeat("a", 4097) + `"}`: "The argument repo is longer than 4096 bytes.",
		`{"repo":"a\u0000b"}`: "The argument repo has a NUL character; " +
			"leave it out.",
		`{"repo":"a","start_line":0}`: "The argument start_line must be a whole " +
			"number from 1 to 1000. It is: First line.",
		`{"repo":"a","start_line":1001}`:  "must be a whole number from 1 to 1000",
		`{"repo":"a","start_line":-1}`:    "must be a whole number",
		`{"repo":"a","start_line":1.5}`:   "must be a whole number",
		`{"repo":"a","start_line":1e300}`: "must be a whole number",
		`{"repo":"a","start_line":"1.5"}`: "must be a whole number",
		`{"repo":"a","start_line":"ten"}`: "must be a whole number",
		`{"repo":"a","start_line":true}`:  "must be a whole number",
		`{"repo":"a","recursive":"yes"}`:  "The argument recursive must be true or false.",
		`{"repo":"a","recursive":1}`:      "The argument recursive must be true or false.",
		`{"repo":"a","format":"rar"}`:     "The argument format must be one of tar, zip.",
		`{"repo":"a","format":1}`:         "The argument format must be one of tar, zip.",
		`{"repo":"a","paths":{}}`: "The argument paths must be a list of at " +
			"most 100 strings.",
		`{"repo":"a","paths":["x",1]}`: "The argument paths has an item that must " +
			"be a string.",
		`{"repo":"a","paths":["x"` + strings.Repeat(`,"x"`, 100) + `]}`: "must be a list of at most 100 strings",
		`{"repo":"a","startLine":0}`: "There is no argument startLine. Did you " +
			"mean start_line? This tool has: repo, owner, start_line, recursive, format, paths.",
		`{"repo":"a","recursiv":true}`:     "Did you mean recursive?",
		`{"repo":"a","path":1}`:            "Did you mean paths?",
		`{"repo":"a","file":"zip"}`:        "Did you mean paths or format?",
		`{"repo":"a","quite_another":"x"}`: "There is no argument quite_another. This tool has",
		`{"repo":"a","evil\u202e":"x"}`:    `There is no argument "evil\342\200\256".`,
	} {
		if _, err := readSample(t, arguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", arguments, err, want)
		}
	}
}

func TestSchemaHasTheOrderOfTheDefinition(t *testing.T) {
	p := &List{}
	new(sampleArguments).define(p)
	const want = `{"type":"object","properties":{` +
		`"repo":{"type":"string","description":"Full name, from search_repositories."},` +
		`"start_line":{"type":"integer","description":"First line.","maximum":1000},` +
		`"recursive":{"type":"boolean","description":"All."},` +
		`"format":{"type":"string","description":"Kind.","default":"tar","enum":["tar","zip"]},` +
		`"paths":{"type":"array","description":"Paths.","items":{"type":"string"}}},` +
		`"required":["repo"],"additionalProperties":false}`
	var expected any
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	first := marshalled(t, p)
	var got any
	if err := json.Unmarshal([]byte(first), &got); err != nil || !reflect.DeepEqual(got, expected) {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	at := 0
	for _, name := range p.Names() {
		if name == "owner" { // it is understood, and not listed
			continue
		}
		next := strings.Index(first, `"`+name+`":{`)
		if next < at {
			t.Errorf("%s is not where it is defined: %s", name, first)
		}
		at = next
	}
	for range 20 {
		if again := marshalled(t, p); again != first {
			t.Fatalf("the order changes: %s\n%s", first, again)
		}
	}
}

func marshalled(t *testing.T, p *List) string {
	t.Helper()
	raw, err := json.Marshal(p.Schema())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
