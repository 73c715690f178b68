// Package deploy holds the Helm chart of the injector, which the command
// injector manifest renders: both are the same objects.
package deploy

import "embed"

// Chart holds the folder injector, a Helm chart.
//
//go:embed all:injector
var Chart embed.FS
