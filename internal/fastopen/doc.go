// Package fastopen saves the round trip that opens a TCP connection (RFC 7413): the
// first bytes travel with the packet that opens it, once the client has a cookie of the
// server. The kernels of both must want it, and connections are opened as ever where one
// does not. A network may deliver such bytes twice, so they must ask for nothing
// that is done once, or be those of TLS.
package fastopen
