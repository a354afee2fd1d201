// Package pretty expands the placeholders of commit formats, such as %H and
// %<(20)%an, to the same bytes as git 2.39. They are those of git-log(1), PRETTY
// FORMATS.
//
// # Order of use
//
// [New] makes the [Formatter] of a commit and [Formatter.NewText] begins a text,
// to which [Text.Add] adds what is around formats and [Text.Expand] what they expand
// to; [Text.Bytes] ends it. [DependsOnRefs] reports whether the result of a format may
// change without the commit.
//
// # Promises
//
// Formats have the default date format, automatic abbreviations, no colour but
// %C(always,…), no notes and no reflog, as `git archive` has them. What git takes
// for no placeholder stays as it is. The neighbourhood counts as it does for git:
// %- removes line feeds from the text before the format, and %<| counts its
// columns. %>> removes blanks of its own format only.
//
// As git reads it: the text of a commit up to the first NUL, people through the
// .mailmap of HEAD, parents up to where a shallow history ends. Replacement refs
// (refs/replace/) have no part in it, as with GIT_NO_REPLACE_OBJECTS=1: a commit
// is what its id says.
//
// Where git ends without a result, there is a [*FatalError].
//
// # Limits
//
// One text may grow by 64 MiB over what is added to it, and cost looking at 256
// MiB, after which there is a [*LimitError]; both are far beyond any honest
// format. History is walked for %(describe) up to two million commits. Everything
// ends when the context does.
//
// # What differs from git
//
//   - `git archive` lets %>> take blanks of the file before $Format.
//   - The widths of characters are those of the Unicode of golang.org/x/text and
//     of Go, which is later than git's; U+FFFE and U+FFFF count as characters.
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
package pretty
