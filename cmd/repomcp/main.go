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
		// What runs in the background was started with SIGINT ignored, so that
		// letting the system handle the second one would do nothing.
		os.Exit(cli.ExitSignal)
	}()
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
}
