// Package watch tells clients when resources changed.
//
// # Order of use
//
// Make [Subscriptions] with [New] and keep [Subscriptions.Run] going. A session
// may [Subscriptions.Subscribe] whether or not somebody listens for it: between
// [Subscriptions.Connect] and [Subscriptions.Disconnect] it is told, and afterwards
// of what it missed. What lasts only as long as somebody listens is a session of
// [Subscriptions.Open].
//
// # Promises
//
// A change after a subscription is never missed: where the kernel tells of
// changes, they are reported within a fraction of a second; and all repositories
// are looked at regularly all the same, since a network file system tells nothing.
// Where the kernel does not help (a network file system, no watches left, switched
// off) that is done twice a second, else every ten seconds.
//
// Changes in quick succession are reported once, when it is quiet again, but
// not later than 700 ms after the first. Nobody waits for a client: what it has no
// room for is kept, once per resource.
//
// # Limits
//
// Subscriptions are counted ([Options]). While refs do not change only files are
// looked at, never read: their names, sizes, times and inodes. A repository with
// so many loose refs that this takes long is looked at less often, so that it takes
// no more than a twentieth of the time.
package watch
