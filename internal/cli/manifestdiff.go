package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	install "github.com/ingraft/ingraft/internal/manifest"
	"github.com/ingraft/ingraft/internal/source"
)

// manifestDiff is one run of manifest diff.
type manifestDiff struct {
	manifestSummary
}

func (a *app) manifestDiffCommand() *cobra.Command {
	d := &manifestDiff{manifestSummary{installInput: installInput{app: a}}}
	c := &cobra.Command{
		Use:   "diff [A [B]]",
		Short: "Tell in what two manifests, or installs, differ",
		Long: `diff compares objects by what they mean: by kind, namespace and name, containers and
variables by their names, and what is embedded as text (mesh configuration, values,
injection templates) by its own parts. What needs care comes first: versions of
CustomResourceDefinitions that go, fields that cannot be changed, webhooks and
rights that widen.

A and B are each a file, folder or pattern with objects, - for standard input, or a
folder or archive with the charts of a release, of which the install is compared
that the flags describe. With A alone, B is that install of the built-in release.
With neither, the installs without and with --set and --revision are compared.

It exits 0 where they are the same, 1 where they differ, 2 in trouble.`,
		Example: `  # What does an upgrade change?
  ` + a.name + ` manifest diff istio-1.30.0/ istio-1.31.0/ -f iop.yaml

  # ... and from what was put into the repository?
  ` + a.name + ` manifest diff istio.yaml -f iop.yaml

  # What does a setting change?
  ` + a.name + ` manifest diff -f iop.yaml --set values.pilot.autoscaleEnabled=false`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 2 {
				return &exitError{usagef("two manifests are compared, %d given", len(args)).hinted("Write: %s A B", c.CommandPath()), exitTrouble}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			diff, err := d.compare(c, args)
			if err == nil {
				err = d.write(diff)
			}
			switch {
			case err != nil:
				return &exitError{err, exitTrouble}
			case !diff.IsSame():
				return &exitError{errReported, exitFailed}
			}
			return nil
		},
	}
	d.register(c)
	c.Flags().StringVarP(&d.output, "output", "o", "text", "text, json or yaml")
	return c
}

func (d *manifestDiff) compare(c *cobra.Command, args []string) (*install.Diff, error) {
	if d.output != "text" && d.output != "json" && d.output != "yaml" {
		return nil, usagef("--output %q is not text, json or yaml", d.output)
	}
	if len(args) == 0 && len(d.settings) == 0 && d.revision == "" {
		return nil, usagef("there is nothing to compare").hinted("Write: %s A B, or give the settings whose effect you want to see, with --set.", c.CommandPath())
	}
	var sides [2][]*source.Node
	for i := range sides {
		var err error
		switch {
		case i < len(args):
			sides[i], err = d.side(c, args[i])
		case len(args) == 0 && i == 0:
			bare := *d
			bare.settings, bare.revision = nil, ""
			sides[i], err = bare.install(c)
		default:
			sides[i], err = d.install(c)
		}
		if err != nil {
			return nil, err
		}
	}
	return install.Compare(sides[0], sides[1]), c.Context().Err()
}

// side returns the objects that an argument names.
func (d *manifestDiff) side(c *cobra.Command, name string) ([]*source.Node, error) {
	if name != "-" {
		if charts, err := d.openCharts(name); err == nil {
			input, found, err := d.input(c)
			if err != nil {
				return nil, err
			}
			input.Charts = charts
			return d.made(input, found)
		}
	}
	return d.read(c.Context(), []string{name})
}

func (d *manifestDiff) write(diff *install.Diff) error {
	var b bytes.Buffer
	var err error
	if d.output == "text" {
		err = diff.WriteText(&b)
	} else {
		err = writeData(&b, diff, d.output)
	}
	if err != nil {
		return err
	}
	_, err = d.Stdout.Write(b.Bytes())
	return wroteStdout(err)
}
