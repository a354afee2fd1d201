// Package delta lists what differs between the archives of two commits: the
// entries to send, and the paths to delete before. [Compare] returns a
// [FullNeededError] where that would not turn the one archive into the other.
package delta
