package cli

import "github.com/spf13/cobra"

func (a *app) manifestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "manifest",
		Short: "Make the objects of a mesh install, and tell what they are",
		Example: `  # What would an install of the default profile put into a cluster?
  ` + a.name + ` manifest generate`,
		RunE: needsSubcommand,
	}
	c.PersistentFlags().Bool("dry-run", false, "accepted as istioctl accepts it; nothing here changes a cluster")
	c.AddCommand(a.manifestGenerateCommand(), a.manifestSummaryCommand(), a.manifestImagesCommand(), a.manifestDiffCommand())
	return c
}
