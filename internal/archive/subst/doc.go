// Package subst expands the $Format:…$ placeholders in files that have the
// attribute export-subst, to the same bytes as `git archive` of git 2.39.
//
// # Order of use
//
// [New] makes the [Expander] of one archive; [Expander.Append] is called for
// each file with the attribute, in archive order, by one goroutine:
// %(describe) is expanded once in an archive and stays literal after that.
// [DependsOnRefs] says of a file whether the result may change while the commit
// stays the same.
//
// # Promises
//
// The result is what archive.c (format_subst) and pretty.c
// (format_commit_message) give with the context that git archive makes: the
// default date format, automatic abbreviations, no colour but %C(always,…), no
// notes, no reflog. What git takes for no placeholder stays as it is. The
// neighbourhood counts as it does for git: %- and %>> take away from the text
// before the placeholder, and a commit with an encoding header turns the file
// up to there into that encoding.
//
// As git reads it: the text of a commit up to the first NUL, people through the
// .mailmap of HEAD, parents up to where a shallow history ends. Replacement refs
// (refs/replace/) have no part in it, as with GIT_NO_REPLACE_OBJECTS=1: a commit
// is what its id says.
//
// Where git gives up the whole archive, there is a [*FatalError].
//
// # Limits
//
// One file may grow by [maxExpansion] and cost [maxWork], after which there is a
// [*LimitError]; both are far beyond any honest file. History is walked for
// %(describe) up to [maxHistory] commits. Everything ends when the context does.
//
// # What differs from git
//
//   - The configuration is not read: core.abbrev, core.commentChar,
//     mailmap.file, mailmap.blob and trailer.* have their defaults, and there is
//     no info/grafts. The time zone of %ah is UTC.
//   - No program is run. A commit signed with OpenPGP or X.509 has the state E
//     (cannot be checked), one signed with SSH N, which is what git says without
//     the key and without gpg.ssh.allowedSignersFile. The other %G placeholders
//     are empty, where git has what gpg prints and the id of the key, and %GT is
//     "undefined", at which git 2.39 stops with a BUG.
//   - Refs that package repos does not serve (refs/stash, refs/keep-around/, …)
//     decorate no commit.
//   - An encoding that golang.org/x/text does not know (EUC-TW, UTF-7, a name
//     with //TRANSLIT, …) leaves the text as it is, as one unknown to iconv does.
//     The two differ in a few characters of KOI8-U, windows-1255, macintosh and
//     some East Asian encodings: Big5 has the characters of Hong Kong.
package subst
