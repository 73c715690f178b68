package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ingraft/ingraft/internal/source"
)

// Version is the version of ingraft: that of the file VERSION, as a test sees
// to.
const Version = "0.1.0"

// buildInfo says what was built; the fields are those that istioctl prints.
type buildInfo struct {
	Version       string `json:"version"`
	GitRevision   string `json:"revision"`
	GolangVersion string `json:"golang_version"`
	BuildStatus   string `json:"status"`
	GitTag        string `json:"tag"`
}

// readBuildInfo reads what the Go tool recorded in the binary; what it did not
// record is "unknown".
func readBuildInfo() buildInfo {
	info := buildInfo{Version: Version, GitRevision: "unknown", GolangVersion: runtime.Version(), BuildStatus: "unknown", GitTag: "unknown"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		info.GitTag = v
	}
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			info.GitRevision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			info.BuildStatus = "Modified"
		case s.Key == "vcs.modified":
			info.BuildStatus = "Clean"
		}
	}
	return info
}

func (a *app) versionCommand() *cobra.Command {
	var (
		output, revision string
		short, remote    bool
	)
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of ingraft",
		Long:  "Print the version of ingraft. No cluster is asked.",
		Example: `  # Print the version
  ` + a.name + ` version

  # Print everything that is known about the build, for a script
  ` + a.name + ` version -o json`,
		RunE: func(*cobra.Command, []string) error {
			if remote {
				return usagef("--remote=true: this version of ingraft does not ask the cluster for versions").
					hinted("Leave the flag out, or write --remote=false.")
			}
			return a.printVersion(readBuildInfo(), output, short)
		},
	}
	f := c.Flags()
	f.StringVarP(&output, "output", "o", "", "format: yaml or json; empty for text")
	f.BoolVarP(&short, "short", "s", true, "print the version only; with --short=false also revision, Go version and state of the build")
	f.BoolVar(&remote, "remote", false, "accepted as false only: no cluster is asked")
	f.StringVarP(&revision, "revision", "r", "", "accepted for istioctl's sake: it names a control plane, and none is asked")
	return c
}

func (a *app) printVersion(info buildInfo, output string, short bool) error {
	document := map[string]buildInfo{"clientVersion": info}
	var out []byte
	var err error
	switch output {
	case "":
		out = fmt.Appendf(nil, "client version: %s\n", info.Version)
		if !short {
			out = fmt.Appendf(nil, "client version: version.BuildInfo{Version:%q, GitRevision:%q, GolangVersion:%q, BuildStatus:%q, GitTag:%q}\n",
				info.Version, info.GitRevision, info.GolangVersion, info.BuildStatus, info.GitTag)
		}
	case "json":
		if out, err = json.MarshalIndent(document, "", "  "); err == nil {
			out = append(out, '\n')
		}
	case "yaml":
		var root *source.Node
		if root, err = source.Value(document); err == nil {
			out = source.AppendYAML(nil, root)
		}
	default:
		return &hintedError{fmt.Errorf("--output %q is no format of this command", output), "Write -o json or -o yaml, or leave it out."}
	}
	if err != nil {
		return fmt.Errorf("writing the version: %w", err)
	}
	if _, err := a.Stdout.Write(out); err != nil {
		return &writeError{err}
	}
	return nil
}
