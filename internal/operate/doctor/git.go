package doctor

import (
	"context"

	"github.com/repomcp/repomcp/internal/resources/uploadpack"
)

// checkGit reports whether git clients are answered, and by which git. All other clients need none.
func (e *examination) checkGit(ctx context.Context) {
	program, err := uploadpack.Choose(ctx, e.Git)
	switch {
	case err != nil && e.Git != "":
		e.fault("--git", err.Error(), notStarted)
	case err != nil:
		e.ok("git clients are not answered: " + err.Error())
	case program.Path == "":
		e.ok("off: git clients are not answered")
	default:
		e.ok("git " + program.Version + " answers git clients at /git/{repository}")
	}
}
