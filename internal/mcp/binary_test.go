package mcp

import (
	"encoding/json"
	"testing"

	"github.com/repomcp/repomcp/internal/mcp/binary"
)

func TestBinaryCapabilityIsReadStrictly(t *testing.T) {
	t.Parallel()
	none, bad := TransferCapability{}, TransferCapability{Declared: true, BadSize: true}
	sized := func(limit int64) TransferCapability { return TransferCapability{Declared: true, MaxSize: limit} }
	extends := func(limit int64) TransferCapability {
		return TransferCapability{Declared: true, MaxSize: limit, Extended: true}
	}
	prefers := func(mode binary.Mode) TransferCapability { return TransferCapability{Declared: true, Preferred: mode} }
	tests := map[string]TransferCapability{
		``: none, `null`: none, `[]`: none, `{}`: none, `{`: none, `{"binaryTransfer":null}`: none,
		`{"binaryTransfer":true}`: none, `{"binaryTransfer":{}}`: none,
		`{"binaryTransfer":{"supported":false}}`: none, `{"binaryTransfer":{"supported":null}}`: none,
		`{"binaryTransfer":{"supported":1}}`: none, `{"binaryTransfer":{"supported":"true"}}`: none,
		`{"binaryTransfer":{"Supported":true}}`: none, `{"BinaryTransfer":{"supported":true}}`: none,
		`{"binaryTransfer":{"maxBinarySize":5}}`: none,
		`{"binaryTransfer":{"supported":true}}`:  sized(0), `{"binaryTransfer":{"supported": true }}`: sized(0),
		`{"binaryTransfer":{"supported":true,"maxBinarySize":null}}`:               sized(0),
		`{"binaryTransfer":{"supported":true,"maxBinarySize":1}}`:                  sized(1),
		`{"binaryTransfer":{"supported":true,"maxBinarySize":1e6}}`:                sized(1_000_000),
		`{"binaryTransfer":{"supported":true,"maxBinarySize":1e300}}`:              sized(0),
		`{"binaryTransfer":{"supported":true,"maxBinarySize":0}}`:                  bad,
		`{"binaryTransfer":{"supported":true,"maxBinarySize":-1}}`:                 bad,
		`{"binaryTransfer":{"supported":true,"maxBinarySize":"1"}}`:                bad,
		`{"binaryTransfer":{"supported":true,"maxBinarySize":{}}}`:                 bad,
		`{"binaryTransfer":{"supported":true,"preferredMode":null}}`:               prefers(""),
		`{"binaryTransfer":{"supported":true,"preferredMode":"multipart"}}`:        prefers(binary.ModeMultipart),
		`{"binaryTransfer":{"supported":true,"preferredMode":"websocket-binary"}}`: prefers(binary.ModeFrames),
		`{"binaryTransfer":{"supported":true,"preferredMode":"stream"}}`:           prefers(binary.ModeChunks),
		`{"binaryTransfer":{"supported":true,"preferredMode":""}}`:                 prefers(foreignMode),
		`{"binaryTransfer":{"supported":true,"preferredMode":"Multipart"}}`:        prefers(foreignMode),
		`{"binaryTransfer":{"supported":true,"preferredMode":["multipart"]}}`:      prefers(foreignMode),
		`{"experimental":{"binaryTransfer":{"supported":true,"maxBinarySize":5}}}`: sized(5), `{"extensions":{"` +
			ExtensionBinary + `":{"supported":true,"maxBinarySize":6}}}`: extends(6),
		`{"binaryTransfer":{"supported":true,"maxBinarySize":5},"extensions":{"` + ExtensionBinary +
			`":{"supported":true,"maxBinarySize":6}}}`: extends(5),
		`{"binaryTransfer":{"supported":true},"extensions":{"` + ExtensionBinary + `":{}}}`:                  sized(0),
		`{"binaryTransfer":{"supported":true},"extensions":{"` + ExtensionBinary + `":{"supported":false}}}`: sized(0),
		`{"binaryTransfer":{"supported":false},"extensions":{"` + ExtensionBinary + `":{"supported":true}}}`: none,
		`{"extensions":{"binaryTransfer":{"supported":true}}}`:                                               none, `{"extensions":{"` + ExtensionStream +
			`":{"supported":true}}}`: none,
		`{"binaryTransfer":{"supported":false},"experimental":{"binaryTransfer":{"supported":true}}}`: none,
		`{"binaryTransfer":7,"experimental":{"binaryTransfer":{"supported":true}}}`:                   sized(0),
	}
	for capabilities, want := range tests {
		if got := parseBinaryCapability(json.RawMessage(capabilities)); got != want {
			t.Errorf("%s: %+v, want %+v", capabilities, got, want)
		}
	}
	t.Logf("%d cases", len(tests))
}

// A session id says no more than it has to: headers are short.
func TestSessionsSayNothingOfWhatWasNotDeclared(t *testing.T) {
	t.Parallel()
	short, err := json.Marshal(Claims{Version: sessionVersion})
	if err != nil || string(short) != `{"v":"2025-11-25","s":{},"n":"","t":0}` {
		t.Errorf("%s, %v", short, err)
	}
}
