// Package resources is what a repository looks like as resources: their URIs,
// what they hold, and links to them. It knows no protocol.
//
// # Order of use
//
// Make a [Service] with [New] over a catalogue of repositories. [Service.Find]
// finds what a URI names, [Service.FindDownload] what a plain URL does, and
// [Service.FindLink] what a signed link does. What was [Found] tells of the bytes
// what conditions and caches need. [Found.Open] is the only way to bytes: it
// reserves, measures and selects what is wanted. A [Body] is written with
// [Body.WriteTo], or its client is sent to [Body.Redirect]. Close the body, and
// then what was found. [Service.Failure] says what went wrong in words for a client.
//
//	found, err := service.Find(ctx, "repo://git/archive/main.tar.gz")
//	defer found.Close()
//	body, err := found.Open(ctx, resources.Want{Method: resources.Get})
//	defer body.Close()
//	err = body.WriteTo(ctx, w)
//
// # Promises
//
// The grammar of URIs is [Parse], with [ParseDownload] for the same resources as
// plain URLs, and nothing else, and whatever it accepts it writes in one canonical
// form. No message shows a path of the host or a text of the implementation.
//
// No content of a file is read before what that costs is reserved. What is found
// was not read, so that a conditional request costs nothing; a look at a file costs
// nothing either after the first time. Each failure that can be known beforehand
// comes from Open: after that only damage, a full disk or the client ends a body
// early, and WriteTo says so.
//
// # Limits
//
// Of 4096 archives and of 4096 files the length, the digest, the type and the memory
// are remembered. What [Options.Cache] keeps has limits of its own. A file takes
// 3.25 MiB while it is opened and compared with its id, and what it holds of that
// while it is sent; an archive takes [archive.Format.Memory].
//
// # Decisions
//
// A resource that is read is a page; one that is downloaded is whole.
//
// The type, length and digest of a file and the length and digest of an archive are remembered by
// strong ETag, which names the bytes.
package resources
