package checkout

import (
	"context"
	"errors"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/internal/dotgit"
	"github.com/repomcp/repomcp/client/unpack"
)

// Code is the machine-readable kind of an error.
type Code string

// The codes.
const (
	CodeArguments    Code = "arguments"    // the options are invalid
	CodeOccupied     Code = "occupied"     // ErrOccupied
	CodeLocked       Code = "locked"       // ErrLocked
	CodeState        Code = "state"        // ErrState
	CodeGone         Code = "gone"         // ErrGone
	CodeUnauthorized Code = "unauthorized" // the server wants other credentials
	CodeRefused      Code = "refused"      // the server refuses for another reason
	CodeBusy         Code = "busy"         // the server, or a proxy, is busy
	CodeNetwork      Code = "network"      // the server was not reached, or the connection broke
	CodeOtherOrigin  Code = "other_origin" // client.ErrOrigin, client.ErrInsecure
	CodeTooLarge     Code = "too_large"    // client.ErrTooLarge
	CodeDamaged      Code = "damaged"      // the received bytes are damaged
	CodeUnsafe       Code = "unsafe"       // package unpack refused the archive
	CodeStopped      Code = "stopped"      // the context has ended
	CodeFailed       Code = "failed"       // anything else, such as the disk
)

// codes are those of errors, the most specific first.
var codes = []struct {
	is   error
	code Code
}{
	{errArguments, CodeArguments},
	{ErrOccupied, CodeOccupied},
	{ErrLocked, CodeLocked},
	{ErrState, CodeState},
	{ErrGone, CodeGone},
	{ErrNoCheckouts, CodeRefused},
	{dotgit.ErrUntrusted, CodeUnsafe},
	{client.ErrOrigin, CodeOtherOrigin},
	{client.ErrInsecure, CodeOtherOrigin},
	{client.ErrTooLarge, CodeTooLarge},
	{client.ErrDamaged, CodeDamaged},
	{client.ErrNotVerified, CodeDamaged},
	{client.ErrNotResumed, CodeNetwork},
	{client.ErrNetwork, CodeNetwork},
	{unpack.ErrDamaged, CodeDamaged},
	{unpack.ErrContent, CodeDamaged},
	{unpack.ErrPatch, CodeDamaged},
	{context.Canceled, CodeStopped},
	{context.DeadlineExceeded, CodeStopped},
}

// CodeOf returns the code of an error of this package, or of packages client and unpack.
func CodeOf(err error) Code {
	_, unsafe := errors.AsType[*unpack.RefusedError](err)
	if _, limit := errors.AsType[*unpack.LimitError](err); limit || unsafe {
		return CodeUnsafe
	}
	for _, c := range codes {
		if errors.Is(err, c.is) {
			return c.code
		}
	}
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return CodeFailed
	case refused.Busy():
		return CodeBusy
	case refused.Unauthorized():
		return CodeUnauthorized
	default:
		return CodeRefused
	}
}
