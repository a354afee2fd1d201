package definitions

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// Language knows which lines of a text are definitions.
type Language struct {
	// Name is the name that gitattributes(5) has for it, such as cpp.
	Name string
	// rules are tried in their order; the first one that matches a line decides.
	rules []rule
}

// rule says that lines of a form are definitions, or that they are none.
type rule struct {
	form *regexp.Regexp
	not  bool
}

// LanguageOf returns the language of a file by its name, and by its content if files of several
// languages are named alike. ok is false for languages without a pattern.
func LanguageOf(name string, content []byte) (l *Language, ok bool) {
	base := strings.ToLower(path.Base(name))
	extension := path.Ext(base)
	if extension == ".m" && !objectiveC.Match(content) {
		extension = matlabFiles
	}
	if l, ok = byFile()[base]; !ok {
		l, ok = byFile()[extension]
	}
	return l, ok
}

// matlabFiles stands for files of MATLAB, whose names end like those of Objective-C.
const matlabFiles = "matlab"

// objectiveC matches what most files of Objective-C have, and none of MATLAB.
var objectiveC = regexp.MustCompile(`(?m)^(?:#(?:import|include|define)|@[a-z]+|//)`)

// defines reports whether a line, without its end, is a definition.
func (l *Language) defines(line []byte) bool {
	for _, r := range l.rules {
		if r.form.Match(line) {
			return !r.not
		}
	}
	return false
}

// rulesOf compiles forms. One that begins with "!" is of lines that are no definitions.
func rulesOf(forms []string) []rule {
	rules := make([]rule, len(forms))
	for i, form := range forms {
		pattern, not := strings.CutPrefix(form, "!")
		rules[i] = rule{regexp.MustCompile(pattern), not}
	}
	return rules
}

// byFile has the languages by the extensions and names of their files. It is made when it is first
// needed, because most commands never need it.
var byFile = sync.OnceValue(func() map[string]*Language {
	of := make(map[string]*Language)
	for _, row := range languages {
		l := &Language{row.name, rulesOf(row.forms)}
		for _, file := range strings.Fields(row.files) {
			of[file] = l
		}
	}
	return of
})

// Parts of forms.
const (
	// margin is the white space before a definition.
	margin = `^[ \t]*`
	// gap separates words.
	gap = `[ \t]+`
	// blank is optional white space, of which a carriage return is one for some languages.
	blank = `[ \t]*`
	// parts are names or types of C#.
	parts = `(?:[\]\[[:alnum:]@_.](?:<[\]\[[:alnum:]@_, \t<>]+>)?)+`
	// control are the words that begin statements, and not definitions, in languages like Java.
	control = `(?:do|for|if|instanceof|new|return|switch|throw|while|catch)`
)

// languages are those of gitattributes(5), with the extensions that their files usually have. The
// forms are what the patterns of git 2.55 accept, as its output shows; differential tests hold them to it.
// Definitions of Kotlin, PHP and Rust may have more keywords than in git, and statements of C# as well.
var languages = []struct {
	name, files string
	forms       []string
}{
	{"ada", ".ada .adb .ads", []string{
		`!(?i)^(?:.*[ \t])?(?:is` + gap + `new|renames|is` + gap + `separate)(?:[ \t].*)?$`,
		`!(?i)` + margin + `with[ \t]`,
		`(?i)` + margin + `(?:procedure|function|package|protected|task)` + gap,
	}},
	{"bash", ".sh .bash .bashrc .bash_profile .profile .zsh .ksh", []string{
		margin + `[a-zA-Z_]\w*` + blank + `\(` + blank + `\)`,
		margin + `function` + gap + `[a-zA-Z_]\w*(?:` + blank + `\(` + blank + `\)|` + gap + `)`,
	}},
	{"bibtex", ".bib", []string{`@[a-zA-Z]+` + blank + `\{?` + blank + `[^ \t"@',\\#}{~%]*`}},
	{"cpp", ".c .h .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .inl .cu .cuh .ino", []string{
		`!` + margin + `[A-Za-z_]\w*:\s*(?:$|/[/*])`,
		`^(?:::\s*)?[A-Za-z_]`,
	}},
	{"csharp", ".cs .csx", []string{
		`!` + margin + `(?:do|while|for|foreach|if|else|new|default|return|switch|case|throw|catch|using|lock|fixed|` +
			`await|from|where|orderby|join|group|into|select|yield)(?:[^\w]|$)`,
		margin + `(?:` + parts + gap + `)+` + parts + blank + `\([^;]*$`,
		margin + `(?:` + parts + gap + `)+` + parts + `[^;=:,()]*$`,
		margin + `(?:(?:static|public|internal|private|protected|new|unsafe|sealed|abstract|partial)` + gap +
			`)*(?:class|enum|interface|struct|record)` + gap,
		margin + `namespace` + gap,
	}},
	{"css", ".css .scss .less", []string{`!(?i)[:;]\s*$`, `(?i)^[:\[@.#]?[_a-z0-9]`}},
	{"dts", ".dts .dtsi .dtso", []string{`!;`, `!=`, margin + `(?:/` + blank + `\{|&?[a-zA-Z_])`}},
	{"elixir", ".ex .exs", []string{margin + `(?:def(?:macro|module|impl|protocol|p)?|test)[ \t]`}},
	{"fortran", ".f .f77 .f90 .f95 .f03 .f08 .for .ftn", []string{
		`!(?i)^(?:[C*]|` + blank + `!)`,
		`!(?i)` + margin + `MODULE` + gap + `PROCEDURE[ \t]`,
		`(?i)` + margin + `(?:END` + gap + `)?(?:PROGRAM|MODULE|BLOCK` + gap + `DATA|(?:[^!'" \t]+` + gap +
			`)*(?:SUBROUTINE|FUNCTION))` + gap + `[A-Z]`,
	}},
	{"fountain", ".fountain", []string{`(?i)^(?:\.[^.]|(?:int|ext|est|int\.?/ext|i/e)[. ])`}},
	{"golang", ".go", []string{margin + `func`, margin + `type[ \t].*(?:struct|interface)`}},
	{"html", ".html .htm .xhtml", []string{margin + `<[Hh][1-6](?:[ \t].*)?>`}},
	{"java", ".java", []string{
		`!` + margin + control,
		margin + `(?:[a-z-]+` + gap + `)*(?:class|enum|interface|record)` + gap,
		margin + `(?:[A-Za-z_<>&][\]\[?&<>.,A-Za-z_0-9]*` + gap + `)+[A-Za-z_]\w*` + blank + `\([^;]*$`,
	}},
	{"kotlin", ".kt .kts", []string{margin + `(?:[a-z]+` + gap + `)*(?:fun|class|interface|object)` + gap}},
	{"markdown", ".md .markdown .mkd .mdx", []string{`^ {0,3}#{1,6}[ \t]`}},
	{"matlab", matlabFiles, []string{`^\s*(?:classdef|function)\s`, `^(?:%%%?|##)\s`}},
	{"objc", ".m .mm", []string{
		`!` + margin + `(?:do|for|if|else|return|switch|while)`,
		margin + `[-+]` + blank + `\(` + blank + `[A-Za-z_][A-Za-z_0-9* \t]*\)` + blank + `[A-Za-z_]`,
		margin + `(?:[A-Za-z_]\w*` + gap + `)+[A-Za-z_]\w*` + blank + `\([^;]*$`,
		`^@(?:implementation|interface|protocol)[ \t]`,
	}},
	{"pascal", ".pas .pp .dpr .lpr", []string{
		`^(?:(?:class` + gap + `)?(?:procedure|function)|constructor|destructor|interface|implementation|` +
			`initialization|finalization)`,
		`=` + blank + `(?:class|record)`,
	}},
	{"perl", ".pl .pm .t .perl", []string{
		`^package `,
		`^sub [\w':]+` + blank + `(?:\([^)]*\)` + blank + `)?(?::[^;#]*)?(?:\{` + blank + `)?(?:#.*)?$`,
		`^(?:BEGIN|END|INIT|CHECK|UNITCHECK|AUTOLOAD|DESTROY)` + blank + `(?:\{` + blank + `)?(?:#.*)?$`,
		`^=head[0-9] `,
	}},
	{"php", ".php .phtml .inc", []string{
		margin + `(?:(?:public|protected|private|static|abstract|final)` + gap + `)*function`,
		margin + `(?:(?:(?:final|abstract|readonly)` + gap + `)*class|enum|interface|trait)`,
	}},
	{"python", ".py .pyi .pyw .pyx .pxd", []string{margin + `(?:class|(?:async` + gap + `)?def)[ \t]`}},
	{"ruby", ".rb .rake .gemspec .ru gemfile rakefile", []string{margin + `(?:class|module|def)[ \t]`}},
	{"rust", ".rs", []string{
		margin + `(?:pub(?:\([^)]+\))?` + gap + `)?(?:(?:async|const|unsafe|extern(?:` + gap + `"[^"]+"))` + gap +
			`)*(?:struct|enum|union|mod|trait|fn|impl|macro_rules!)[< \t]+[^;]*$`,
	}},
	{"scheme", ".scm .ss .sld .rkt .sch", []string{
		margin + `\((?:(?:define|def(?:struct|syntax|class|method|rules|record|proto|alias)?)[-*/ \t]|` +
			`(?:library|module|struct|class)[*+ \t])`,
	}},
	{"tex", ".tex .ltx .sty .cls", []string{`^\\(?:(?:sub)*section|chapter|part)\*?\{`}},
}
