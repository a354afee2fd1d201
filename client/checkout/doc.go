// Package checkout keeps a folder in step with a branch of a server: its files as
// they are there, without a repository beside them.
//
//	c, err := client.New("https://git.example.com/mcp", client.Options{})
//	result, err := checkout.Sync(ctx, c, checkout.Options{Repository: "group/project", Ref: "main", Dir: "project"})
//
// The first run takes a whole archive, which is unpacked while it arrives. Later
// ones take what differs from the commit of the run before, as patches of the files
// where bytes count, and cost one request when that is nothing. [Follow] does so at every push.
//
// # Promises
//
//   - A file that somebody changed in the folder is not overwritten or removed
//     unless Options.Force says so: it is kept, and named at the end. Size, time of
//     modification and then git's id of the content decide. A file that is missing
//     is no change: it comes again as soon as its content is sent, and by Verify.
//   - Files that are the same are not touched, so that they keep their time.
//   - Only what a run wrote is ever removed. What lies beside it stays.
//   - Each file is the old or the new one at every moment, also after a kill -9. Those
//     of a folder that has nothing yet appear together, when all have arrived. The
//     next run knows what the one before had got to, and ends in step whatever
//     happened to the branch meanwhile.
//   - Nothing outside of the folder is written, see package unpack.
//   - Memory does not grow with the repository.
//
// # State
//
// DIR/.repomcp/state says what a run put where. It is replaced by a rename at the end
// of a run; while one is under way, or after it was killed, a journal is beside it.
// A lock keeps a second run of the folder out; it ends with the process.
package checkout
