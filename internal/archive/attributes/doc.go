// Package attributes evaluates .gitattributes as git does when it archives.
//
// A walk creates one [Stack] for a tree. It pushes each folder that it enters with the content of
// the .gitattributes there, calls [Stack.Lookup] for the entries, including folders and gitlinks,
// and pops the folder when it leaves:
//
//	stack := attributes.NewStack(info)
//	stack.Push(nil, rootAttributes)
//	stack.Lookup([]byte("docs"), true) // is the folder to be ignored?
//	stack.Push([]byte("docs/"), docsAttributes)
//	stack.Lookup([]byte("docs/a.txt"), false)
//	stack.Pop()
//
// The answers are those of gitattributes(5) for a tree that is not checked out, with
// core.ignoreCase off: built-in rules yield to the root's file, that to deeper ones, and all to
// $GIT_DIR/info/attributes. The machine's own files, /etc/gitattributes and core.attributesFile,
// are ignored. Like git, the package uses the content of the tree's entry .gitattributes even if
// that is a symbolic link: then the content is the link's target.
//
// Versions of git differ in two points. In a pattern such as "/a**/b" the "**" is "*", as
// gitattributes(5) defines it; git before 2.52 let it match slashes. Names that begin with builtin_
// are ordinary names; git since 2.44 ignores lines that have them.
//
// # Limits
//
// Only rules that affect [Attributes], directly or by a macro, are kept; their size is at most some
// 50 times that of their text. As in git, lines above 2047 bytes are ignored, and so are files of
// [MaxFile] or more; a caller that reads hostile trees sets a smaller limit. A lookup matches each
// kept rule at most once, in at most len(pattern) × len(path) steps, and expands each macro at most
// once. It stops when it knows every attribute.
package attributes
