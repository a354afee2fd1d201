// Command repomcp serves a folder of git mirrors over MCP and streams archives
// of them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/repomcp/repomcp/internal/commands/cli"
)

func main() { os.Exit(mainCode()) }

func mainCode() int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // until the process ends
		<-signals
		stop()
		<-signals
		// A process started in the background inherits an ignored SIGINT, so restoring the default
		// action would not end it.
		os.Exit(cli.ExitSignal)
	}()
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
}
