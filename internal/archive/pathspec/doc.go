// Package pathspec selects the paths of an archive as
// `git archive COMMIT -- PATHSPEC...` does in a bare repository.
//
//	spec, err := pathspec.New(paths, excludes)
//	for _, check := range spec.Checks() { … } // must each match something
//	spec.Match([]byte("docs"), pathspec.Folder)     // is it worth to go in?
//	spec.Match([]byte("docs/a.md"), pathspec.File)  // is it selected?
//
// A walk asks about every entry of a folder that it is in, and goes into the
// folders that match. What is in others is not selected, whatever Match says
// of it: git also decides from the top.
//
// # Pathspecs
//
// A pathspec is a path, or has glob signs in it as package wildmatch reads
// them, where "*" also matches slashes. It selects an entry whose whole path
// matches. A path without signs also selects all that is below it; with a slash
// at its end it selects folders and gitlinks alone. ".", ".." and empty
// components are resolved before anything is compared. What comes first can
// change the meaning:
//
//	:(glob)a/**/*.c      "*" does not match slashes, "**" does
//	:(literal)a[1]       no glob signs
//	:(icase)readme*      ASCII letters in any case
//	:(exclude)a  :!a  :^a  takes away what the others select
//	:(top)a  :/a         the root; the path is taken as it is written
//	:(icase,glob)a       several
//	:                    everything
//
// Without a pathspec that selects, everything is selected. As with git, a glob
// never selects a folder with all that it has: "a*" selects a/b because "*"
// matches slashes, and ":(glob)a*" does not select it.
//
// The answers are those that git archive gives for its paths, faults included:
// see "pathspec" in gitglossary(7). ":(attr:…)" is refused, as is ":(prefix:…)", which git's own
// commands use among themselves. Variables such as GIT_LITERAL_PATHSPECS have
// no part.
//
// # Limits
//
// A pathspec has no NUL. [Spec.Match] takes for each pathspec at most
// 2 × len(pathspec) × len(path) steps and no memory; the number of pathspecs is
// the caller's to limit.
package pathspec
