// Package telemetry produces traces and metrics of what is served, and sends them to an
// OpenTelemetry collector by OTLP over HTTP.
//
// It does nothing unless the environment requests it (see [Read]). A [Telemetry] is an
// [httpx.Observer]: it makes a span of a message or download after that has ended, from recorded
// times, so that serving does not depend on tracing. Names follow the semantic conventions for MCP
// and HTTP. Attributes contain no tokens, no signatures, no values of unknown options, and no paths
// of this machine; attributes of metrics have a bounded number of values.
//
// The exporters of the SDK send in the background: data that cannot be sent in time is dropped,
// which is logged at most once a minute.
package telemetry
