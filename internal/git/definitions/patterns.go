package definitions

// Parts of patterns.
const (
	modifiers = `(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|override|virtual|async|` +
		`readonly|open|inline|suspend|data|case|implicit|lazy|native|synchronized|unsafe|extern|default|fileprivate|` +
		`mutating|required|convenience|export|declare|operator|inner|companion|const|volatile|transient|strictfp|` +
		`package|annotation|value|tailrec|infix|expect|actual|external|indirect|nonisolated|late|covariant)` +
		`(?:\[\w+\])?\s+)*`
	annotations = `(?:@[\w.]+(?:\([^)]*\))?\s+)*`
	// attributes of a type, and the macros that stand for them.
	attributes = `(?:(?:\w+(?:\s*\(\(?[^()]*\)?\))?|\[\[[^\]]*\]\])\s+){0,2}?`
	// parameters of a function, and perhaps its body. A declaration ends with a semicolon.
	parameters = `\s*\((?:[^;]*|[^;{]*\{.*)$`
	// member is the beginning of a function that is indented, in a class of C++.
	member = `^\s+(?:template\s*<[^;{}()]*>\s*)?(?:[A-Za-z_][\w:<>,]*[*&\s]+)+(\w+)`
	types  = `[\w.$]+(?:<[^=;]*>)?(?:\[\s*\])*[?*&]*`
	// typeParameters come after the name of a generic function.
	typeParameters = `(?:<(?:[^<>()]|<[^<>()]*>)*>)?`
)

// ofC are the expressions of C. They are tried for most lines of many repositories, so C++ has some more.
var ofC = []string{
	`^\s*#\s*define\s+(\w+)`,
	`^\s*(?:(?:typedef|static|extern|const|export)\s+)*(?:template\s*<.*>\s*)?(?:struct|class|union|` +
		`enum(?:\s+class)?|namespace|@interface|@implementation|@protocol)\s+` + attributes +
		`(\w+)\s*(?:<[^;{]*>\s*|<[^;{>()]*$)?(?:final\s*)?(?:[:{][^;]*|(?::[^;{]*)?\{.*\};?\s*|/[/*].*)?$`,
	`^typedef\b[^;(]*\(\s*(?:\w+\s+)?\**\s*(\w+)\s*\)\s*\(`, // a pointer to functions
	`^typedef\b.*?(\w+)\s*(?:\[[^\]]*\])?;`,
	`^typedef\b[^;(){}]*[\s*](\w+)\s*\(`, // a type of functions
	`^\}\s*(?:\w+\s*\(\(.*\)\)\s*)?\**(\w+)\s*[;,]`,
	`^(?:extern\s+"C"\s+)?(?:(?:::)?[\w<>~][\w:<>,~]*(?:\([\w\s*]+\))?[*&\s]+)+[*&]*(?:[\w<>]+::)*(~?\w+)` + parameters,
	`^(?:[\w<>]+::)+(~?\w+)` + parameters,
	`^(\w+)\s*\((?:[^;]*\)\s*\{?|[^;)]*,)?\s*(?:/[/*].*)?$`, // the type is in the line before
	`^\s*(?:template\s*<.*>\s*)?using\s+(\w+)\s*=`,
	`^[-+]\s*\([^)]*\)\s*(\w+)`,
	member + `\s*\([^;]*\)[^;()]*\{`,
	`^(?:static|extern|const)\s+[^()=;]*?(\w+)\s*(?:\[[^\]]*\])*\s*=`,
}

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
		`^\s*def\s+(?:self\.)?([!=]?[=~+\-*/%<>&|^!]{1,3}@?|\[\]=?)`,
		`^\s*(?:(?:private|protected|public|abstract)\s+)?(?:def\s+(?:@*\w+\.)?|class\s+|module\s+|struct\s+|enum\s+)` +
			`(?:\w*::)*(\w+[?!=]?)`,
		`^\s*([A-Z]\w*)\s*=[^=~]`,
	}},
	{[]string{"JavaScript", "TypeScript", "TSX", "Vue", "Svelte", "Astro"}, []string{
		`^\s*` + annotations + modifiers + `(?:function\s*\*?|class|interface|enum|type|namespace|module)\s+([\w$]+)`,
		`^(?:export\s+)?(?:const|let|var)\s+([\w$]+)`,
		`^\s*(?:(?:const|let|var)\s+|` + modifiers + `#?)([\w$]+)\s*=\s*(?:async\s*)?(?:function\b|(?:<[^()]*>)?` +
			`\([^()]*\)\s*(?::[^=]+)?=>|\w+\s*=>)`,
		`^\s*(?:[\w$]+\.)+([\w$]+)\s*=\s*(?:async\s+)?(?:function\b|class\b|\([^()]*\)\s*=>)`,
		`^(?:module\.)?exports\.([\w$]+)\s*=`,
		`^\s+([\w$]+)\s*:\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*=>)`,
		`^\s+` + annotations + modifiers + `(?:(?:get|set)\s+)?\*?#?([\w$]+)\s*` + typeParameters +
			`\([^;]*\)\s*(?::\s*[^;]+)?\{`,
		`^\s+` + modifiers + `([\w$]+)\??\s*` + typeParameters + `\([^;]*\)\s*:\s*[^;{}]+;?\s*$`,
	}},
	{[]string{"Java", "C#", "Groovy", "Apex", "D"}, []string{
		`^\s*` + annotations + modifiers +
			`(?:class|@?interface|enum|record(?:\s+(?:class|struct))?|struct|namespace)\s+(?:\w+\.)*(\w+)`,
		`^\s*` + annotations + modifiers + `(?:delegate\s+)?(?:<(?:[^<>]|<[^<>]*>)+>\s+)?` + types +
			`\s+(\w+)` + typeParameters + `\s*\([^;]*(?:\)[^;()]*;\s*)?$`,
		`^\s*` + annotations + `(?:public|private|protected|internal|static|final)\s+` + modifiers +
			`(?:new\s+|event\s+)?(?:(?:` + types + `|\([^()]*\)\??)\s+)?` +
			`(?:operator\s*(?:checked\s+)?([-+*/%<>=!~&|^]+)|(\w+)` + typeParameters + `)\s*(?:[({=;\[]|$)`,
		`^\s+` + types + `\s+(\w+)\s*\{\s*(?:get|set|init)\b`, `^\s+event\s+` + types + `\s+(\w+)`,
		`^\s+([A-Z]\w*)\s*\([^;{]*\)\s*(?:throws\s[^;{]*)?\{`, // a constructor
	}},
	{[]string{"Kotlin", "Swift", "Scala", "Dart"}, []string{
		`^\s*` + annotations + modifiers +
			`(?:fun\s+interface|fun|func|def|class|object|interface|trait|enum(?:\s+class)?|struct|protocol|` +
			`extension|typealias|associatedtype|type|actor|mixin|given)\s+(?:<[^>]+>\s*)?(?:\w+(?:<[^>]*>)?\??\.)*` +
			"(?:([\\w$]+_=|[\\w$]+|[=+*/%<>&|^!:~-]+)|`([\\w$]+)`)",
		`^\s*` + annotations + modifiers + `(init|subscript|deinit)(?:[?!]?\s*[(<{]|$)`, // Swift
		`^(?:\s{2}|\s{4}|\t)?` + annotations + modifiers + `(?:val|var|let)\s+(\w+)\s*[:=]`,
		`^\s{0,2}` + modifiers + types + `\s+(\w+)\s*\([^;]*\)\s*(?:async\s*)?\{\s*$`,
	}},
	{[]string{"C", "Objective-C", "GLSL"}, ofC},
	{[]string{"C++", "Objective-C++", "Cuda", "HLSL", "Metal"}, append([]string{
		member + `\((?:[^;()]|\([^;()]*\))*(?:[,(]|\)(?:\s*(?:const|noexcept|override|final|->[^;{]*))*)$`,
		`^\s*(?:[\w:<>,*&]+[*&\s]+)*(?:[\w<>]+::)*(operator\s*(?:\(\)|\[\]|[-+*/%<>=!~&|^,]+))` + parameters,
		`^\s+(?:\w+\s+)*explicit\s+(\w+)` + parameters, `^\s+(?:\w+\s+)*(~\w+)\s*\([^;]*\)[^;]*\{`,
		`^\s+(?:\w+\s+)*(\w+)\s*\([^;{]*\)\s*(?:noexcept\b[^:]*)?:\s*\w[\w:<>]*\s*[({][^;]*$`, // a constructor
	}, ofC...)},
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
		`^\s*use\s+constant\s+(\w+)\s*=>`,
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
		`^\s*@(?:typep?|opaque|callback|macrocallback)\s+(\w+[?!]?)`,
	}},
	{[]string{"Erlang"}, []string{
		`^([a-z]\w*)\s*\(`, `^-(?:module|record|define|type|opaque|callback)\b\(?\s*(\w+)`,
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
	{[]string{"Makefile"}, []string{
		`^([\w./%-]+)\s*:(?:[^=]|$)`, `^(?:export\s+|override\s+)?([\w.-]+)\s*[:?+]?=`, `^define\s+([\w.-]+)`,
	}},
	{[]string{"Fortran", "Fortran Free Form"}, []string{
		`(?i)^\s*(?:(?:pure|elemental|recursive|integer|real|logical)\s+)*` +
			`(?:subroutine|function|module|program|type)\s+(\w+)`,
	}},
	{[]string{"Pascal", "Ada"}, []string{
		`(?i)^\s*(?:procedure|function|constructor|destructor|package(?:\s+body)?|type|task)\s+(?:\w+\.)?(\w+)`,
	}},
	{[]string{"Assembly", "Unix Assembly"}, []string{`^([A-Za-z_.][\w.$]*):`, `^TEXT\s+·?(\w+)`}},
	{[]string{"Vim Script"}, []string{
		`^[\s:]*(?:export\s+|static\s+|abstract\s+)*` +
			`(?:fu(?:n(?:c(?:t(?:i(?:on?)?)?)?)?)?!?|def!?|class|interface|enum)\s+(?:\w:|<SID>)?(?:\w+[#.])*(\w+)`,
		`^[\s:]*com(?:m(?:and?)?)?!?\s+(?:-\S+\s+)*(\w+)`,
		`^\s*(?:export\s+)?(?:const|final)\s+(?:\w:)?(\w+)`,
	}},
	{[]string{"Tcl"}, []string{`^\s*(?:proc|method|oo::class\s+create)\s+(?:\w*::)*([\w.-]+)`}},
	{[]string{"Awk"}, []string{`^\s*func(?:tion)?\s+(\w+)`}},
	{[]string{"CMake"}, []string{`(?i)^\s*(?:function|macro|option)\s*\(\s*([\w.:-]+)`}},
	{[]string{"M4", "M4Sugar"}, []string{
		`^\s*(?:A[CMUX]_DEFUN(?:_ONCE)?|m4_defun(?:_once)?|m4_define|define)\(\s*[\[\x60]?(\w+)`,
	}},
	{[]string{"SCSS", "Sass", "Less"}, []string{`^\s*@(?:mixin|function)\s+([\w-]+)`, `^[$@]([\w-]+)\s*:`}},
	{[]string{"Batchfile"}, []string{`^\s*:(\w[\w.-]*)`}},
	{[]string{"Verilog", "SystemVerilog"}, []string{
		`^\s*(?:virtual\s+)?(?:module|interface|package|program|class|primitive)\s+(?:automatic\s+|static\s+)?(\w+)`,
		`^\s*(?:(?:virtual|static|local|protected|extern)\s+)*(?:function|task)\s+(?:[^;(]*[\s\]])?` +
			`(?:\w+::)?(\w+)\s*(?:\(|;)`,
	}},
	{[]string{"VHDL"}, []string{
		`(?i)^\s*(?:entity|architecture|package(?:\s+body)?|component|procedure|(?:(?:im)?pure\s+)?function)\s+(\w+)`,
	}},
	{[]string{"Thrift"}, []string{
		`^\s*(?:struct|union|exception|service|enum)\s+(\w+)`, `^\s*(?:typedef|const)\s+\S+\s+(\w+)`,
	}},
	{[]string{"GDScript"}, []string{
		`^\s*(?:static\s+)?(?:func|class|class_name|signal|enum)\s+(\w+)`,
		`^(?:@\w+(?:\([^)]*\))?\s+)*(?:const|var)\s+(\w+)`,
	}},
	{[]string{"Gleam"}, []string{`^\s*(?:pub\s+)?(?:opaque\s+)?(?:fn|type|const)\s+(\w+)`}},
	{[]string{"Odin"}, []string{`^\s*(\w+)\s*::\s*(?:inline\s+)?(?:proc|struct|enum|union)\b`}},
	{[]string{"Haxe", "ActionScript"}, []string{
		`^\s*` + modifiers + `(?:function|class|interface|enum|typedef|abstract)\s+(?:get\s+|set\s+)?(\w+)`,
	}},
	{[]string{"Visual Basic .NET", "VBA", "VBScript"}, []string{
		`(?i)^\s*(?:(?:public|private|protected|friend|shared|overrides|overridable|static|default)\s+)*` +
			`(?:sub|function|class|module|structure|interface|enum|property(?:\s+(?:get|let|set))?)\s+(\w+)`,
	}},
	{[]string{"Solidity"}, []string{
		`^\s*(?:abstract\s+)?(?:contract|interface|library|function|modifier|event|struct|enum|error)\s+(\w+)`,
	}},
}
