// Package delta lists the differences between the archives of two commits: the entries to send, and
// the paths to delete before. [Compare] returns a [FullNeededError] if these would not turn one
// archive into the other.
package delta
