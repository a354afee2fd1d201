// Package content makes what the members of an archive contain, where that is not
// what is stored: converted text, expanded placeholders, and the objects that
// pointers of git-lfs stand for.
package content
