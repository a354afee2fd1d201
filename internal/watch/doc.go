// Package watch notifies clients when resources change.
//
// # Order of use
//
// Create [Subscriptions] with [New] and keep [Subscriptions.Run] running. A session may
// [Subscriptions.Subscribe] with or without a [Stream]: it is notified between
// [Subscriptions.Connect] and [Subscriptions.Disconnect]. Its next Connect brings missed changes, and
// those that a lost stream has sent in vain; at another server, or after a restart, it brings along
// what the session watched. A subscription that lives only as long as its stream is a
// session of [Subscriptions.Open].
//
// # Promises
//
// A change after a subscription is never missed. Where the kernel reports file changes,
// notifications follow within a fraction of a second. All repositories are also polled, because a
// network file system reports nothing: twice a second without the kernel's help (a network file
// system, no watches left, switched off), else every ten seconds.
//
// A change of the skills that a client may have listed is reported as a change of the list. It is found by
// looking at the default branches of all repositories every second, or as seldom as that takes a
// twentieth of the time, while there are clients that want to know.
//
// Rapid changes are reported once, after they have ended, but at most 700 ms after the first. A
// slow client blocks no other: its notifications are queued, one per resource.
//
// # Limits
//
// The number of subscriptions is limited ([Options]). While refs do not change, polling reads only
// file metadata: names, sizes, times and inodes. A repository whose loose refs make that slow is
// polled less often, so that polling takes at most a twentieth of the time.
//
// # Decisions
//
// Subscribers receive states, not events: a touched ref file only triggers a comparison, so that
// repacks and unrelated changes are silent.
package watch
