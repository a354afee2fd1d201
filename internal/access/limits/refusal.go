package limits

import (
	"errors"
	"time"
)

// Reason is why a request was refused.
type Reason string

// Other requests are admitted after a refusal with reason Client.
const (
	// Client: its own share is used up.
	Client Reason = "client"
	// Repository: too many requests are about the same one.
	Repository Reason = "repository"
	// Server: everything is in use.
	Server Reason = "server"
)

// Refusal is the error of a request that is not admitted. The request did nothing, and may be sent
// again.
type Refusal struct {
	Reason Reason
	// RetryAfter is when a repetition may succeed.
	RetryAfter time.Duration
}

// retryAfter is when a refused client may come again: as long as a small download takes.
const retryAfter = 5 * time.Second

// Error implements error.
func (r *Refusal) Error() string {
	return "refused: what the " + string(r.Reason) + " may have is in use"
}

// RefusalOf finds a refusal in an error, or nil.
func RefusalOf(err error) *Refusal {
	var refusal *Refusal
	errors.As(err, &refusal)
	return refusal
}
