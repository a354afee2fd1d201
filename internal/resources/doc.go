// Package resources presents repositories as resources: their URIs, their contents, and links to
// them. It knows no protocol.
//
// # Order of use
//
// Make a [Service] with [New] over a catalogue of repositories. [Service.Find] finds the resource
// of a URI, [Service.FindDownload] that of a plain URL, and [Service.FindLink] that of a signed
// link. A [Found] has all that conditions and caches need. [Found.Open] is the only way to bytes:
// it reserves memory, measures, and selects the range. A [Body] is written with [Body.WriteTo], or
// its client is sent to [Body.Redirect]. Close the body before the Found. [Service.Failure]
// describes an error to a client.
//
//	found, err := service.Find(ctx, "repo://git/archive/main.tar.gz")
//	defer found.Close()
//	body, err := found.Open(ctx, resources.Want{Method: resources.Get})
//	defer body.Close()
//	err = body.WriteTo(ctx, w)
//
// # Promises
//
// The grammar of URIs is [Parse], with [ParseDownload] for the same resources as plain URLs.
// Everything that they accept has one canonical form. No message contains a path of the host or
// details of the implementation.
//
// No file is sent, hashed or examined for its type before its cost is reserved. Finding a file reads
// nothing of it, so a conditional request costs nothing; a look at a file costs nothing after the
// first time. Finding an archive waits for a turn of the limits, in which folders, attributes and
// files with export-subst are examined, once for each ETag that is remembered. Finding a patch is
// reserved as a call, in which the files that differ are found, each time. Each failure that can
// be known beforehand comes from Find or Open: later only damage, a full disk or the client can end
// a body early, and WriteTo reports it.
//
// # Limits
//
// The length, digest, type and memory of 4096 archives and patches and of 4096 files are remembered.
// [Options.Cache] has limits of its own. A file takes 3.25 MiB while it is opened and compared with
// its id, and what it still holds of that while it is sent; an archive takes
// [archive.Format.Memory], and a patch [patch.Plan.Memory].
//
// # Decisions
//
// Reading a list returns a page of it; downloading returns the whole.
//
// The type, length and digest of a file and the length and digest of an archive are remembered by
// strong ETag, which names the bytes.
package resources
