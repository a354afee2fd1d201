// Package telemetry makes traces and metrics of what is served, and sends them to a
// collector of OpenTelemetry by OTLP over HTTP.
//
// Nothing is made unless the environment asks for it (see [Read]). A [Telemetry] is an
// [httpx.Observer]: a span is made of a message or download once that has ended, from
// the times that were noted, so that serving knows nothing of tracing. Names follow the
// semantic conventions for MCP and HTTP. No attribute has a token, a signature, the
// value of an option that is not known, or a path of this machine; those of metrics
// have a bounded number of values.
//
// The exporters of the SDK send in the background: what cannot be sent in time is
// dropped and logged, at most once a minute.
package telemetry
