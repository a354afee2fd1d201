// Package definitions finds the lines of a source file that define something: functions, types,
// sections. It knows the languages that git has patterns for, and tells which those are.
//
// # Order of use
//
//	language, ok := definitions.LanguageOf("src/strbuf.c") // false: there is no pattern
//	list := language.Find(content)                         // in order of their lines
//	some := definitions.Named(list, "strbuf_add")
//
// # Promises
//
// A line is a definition if git takes it for one, in hunk headers and in `git grep -W`, when
// gitattributes(5) gives the file its language ("Defining a custom hunk-header"). Go is the
// exception: its files are parsed, as long as they can be.
//
// git knows where definitions begin, and neither their names nor their ends. Both are found by the
// form of the text: the end by indentation and closing brackets, and the comment before a
// definition by the marks of comments. They can be wrong for unusual layouts, and a definition ends
// before the next one that it does not contain.
//
// # Limits
//
// [MaxBytes] and [MaxLines] bound the work, which is linear in the length of the text.
package definitions
