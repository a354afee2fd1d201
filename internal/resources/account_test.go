package resources_test

import (
	"context"
	"slices"
	"testing"

	"github.com/repomcp/repomcp/internal/resources"
)

func TestStagesAreKeptForWhoWantsThem(t *testing.T) { //nolint:paralleltest // it counts allocations
	work := func(ctx context.Context) {
		defer resources.AccountOf(ctx).Stage("whole")()
		end := resources.AccountOf(ctx).Stage("part")
		resources.AccountOf(ctx).Mark("moment")
		end()
	}
	ctx, account := resources.WithAccount(t.Context(), false)
	if allocated := testing.AllocsPerRun(100, func() { work(ctx) }); allocated != 0 || account.Stages() != nil {
		t.Errorf("%v allocations for %v, which nobody wants", allocated, account.Stages())
	}
	ctx, account = resources.WithAccount(t.Context(), true)
	work(ctx)
	var names []string
	for _, stage := range account.Stages() {
		names = append(names, stage.Name)
		if moment := stage.End.IsZero(); moment != (stage.Name == "moment") || !moment &&
			stage.End.Before(stage.Begin) {
			t.Errorf("%+v", stage)
		}
	}
	if !slices.Equal(names, []string{"whole", "part", "moment"}) {
		t.Errorf("%q", names)
	}
	for range 1000 {
		work(ctx)
	}
	if n := len(account.Stages()); n > 100 {
		t.Errorf("%d stages are kept of one request", n)
	}
}

// The account of a batch says what the last of its messages was about, and whether any
// has failed.
func TestAccountsOfPartsAreJoined(t *testing.T) {
	t.Parallel()
	_, whole := resources.WithAccount(t.Context(), false)
	for _, part := range []struct {
		tool string
		code int
	}{{"first", -32602}, {"second", 0}} {
		ctx, account := resources.WithAccount(t.Context(), false)
		account.Call(ctx, part.tool, "repo", "main", "")
		if part.code != 0 {
			account.Fail(part.code)
		}
		if account.Summary().Code != part.code || account.Summary().Failed != (part.code != 0) {
			t.Errorf("%d, %v", account.Summary().Code, account.Summary().Failed)
		}
		whole.Join(account)
	}
	if whole.Summary().Tool != "second" || !whole.Summary().Failed || whole.Summary().Repository != "repo" {
		t.Errorf("%q, %v, %q", whole.Summary().Tool, whole.Summary().Failed, whole.Summary().Repository)
	}
}
