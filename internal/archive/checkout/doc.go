// Package checkout makes the files of .git in an archive that is a clone: a pack with its indexes, the
// index of the working tree, refs and the configuration.
package checkout
