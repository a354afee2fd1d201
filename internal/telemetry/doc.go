// Package telemetry makes traces and metrics of what is served, and sends them to a
// collector of OpenTelemetry by OTLP over HTTP.
//
// Nothing is made unless the environment asks for it (see [Read]). A [Telemetry] is an
// [httpx.Observer]: a span is made of a message or download once that has ended, of
// the times that were noted, so that serving knows nothing of tracing. Names follow the
// semantic conventions for MCP and HTTP. No attribute has a token, a signature, the
// value of an option that is not known, or a path of this machine; those of metrics
// have a bounded number of values.
//
// Sending happens beside: what cannot be sent in time is dropped and logged, at most
// once a minute.
//
// The exporters of the SDK bring gRPC and some 4 MB into the program, and would take
// 0.8 ms of the processor at each of its starts, also of those that trace nothing. So
// what is sent is written here; a test compares it with what they send.
package telemetry
