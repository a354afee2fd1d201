// Package tree says which entries an archive has, in which order, and what
// attributes ask for each.
//
// [Select] finds what the options name in a commit's tree and in those of its
// submodules, and refuses what is not there. [Selection.Walk] then hands out the
// entries in git's order, in batches, each with its [Treatment]. No file is read
// but .gitattributes and .gitmodules.
package tree
