// Package tree determines the entries of an archive, their order, and their treatment by
// attributes.
//
// [Select] resolves the options in a commit's tree and in those of its submodules, and refuses
// missing paths. [Selection.Walk] then yields the entries in git's order, in batches, each with its
// [Treatment]. It reads no files but .gitattributes and .gitmodules.
package tree
