// Package definitions finds the lines of a source file that define something: functions, types,
// sections. A [Language] finds definitions with their extent, in the languages that git has patterns for. A [Namer]
// finds the names that single lines define, in more languages, and needs no other line: this is what a search takes.
//
// # Order of use
//
//	language, ok := definitions.LanguageOf("src/strbuf.c", content) // false: there is no pattern
//	list, err := language.Find(content)                             // in order of their lines
//	some := definitions.Named("strbuf_add", list)
//
//	namer := definitions.NamerOf("JavaScript")
//	start, end, ok := namer.Name(line) // the place of the name that the line defines
//	list, err := namer.Find(content)   // the definitions that begin with such lines
//
// # Promises
//
// A line is a definition if git takes it for one, in hunk headers and in `git grep -W`, when
// gitattributes(5) gives the file its language ("Defining a custom hunk-header"). Go is the
// exception: its files are parsed, as long as they can be.
//
// git knows where definitions begin, and neither their names nor their ends. Both are found by the
// form of the text: the end by indentation and closing brackets, and the comment before a
// definition by the marks of comments, attributes and decorators. They can be wrong for unusual layouts, and a
// definition ends before the next one that it does not contain. Comments and strings of several lines end none; git
// takes lines in them for definitions, too. Lines of C and C++ that have only the template or the type of the function
// below are none of their own, but a part of it.
//
// A Namer has patterns for each language (patterns.go). They take what is written as the language's users write it: a
// definition that begins in the middle of a line or has its name on another line than its keyword is missed, and a
// line of a comment or a string that looks like a definition counts as one.
//
// # Limits
//
// [MaxBytes] and [MaxLines] bound the work, which is linear in the length of the text.
package definitions
