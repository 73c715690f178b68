package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// logging holds istioctl's flags for logs. Logs are written to standard error
// whatever --log_target says, as standard output is for data.
type logging struct {
	level      string
	caller     string
	stacktrace string
	targets    []string
	asJSON     bool
	verbosity  int

	rotate                      string
	maxAge, maxSize, maxBackups int
}

func (l *logging) register(f *pflag.FlagSet) {
	f.StringVar(&l.level, "log_output_level", "default:info", "least severe messages to log, as [scope:]level: debug, info, warn, error, fatal or none")
	f.StringVar(&l.caller, "log_caller", "", "accepted for istioctl's sake")
	f.StringVar(&l.stacktrace, "log_stacktrace_level", "default:none", "accepted for istioctl's sake")
	f.StringArrayVar(&l.targets, "log_target", []string{"stderr"}, "accepted for istioctl's sake: logs go to standard error")
	f.BoolVar(&l.asJSON, "log_as_json", false, "write logs as JSON")
	f.StringVar(&l.rotate, "log_rotate", "", "accepted for istioctl's sake")
	f.IntVar(&l.maxAge, "log_rotate_max_age", 30, "accepted for istioctl's sake")
	f.IntVar(&l.maxSize, "log_rotate_max_size", 104857600, "accepted for istioctl's sake")
	f.IntVar(&l.maxBackups, "log_rotate_max_backups", 1000, "accepted for istioctl's sake")
	f.VisitAll(func(flag *pflag.Flag) {
		if strings.HasPrefix(flag.Name, "log_") {
			flag.Hidden = true
		}
	})
	f.IntVar(&l.verbosity, "vklog", 0, "verbosity of logs about requests to the cluster: 6 names them, 8 shows them whole")
}

func (l *logging) check() error {
	for entry := range strings.SplitSeq(l.level, ",") {
		if _, level := splitScope(entry); !levelKnown(level) {
			return usagef("--log_output_level: %q is no level", level).hinted("Levels are debug, info, warn, error, fatal and none, as in default:debug.")
		}
	}
	return nil
}

// splitScope splits scope:level; a level alone is that of every scope.
func splitScope(entry string) (scope, level string) {
	if scope, level, ok := strings.Cut(strings.TrimSpace(entry), ":"); ok {
		return scope, level
	}
	return "all", strings.TrimSpace(entry)
}

func levelKnown(level string) bool {
	switch level {
	case "debug", "info", "warn", "error", "fatal", "none":
		return true
	}
	return false
}
