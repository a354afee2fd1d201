// Command repomcp serves a folder of git mirrors over MCP and streams archives
// of them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(mainCode()) }

func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
}
