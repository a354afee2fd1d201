package checkout_test

import (
	"context"
	"fmt"

	"github.com/repomcp/repomcp/client"
	"github.com/repomcp/repomcp/client/checkout"
)

func ExampleSync() {
	ctx := context.Background()
	c, err := client.New("https://git.example.com/mcp", client.Options{Authorization: "Bearer …"})
	if err != nil {
		panic(err)
	}
	result, err := checkout.Sync(ctx, c, checkout.Options{
		Repository: "group/project", Ref: "main", Dir: "project", Exclude: []string{"docs"},
	})
	if err != nil {
		panic(err)
	}
	for _, path := range result.Kept {
		fmt.Println("changed here, and kept:", path)
	}
}

func ExampleFollow() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := client.New("https://git.example.com/mcp", client.Options{})
	if err != nil {
		panic(err)
	}
	err = checkout.Follow(ctx, c, checkout.Options{
		Repository: "group/project", Ref: "main", Dir: "project",
		Events: func(e checkout.Event) {
			if e.Event == checkout.EventWrite || e.Event == checkout.EventDelete {
				fmt.Println(e.Event, e.Path)
			}
		},
	})
	fmt.Println(err) // that ctx has ended, or why there is no sense in going on
}
