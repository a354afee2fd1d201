// Package client downloads files and archives from an MCP server that has
// resources/stream (SEP-2532), such as repomcp, reads its lists, and watches what
// changes there.
//
//	c, err := client.Connect(ctx, "https://git.example.com/mcp", client.Options{Authorization: "Bearer …"})
//
//	d, err := c.Stream(ctx, "repo://group/project/archive/main.tar.gz")
//	defer d.Close()
//	_, err = io.Copy(w, d)
//
// [Open] takes the URL of a plain download, or a link, in place of both.
//
// Promises:
//   - The three ways of delivery look the same: bytes in the reply, a downloadUrl,
//     and a redirect to where the bytes are kept. So do the generations of the
//     protocol: 2026-07-28, and those with sessions since 2025-03-26.
//   - Credentials go to the origin of the server that the client was given and to
//     no other, whatever it answers; only origins that Options name are followed
//     to; and from https no step leads to plain http.
//   - A download that breaks goes on at the byte, wherever the server, or another
//     with the same content, still names the same bytes ([RFC 9110], strong ETag).
//   - A download that stays broken, is shorter or longer than announced, or whose
//     bytes are not those of the Repr-Digest that the server sends, ends with an
//     error and never with io.EOF.
//   - Downloads are not held in memory, and all that waits ends with its context.
//     No goroutine is left behind.
//
// A Client may be used by many goroutines, a Download by one.
//
// [RFC 9110]: https://www.rfc-editor.org/rfc/rfc9110.html#name-if-range
package client
