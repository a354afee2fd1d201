package definitions

// Parts of patterns.
const (
	modifiers = `(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|override|virtual|async|` +
		`readonly|open|inline|suspend|data|case|implicit|lazy|native|synchronized|unsafe|extern|default|fileprivate|` +
		`mutating|required|convenience|export|declare|operator|inner|companion|const|volatile|transient|strictfp)\s+)*`
	annotations = `(?:@[\w.]+(?:\([^)]*\))?\s+)*`
	types       = `[\w.$]+(?:<[^=;]*>)?(?:\[\s*\])*[?*&]*`
)

// patterns are the expressions of languages, by their names in github-linguist. The first group that
// takes part in a match is the name.
var patterns = []struct {
	languages   []string
	expressions []string
}{
	{[]string{"Go"}, []string{`^(?:func(?:\s*\([^()]*(?:\[[^\]]*\])?\))?|type|var|const)\s+([\pL_][\pL\d_]*)`}},
	{[]string{"Python", "Cython", "Starlark"}, []string{
		`^\s*(?:async\s+)?(?:def|class|cdef\s+class|cpdef\s+\w+)\s+([\pL_][\pL\d_]*)`,
		`^([\pL_][\pL\d_]*)\s*(?::[^=]+)?=[^=]`,
	}},
	{[]string{"Ruby", "Crystal"}, []string{
		`^\s*(?:(?:private|protected|public|abstract)\s+)?(?:def\s+(?:self\.)?|class\s+|module\s+|struct\s+|enum\s+)` +
			`(?:\w+::)*(\w+[?!=]?)`,
		`^\s*([A-Z]\w*)\s*=[^=~]`,
	}},
	{[]string{"JavaScript", "TypeScript", "TSX", "Vue", "Svelte", "Astro"}, []string{
		`^\s*` + modifiers + `(?:function\s*\*?|class|interface|enum|type|namespace|module)\s+([\w$]+)`,
		`^(?:export\s+)?(?:const|let|var)\s+([\w$]+)`,
		`^\s*(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|\w+\s*=>)`,
		`^\s*(?:[\w$]+\.)+([\w$]+)\s*=\s*(?:async\s+)?(?:function\b|class\b|\([^()]*\)\s*=>)`,
		`^(?:module\.)?exports\.([\w$]+)\s*=`,
		`^\s+` + modifiers + `(?:(?:get|set)\s+)?\*?#?([\w$]+)\s*\([^;]*\)\s*(?::\s*[^;{]+)?\{`,
	}},
	{[]string{"Java", "C#", "Groovy", "Apex", "D"}, []string{
		`^\s*` + annotations + modifiers +
			`(?:class|@?interface|enum|record|struct|namespace|delegate)\s+(?:\w+\.)*(\w+)`,
		`^\s*` + annotations + modifiers + `(?:<[^>]+>\s+)?` + types + `\s+(\w+)\s*\([^;]*$`,
		`^\s*` + annotations + `(?:public|private|protected|internal|static|final)\s+` + modifiers + `(?:` + types +
			`\s+)?(\w+)\s*(?:[({=;]|$)`,
	}},
	{[]string{"Kotlin", "Swift", "Scala", "Dart"}, []string{
		`^\s*` + annotations + modifiers +
			`(?:fun|func|def|class|object|interface|trait|enum(?:\s+class)?|struct|protocol|extension|` +
			`typealias|type|actor|mixin)\s+(?:<[^>]+>\s*)?(?:\w+(?:<[^>]*>)?\.)*([\w$]+)`,
		`^(?:\s{2}|\s{4}|\t)?` + annotations + modifiers + `(?:val|var|let)\s+(\w+)\s*[:=]`,
		`^\s{0,2}` + modifiers + types + `\s+(\w+)\s*\([^;]*\)\s*(?:async\s*)?\{\s*$`,
	}},
	{[]string{"C", "C++", "Objective-C", "Objective-C++", "Cuda", "GLSL", "HLSL", "Metal"}, []string{
		`^\s*#\s*define\s+(\w+)`,
		`^\s*(?:typedef\s+)?(?:template\s*<[^>]*>\s*)?(?:struct|class|union|enum(?:\s+class)?|namespace|@interface|` +
			`@implementation|@protocol)\s+(?:[A-Z_]+\s+)?(\w+)\s*(?:final\s*)?(?:[:{][^;]*)?$`,
		`^typedef\b.*?(\w+)\s*(?:\[[^\]]*\])?;`,
		`^\}\s*(\w+)\s*;`,
		`^(?:[\w:<>,~]+[*&\s]+)+[*&]*(?:[\w<>]+::)*(~?\w+)\s*\([^;]*$`,
		`^(?:[\w<>]+::)+(~?\w+)\s*\([^;]*$`,
		`^(\w+)\s*\([^;()]*\)\s*\{?\s*$`,
		`^[-+]\s*\([^)]*\)\s*(\w+)`,
		`^\s+(?:(?:virtual|static|inline|explicit|constexpr|friend)\s+)*(?:[\w:<>,]+[*&\s]+)+(~?\w+)\s*\([^;]*\)\s*` +
			`(?:const|noexcept|override|final|\s)*\{`,
		`^(?:static|extern|const)\s+[^()=;]*?(\w+)\s*(?:\[[^\]]*\])*\s*=`,
	}},
	{[]string{"Rust"}, []string{
		`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|const\s+|async\s+|unsafe\s+|extern\s+(?:"[^"]*"\s+)?)*` +
			`(?:fn|struct|enum|union|trait|type|mod|static(?:\s+mut)?|macro_rules!)\s+(\w+)`,
		`^\s*(?:pub(?:\([^)]*\))?\s+)?const\s+(\w+)\s*:`,
	}},
	{[]string{"PHP", "Hack"}, []string{
		`^\s*` + modifiers + `(?:function\s+&?|class\s+|interface\s+|trait\s+|enum\s+)(\w+)`,
		`^\s*` + modifiers + `const\s+(?:\w+\s+)?(\w+)\s*=`, `\bdefine\(\s*['"](\w+)`,
	}},
	{[]string{"Perl", "Raku"}, []string{
		`^\s*(?:multi\s+)?(?:sub|method|package|class|role|grammar)\s+(?:\w+::)*(\w+)`,
	}},
	{[]string{"Shell"}, []string{
		`^\s*(?:function\s+)?([\w:.-]+)\s*\(\s*\)`, `^\s*function\s+([\w:.-]+)`,
		`^(?:export\s+|readonly\s+|declare\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)=`,
	}},
	{[]string{"Lua", "Luau"}, []string{
		`^\s*(?:local\s+)?function\s+(?:\w+[.:])*(\w+)`, `^\s*(?:local\s+)?(?:\w+[.:])*(\w+)\s*=\s*function\b`,
	}},
	{[]string{"Elixir"}, []string{
		`^\s*def(?:p|macro|macrop|guard|guardp|delegate|module|protocol|impl|struct|exception)?\s+(?:\w+\.)*(\w+[?!]?)`,
	}},
	{[]string{"Erlang"}, []string{
		`^([a-z]\w*)\s*\(.*\)\s*(?:when\b.*)?->`, `^-(?:record|define|type|opaque)\(?\s*(\w+)`,
	}},
	{[]string{"Haskell", "PureScript", "Elm", "Idris"}, []string{
		`^(?:data|newtype|type|class|instance|module)\s+(?:\w+\.)*(\w+)`, `^([a-z_][\w']*)\s*::`,
	}},
	{[]string{"OCaml", "F#", "Standard ML", "Reason"}, []string{
		`^\s*(?:let|and|val|type|module|exception|external|class|member)\s+(?:rec\s+|inline\s+|type\s+|nonrec\s+)*` +
			`(?:\w+\.)?(\w+'*)`,
	}},
	{[]string{"Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket"}, []string{
		`^\s*\((?:def[\w-]*|cl-def[\w-]*|define[\w-]*|ns)\s+\(?(?:\^\S+\s+)?([^\s()]+)`,
	}},
	{[]string{"R"}, []string{`^\s*([\w.]+)\s*(?:<-|=)\s*function\b`}},
	{[]string{"Julia"}, []string{
		`^\s*(?:function|macro|(?:mutable\s+)?struct|abstract\s+type|module|const)\s+(?:\w+\.)*(\w+!?)`,
		`^(\w+!?)\(.*\)\s*=[^=]`,
	}},
	{[]string{"Zig"}, []string{`^\s*(?:pub\s+)?(?:export\s+|extern\s+|inline\s+)*(?:fn|const|var)\s+(\w+)`}},
	{[]string{"Nim"}, []string{
		`^\s*(?:proc|func|method|iterator|template|macro|converter)\s+(\w+)`, `^\s+(\w+)\*?\s*=\s*(?:ref\s+)?object`,
	}},
	{[]string{"PowerShell"}, []string{`(?i)^\s*(?:function|filter|class|enum)\s+(?:\w+:)?([\w-]+)`}},
	{[]string{"SQL", "PLSQL", "PLpgSQL", "TSQL"}, []string{
		`(?i)^\s*create\s+(?:or\s+replace\s+)?(?:global\s+|temp(?:orary)?\s+|unique\s+|materialized\s+)*` +
			`(?:table|view|function|procedure|trigger|index|type|sequence|schema)\s+(?:if\s+not\s+exists\s+)?` +
			`(?:["\[\x60]?\w+["\]\x60]?\.)?["\[\x60]?(\w+)`,
	}},
	{[]string{"Protocol Buffer"}, []string{`^\s*(?:message|enum|service|rpc|extend)\s+(\w+)`}},
	{[]string{"GraphQL"}, []string{
		`^\s*(?:extend\s+)?(?:type|interface|enum|input|scalar|union|directive\s+@)\s*(\w+)`,
	}},
	{[]string{"HCL"}, []string{
		`^(?:resource|data|variable|output|module|provider)\s+(?:"[^"]*"\s+)?"([^"]+)"`, `^\s{2}(\w+)\s*=`,
	}},
	{[]string{"Makefile"}, []string{`^([\w./%-]+)\s*:(?:[^=]|$)`, `^([\w.-]+)\s*[:?+]?=`}},
	{[]string{"Fortran", "Fortran Free Form"}, []string{
		`(?i)^\s*(?:(?:pure|elemental|recursive|integer|real|logical)\s+)*` +
			`(?:subroutine|function|module|program|type)\s+(\w+)`,
	}},
	{[]string{"Pascal", "Ada"}, []string{
		`(?i)^\s*(?:procedure|function|constructor|destructor|package(?:\s+body)?|type|task)\s+(?:\w+\.)?(\w+)`,
	}},
	{[]string{"Assembly", "Unix Assembly"}, []string{`^([A-Za-z_.][\w.$]*):`, `^TEXT\s+·?(\w+)`}},
	{[]string{"Solidity"}, []string{
		`^\s*(?:abstract\s+)?(?:contract|interface|library|function|modifier|event|struct|enum|error)\s+(\w+)`,
	}},
}
