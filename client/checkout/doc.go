// Package checkout writes the files of a branch of a server that git checkout would
// write, and keeps the folder in step with it. There is no repository beside them.
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
//     unless Options.Force says so: it is kept, and named at the end. Size, the times of
//     modification and of change, and then the content decide. A file that is missing
//     is no change: it comes again as soon as its content is sent, and by Verify.
//   - That holds for changes during a run as well: what a file takes the place of is
//     looked at when no program finds it any more, and put back if it was changed. See
//     [unpack.Yields]. On Linux a file that some program has open for writing stays.
//   - Files that are the same are not touched, so that they keep their time.
//   - Only what a run wrote is ever removed. What lies beside it stays.
//   - Each file is the old or the new one at every moment, also after a kill -9. Those
//     of a folder that has nothing yet appear together, when all have arrived. The
//     next run knows what the one before had got to, and ends in step whatever
//     happened to the branch meanwhile.
//   - Nothing outside of the folder is written, see package unpack. A symbolic link that
//     leads outside is left out, and named at the end.
//   - Memory does not grow with the repository, nor with what a server sends.
//
// # State
//
// DIR/.repomcp/state says what a run put where. It is replaced by a rename at the end
// of a run; while one is under way, or after it was killed, a journal is beside it.
// A lock keeps a second run of the folder out; it ends with the process. [StatusOf] reads
// the state without a server.
package checkout
