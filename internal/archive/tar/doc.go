// Package tar frames the members of a tar as git archive does, to the byte: a header before each
// content, padding after it, and a trailer at the end. It appends to buffers, and is independent of
// the source of contents.
package tar
