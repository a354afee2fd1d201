// Package uploadpack serves git clients with the operator's own git: it runs `git upload-pack --stateless-rpc` for each
// request. It knows no HTTP.
//
// # Order of use
//
// Make an [Engine] with [New] from the program that [Find] returns, and [Engine.Close] it. For each request open a
// [Session] with [Engine.Open], call [Session.Advertise] or [Session.Serve], copy the [Reply], and close both.
//
// # Promises
//
// Git never reads a mirror's configuration. It runs in a repository of our own, made for one request in a private
// folder: a config, HEAD and packed-refs with the served refs, and a symbolic link to the mirror's objects. So no line
// of a mirror's config has any effect, whatever keys name programs or files in present or future versions of git; its
// hooks, attributes, alternates and refs are not read either. Where objects have a list of alternates, their packs,
// loose objects and commit-graphs are linked one by one instead, and so are the alternates below the root. The
// environment has no system or user configuration.
//
// A client gets only objects that served refs reach. Git's protocol v2 itself gives any object to a client that knows
// its id. Therefore a request is read to its end, into a file, before git starts, and each wanted id is compared with
// the refs, and with those that clients of this server got in a list during the last minute: a force-push between a
// client's two requests does no harm. Other ids are searched with `git rev-list --objects`, from the newest commits on.
//
// Git gets the refs that it needs for the request, and no others: a mirror of a large host has thousands of refs of
// pull requests, which fetches do not want. The objects of the refs in a list exist, or the request fails.
//
// [limits.Limiter] reserves memory before a program starts, and has this process take less while git reads objects. The
// configuration bounds the program's memory. A program waits while its output is not read. It ends, with all its child
// processes, with the session, the context or the engine; nothing of it is left when Close has returned.
//
// # Limits
//
// A client that knows the id of a hidden object can find out that the mirror has it: git acknowledges the commits that
// both sides have.
//
// # Decisions
//
// A request gets a repository of its own instead of the mirror with overridden settings: a list of overrides would have
// to contain every key of every version of git that names a program or a file.
//
// The pkt-lines of requests are read here, since go-git's scanner refuses the delimiters of protocol v2 (a test shows
// it). go-git's encoder writes those of replies, in httpx.
package uploadpack
