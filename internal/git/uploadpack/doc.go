// Package uploadpack has the operator's own git hand out repositories: it runs `git upload-pack --stateless-rpc`
// for requests of git clients. It knows no HTTP.
//
// # Order of use
//
// Make an [Engine] with [New] from what [Find] found, and [Engine.Close] it. For each request open a [Session],
// have it [Session.Advertise] or [Session.Serve], copy the [Reply], and close both.
//
// # Promises
//
// git never sees a mirror. It runs on a repository of our own, made for one request in a private folder: a config,
// HEAD and packed-refs that we wrote, with the served refs alone, and symbolic links to the mirror's packs, loose
// objects and commit-graphs. So no line of a mirror's config has any effect, whatever keys git has that name
// programs or files, today or later; its hooks, attributes, alternates and refs are not read by git either. Folders
// of alternates below the root are linked by us. The environment is ours alone, without system or user
// configuration.
//
// What a client wants has to be something that the served refs lead to: protocol v2 of git itself gives any object
// to who knows its id. A request is read to its end, into a file, before git starts, and each id in it is compared
// with the refs. Others are looked for by `git rev-list --objects`, from the newest commits on.
//
// Memory is reserved with [limits.Limiter] before a program starts, and the configuration bounds what it takes. A
// program waits while its output is not read. It and all that it started end with the session, the context and the
// engine; nothing is left of them when Close has returned.
//
// # Limits
//
// That an object is in the mirror can be found out by a client that knows its id: git says which of a client's
// commits both have.
package uploadpack
