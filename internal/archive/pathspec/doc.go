// Package pathspec selects the paths of an archive as `git archive COMMIT -- PATHSPEC...` does in a
// bare repository.
//
//	spec, err := pathspec.New(paths, excludes)
//	for _, check := range spec.Checks() { … } // must each match something
//	spec.Match([]byte("docs"), pathspec.Folder)     // may something in it match?
//	spec.Match([]byte("docs/a.md"), pathspec.File)  // is it selected?
//
// A walk calls Match for every entry of the folders that it enters, and enters the folders that
// match. The contents of other folders are not selected, whatever Match returns for them: git also
// decides from the top.
//
// # Pathspecs
//
// A pathspec is a path, or a glob as in package wildmatch, where "*" also matches slashes. It
// selects entries whose whole path matches. A path without glob signs also selects everything below
// it; with a final slash it selects only folders and gitlinks. ".", ".." and empty components are
// resolved first. A prefix can change the meaning:
//
//	:(glob)a/**/*.c      "*" does not match slashes, "**" does
//	:(literal)a[1]       no glob signs
//	:(icase)readme*      ASCII letters in any case
//	:(exclude)a  :!a  :^a  excludes paths that others select
//	:(top)a  :/a         the root; the path is literal
//	:(icase,glob)a       several
//	:                    everything
//
// Without a pathspec that selects, everything is selected. As in git, a glob never selects a folder
// with all its contents: "a*" selects a/b because "*" matches slashes, and ":(glob)a*" does not
// select it.
//
// The answers are those of git archive for its paths, faults included: see "pathspec" in
// gitglossary(7). ":(attr:…)" is refused, as is ":(prefix:…)", which git's own commands use
// internally. Variables such as GIT_LITERAL_PATHSPECS have no effect.
//
// # Limits
//
// A pathspec has no NUL. [Spec.Match] takes at most 2 × len(pathspec) × len(path) steps per
// pathspec and no memory; the caller limits the number of pathspecs.
package pathspec
