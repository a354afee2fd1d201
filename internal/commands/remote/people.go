package remote

import (
	"errors"
	"fmt"
	"strings"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/unpack"
)

// plainError is an error with a message for people.
type plainError struct {
	text string
	error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.error }

// Reasons of servers whose messages are for agents.
const (
	reasonURI       = "invalid_uri"
	reasonNoStreams = "stream_not_supported"
)

const exclusion = "sync --exclude PATH, and ?exclude=PATH in the URI of an archive, leave such paths out; " +
	"a checkout has all of them"

// nextSteps follow the reasons for which members of a sound archive are refused.
var nextSteps = map[unpack.Reason]string{
	unpack.Outside:     "--allow-external-symlinks makes such links",
	unpack.Clash:       exclusion,
	unpack.Separator:   exclusion,
	unpack.DeviceName:  exclusion,
	unpack.InvalidName: exclusion,
	unpack.NotUnicode:  exclusion,
	unpack.NotAllowed:  exclusion,
}

// isAbsent reports whether the server has nothing by one URI; another URI of the name may exist.
func isAbsent(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && (refused.NotFound() || refused.Reason == reasonURI)
}

// forPeople rewords an error about something that the command line names: without terms of the
// protocol, and with the next step.
func forPeople(what string, err error) error {
	text := ""
	refused, isRefused := errors.AsType[*client.Error](err)
	member, isUnsafe := errors.AsType[*unpack.RefusedError](err)
	origin, leadsAway := errors.AsType[*client.OriginError](err)
	_, isWorded := errors.AsType[*plainError](err)
	switch {
	case err == nil || isWorded:
		return err
	case isRefused && (refused.NotFound() || refused.Reason == reasonURI) && isForAgents(refused.Message):
		text = "the server has no such repository, branch, tag, commit or file; repomcp ls URL lists its " +
			"repositories, and repomcp ls URL REPO@REF the files of one"
	case isRefused && refused.Reason == reasonNoStreams:
		text = "it is a folder or a list, which repomcp ls shows; repomcp get REPO@REF --extract -o DIR takes all files"
	case isRefused:
		text = strings.TrimPrefix(refused.Error(), refused.Operation+": ")
	case leadsAway:
		text = fmt.Sprintf("the server leads to another origin; pass --origin %s if its downloads may come from there",
			origin.Origin)
	case isUnsafe && nextSteps[member.Reason] != "":
		text = strings.TrimPrefix(member.Error(), "unpack: ") + "; " + nextSteps[member.Reason]
	case errors.Is(err, client.ErrNoList):
		text = "it is a file, which repomcp cat shows"
	case errors.Is(err, client.ErrNotVerified):
		text = "nothing tells whether the download is whole: a proxy on the way may have cut it; try again, or ask " +
			"the server without that proxy"
	default:
		if text = withoutMethod(err); text == "" {
			return err
		}
	}
	return &plainError{what + ": " + text, err}
}

// isForAgents reports whether a server's message names methods of the protocol.
func isForAgents(message string) bool { return strings.Contains(message, "resources/") }

// said are the errors of package client whose messages are for people, after the failed method.
var said = []error{client.ErrNotResumed, client.ErrTooLarge, client.ErrInsecure, client.ErrDamaged, client.ErrNetwork}

// withoutMethod returns an error's message after the method of the protocol, or "".
func withoutMethod(err error) string {
	for _, one := range said {
		if _, detail, ok := strings.Cut(err.Error(), one.Error()); ok && errors.Is(err, one) {
			return one.Error() + detail
		}
	}
	return ""
}
