package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ingraft/ingraft/internal/source"
)

// configurable names the flags whose defaults istioctl takes from variables
// (ISTIOCTL_XDS_ADDRESS for xds-address) and from its configuration file. Its
// one setting more, prefer-experimental, is about commands that ask the control
// plane, of which there are none here.
var configurable = [...]string{
	"istioNamespace", "xds-address", "xds-port", "authority", "cert-dir", "insecure", "plaintext",
}

// applyDefaults sets flags that were not given from the environment, else from
// istioctl's configuration file.
func (a *app) applyDefaults(flags *pflag.FlagSet) error {
	file, err := a.readConfigFile()
	if err != nil {
		return err
	}
	for _, name := range configurable {
		f := flags.Lookup(name)
		if f == nil || f.Changed {
			continue
		}
		variable := "ISTIOCTL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value, from := "", variable
		if v, ok := a.LookupEnv(variable); ok {
			value = v
		} else if v, ok := file[strings.ToLower(name)]; ok {
			value, from = v, name+" in "+a.configFile()
		} else {
			continue
		}
		if value == "" && f.Value.Type() != "string" {
			continue
		}
		if err := f.Value.Set(value); err != nil {
			return noValue(from, value, f)
		}
		if a.defaulted == nil {
			a.defaulted = map[string]string{}
		}
		a.defaulted[name] = from
	}
	return nil
}

// configFile returns the path of istioctl's configuration file, "" for none.
func (a *app) configFile() string {
	if file := a.getenv("ISTIOCONFIG"); file != "" {
		return file
	}
	if home := a.getenv("HOME"); home != "" {
		return filepath.Join(home, ".istioctl", "config.yaml")
	}
	return ""
}

// readConfigFile returns the settings of istioctl's configuration file, keys
// in lower case. A file that is missing or broken is an error only where
// ISTIOCONFIG names it, as in istioctl.
func (a *app) readConfigFile() (map[string]string, error) {
	file := a.configFile()
	if file == "" {
		return nil, nil
	}
	settings, err := readSettings(file, a.path(file))
	if err != nil && a.getenv("ISTIOCONFIG") == "" {
		return nil, nil
	}
	return settings, err
}

func readSettings(name, path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &hintedError{fmt.Errorf("reading %s, named by ISTIOCONFIG: %w", name, because(err)), "Unset ISTIOCONFIG, or name a file that exists."}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, because(err))
	}
	doc, err := source.Parse(source.NewText(name, data))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	settings := map[string]string{}
	for _, f := range doc.Root.Fields() {
		settings[strings.ToLower(f.Key)] = f.Value.Scalar()
	}
	return settings, nil
}
