// Command build builds the control plane that the walks run on, where it is not
// there yet, and prints the folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/ingraft/ingraft/test/e2e/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := controlplane.Build(ctx, ".", os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(dir)
}
