// Package attributes evaluates .gitattributes as git does when it archives.
//
// A walk makes one [Stack] for a tree. It pushes each folder that it enters
// with the content of the .gitattributes there, asks [Stack.Lookup] about the
// entries, folders and gitlinks among them, and pops the folder when it leaves:
//
//	stack := attributes.NewStack(info)
//	stack.Push(nil, rootAttributes)
//	stack.Lookup([]byte("docs"), true) // is the folder to be ignored?
//	stack.Push([]byte("docs/"), docsAttributes)
//	stack.Lookup([]byte("docs/a.txt"), false)
//	stack.Pop()
//
// The answers are those of gitattributes(5) for a tree that nobody has checked
// out, with core.ignoreCase off: what is built in yields to the root's file,
// that to deeper ones, and all to $GIT_DIR/info/attributes. The machine's own files,
// /etc/gitattributes and core.attributesFile, have no part. git takes as the
// content what the entry .gitattributes of the tree has, also if it is a
// symbolic link: then the path that the link names.
//
// Versions of git differ in two points. In a pattern such as "/a**/b" the "**"
// is "*", as gitattributes(5) has it; git before 2.52 let it cross slashes. The
// names that begin with builtin_ are names like others; git since 2.44 ignores
// lines that have them.
//
// # Limits
//
// Only rules that concern [Attributes], also by way of a macro, are kept; their
// size is at most some 50 times that of their text. A line has at most 2047
// bytes and a file less than [MaxFile], or they count for nothing, as in git;
// a caller that reads hostile trees sets a smaller limit. A lookup compares at
// most each rule that is kept once with the path, at len(pattern) × len(path)
// steps at the worst, and expands each macro at most once. It stops when it
// knows every attribute.
package attributes
