// How a request of each era says who it is from, and that bytes are welcome.

// The client capability that resources/stream asks for.
const streaming = { resourceStreaming: { maxStreamSize: 1 << 30 } };

const version = "2026-07-28";
const clientInfo = { name: "repomcp-ci", version: "1" };

// Without sessions every request declares the capability for itself.
export const modern = {
  version,
  clientInfo,
  headers: { "MCP-Protocol-Version": version, "Mcp-Method": "resources/stream", "Mcp-Name": "repo://hello/archive/refs/heads/main.tar.gz" },
  meta: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": streaming,
    },
  },
  // Any result: the client has looked at it already.
  schema: { "~standard": { version: 1, vendor: "repomcp", validate: (value) => ({ value }) } },
};
export const modernOptions = { versionNegotiation: { mode: "auto" }, capabilities: streaming };

// A session remembers the capability that initialize declared.
export const sessionOptions = { capabilities: streaming };
export function session(transport) {
  return { headers: { "Mcp-Session-Id": transport.sessionId, "MCP-Protocol-Version": transport.protocolVersion } };
}
