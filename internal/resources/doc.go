// Package resources is what a repository looks like as resources: their URIs,
// what they hold, and links to them. It knows no protocol.
//
// # Order of use
//
// Make a [Service] with [New] over a catalogue of repositories. [Service.Open]
// finds what a URI names, [Service.OpenDownload] what a plain URL does, and
// [Service.OpenLink] what a signed link does. A [Content] is written whole or in
// part, and closed. [Service.Failure] says what went wrong in words for a client.
//
// # Promises
//
// The grammar of URIs is [Parse], with [ParseDownload] for the same resources as
// plain URLs, and nothing else, and whatever it accepts it writes in one canonical
// form. No message shows a path of the host or a text of the implementation.
//
// # Limits
//
// Of 4096 archives the length and digest are remembered. What [Options.Cache]
// keeps has limits of its own.
package resources
