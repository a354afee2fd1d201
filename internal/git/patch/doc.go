// Package patch writes what commits change in the forms that programs take: as git diff for git
// apply, and as git format-patch for git am.
//
// # Order of use
//
// [Commits], [Range] or [Commit] finds the commits of a [Form]. [New] examines the files that differ, and
// [Plan.WriteTo] writes their patches. [Plan.Tag] names the bytes, and [Plan.Memory] is what writing
// them takes.
//
// # Promises
//
// The bytes are those of git 2.39 with its default settings and without attributes, as package
// history has them, but for two places: the last line of a mail is [Signature] instead of git's version, and
// package binarypatch writes the payload of binary files.
//
// The bytes are a function of the commits and the lengths of abbreviated ids. Those depend on the
// other objects of the repository, so a fetch can change them; the tag is another one then.
//
// # Limits
//
// The files of one commit are in memory: at most [history.DefaultMaxFiles] ([history.ErrTooMany] is
// found before the first byte), as are more than 100,000 mails. A comparison holds two files.
// Any number of bytes is streamed.
//
// # Decisions
//
// The lengths of all abbreviations are found beforehand, which reads the trees twice. Without them a
// tag could not name the bytes, and a download that is resumed after a fetch could mix two patches.
package patch
