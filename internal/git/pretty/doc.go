// Package pretty expands the placeholders of commit formats, such as %H and %<(20)%an, to the same
// bytes as git 2.39. The placeholders are those of git-log(1), PRETTY FORMATS.
//
// # Order of use
//
// [New] returns the [Formatter] of a commit, and [Formatter.NewText] begins a text. [Text.Add]
// appends text around formats, and [Text.Expand] expands formats; [Text.Mail] appends the commit as
// a mail. [Text.Bytes] returns the result.
// [DependsOnRefs] reports whether the result of a format may change without the commit.
//
// # Promises
//
// Formats have the default date format, automatic abbreviations, no colour except %C(always,…), no
// notes and no reflog, as in `git archive`. Unknown placeholders stay unchanged. The surrounding
// text counts as in git: %- removes line feeds from the text before the format, and %<| counts its
// columns. %>> removes blanks of its own format only.
//
// As in git, the text of a commit ends at the first NUL, people are mapped by the .mailmap of HEAD,
// and parents end with a shallow history. Replacement refs (refs/replace/) have no effect, as with
// GIT_NO_REPLACE_OBJECTS=1: a commit is what its id says.
//
// Where git fails, the error is a [*FatalError].
//
// # Limits
//
// Formats may add 64 MiB to a text, and examine 256 MiB; beyond, the error is a [*LimitError]. Both
// are far beyond any honest format. %(describe) visits at most two million commits. Everything ends
// when the context does.
//
// # Differences from git
//
//   - `git archive` lets %>> take blanks of the file before $Format.
//   - The widths of characters are those of the Unicode of golang.org/x/text and of Go, which is
//     later than git's; U+FFFE and U+FFFF count as characters.
//   - The configuration is not read: core.abbrev, core.commentChar, mailmap.file, mailmap.blob and
//     trailer.* have their defaults, and there is no info/grafts. The time zone of %ah is UTC.
//   - No program is run. A commit signed with OpenPGP or X.509 has the state E (cannot be checked),
//     and one signed with SSH has N, as in git without the key and without
//     gpg.ssh.allowedSignersFile. The other %G placeholders are empty, where git has the output of
//     gpg and the id of the key. %GT is "undefined", at which git 2.39 stops with a BUG.
//   - Refs that package repos does not serve (refs/stash, refs/keep-around/, …) decorate no commit.
//   - An encoding that golang.org/x/text does not support (EUC-TW, UTF-7, a name with //TRANSLIT,
//     …) leaves the text unchanged, as an encoding unknown to iconv does in git. The two differ in
//     a few characters of KOI8-U, windows-1255, macintosh and some East Asian encodings: Big5 has
//     the characters of Hong Kong.
package pretty
