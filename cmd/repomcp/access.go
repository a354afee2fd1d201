package main

import (
	"errors"
	"fmt"

	"github.com/repomcp/repomcp/internal/access/rules"
	"github.com/repomcp/repomcp/internal/commands/cli"
)

// checkAccess refuses flags that contradict access rules.
func (f serveFlags) checkAccess() error {
	if f.access == "" || !f.allowUnreachable {
		return nil
	}
	return cli.Misused(errors.New("--allow-unreachable shows what no ref leads to, also of repositories that " +
		"objects are borrowed from, which --access may forbid; leave one of them out"))
}

// accessRules reads the access rules. Nil lets all admitted clients read everything.
func (f serveFlags) accessRules() (*rules.Rules, error) {
	if err := f.checkAccess(); err != nil || f.access == "" {
		return nil, err
	}
	held, err := rules.Load(f.access)
	if err != nil {
		return nil, cli.Misused(fmt.Errorf("--access: %w", err))
	}
	return held, nil
}
