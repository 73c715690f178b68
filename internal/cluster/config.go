package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/ingraft/ingraft/internal/source"
)

// DefaultTimeout bounds a request unless Config says otherwise.
const DefaultTimeout = 5 * time.Second

// Config says which cluster to talk to, and how. The zero value is the cluster
// that kubectl would talk to without flags.
type Config struct {
	// Kubeconfig is the file of --kubeconfig. Where it is empty, the files of
	// the variable KUBECONFIG count, else ~/.kube/config, else the service
	// account of the pod that the process runs in.
	Kubeconfig string
	// Context is the context of the kubeconfig to use; "" means its current.
	Context string
	// As, AsUID and AsGroups name whom to impersonate.
	As, AsUID string
	AsGroups  []string
	// Timeout bounds each request, 0 meaning DefaultTimeout.
	Timeout time.Duration
	// QPS and Burst bound the rate of requests; 0 means 50 and 100.
	QPS   float32
	Burst int
	// Verbosity is how much client-go logs about requests on the process's
	// standard error, from 1 to 10; 0 keeps it quiet. The first client decides.
	Verbosity int
	// Getenv returns a variable of the environment; nil means os.Getenv.
	Getenv func(string) string
	// Dir is the folder that relative paths start from; "" is the one that the
	// process is in.
	Dir string
}

// ErrNotConfigured tells that nothing names a cluster: no --kubeconfig, no
// existing file in KUBECONFIG or at ~/.kube/config, no service account.
var ErrNotConfigured = errors.New("no cluster is configured")

// Configured reports whether a cluster is configured; it asks none. A file or
// a context that is named and does not exist is an *Error.
func Configured(c Config) (bool, error) {
	_, err := c.target()
	if errors.Is(err, ErrNotConfigured) {
		return false, nil
	}
	return err == nil, err
}

// CheckNames finds out whether the file and the context that c names exist, and
// no more: the cluster need not be usable, and is not asked. The error is an
// *Error.
func CheckNames(c Config) error {
	raw, err := c.kubeconfig()
	switch {
	case err != nil:
		return err
	case c.Context == "":
		return nil
	case raw == nil:
		return c.nothing()
	}
	return c.checkContext(raw, c.Context)
}

// target is a cluster found in a configuration.
type target struct {
	rest *rest.Config
	// context is the name of the kubeconfig's context; "" within a pod.
	context string
	// namespace is the context's own, else default.
	namespace string
}

func (c Config) target() (*target, error) {
	raw, err := c.kubeconfig()
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return c.inCluster()
	}
	if err := c.checkContent(raw); err != nil {
		return nil, err
	}
	name := c.Context
	if name == "" {
		name = raw.CurrentContext
	}
	if err := c.checkContext(raw, name); err != nil {
		return nil, err
	}
	overrides := &clientcmd.ConfigOverrides{}
	kubeconfig := clientcmd.NewNonInteractiveClientConfig(*raw, name, overrides, nil)
	cfg, err := kubeconfig.ClientConfig()
	if err != nil {
		return nil, badConfig(fmt.Errorf("reading context %q of the kubeconfig: %w", name, err), "")
	}
	namespace, _, err := kubeconfig.Namespace()
	if err != nil {
		return nil, badConfig(fmt.Errorf("reading context %q of the kubeconfig: %w", name, err), "")
	}
	return &target{c.complete(cfg), name, namespace}, nil
}

// checkContent refuses the file of --kubeconfig where nothing is in it. (Files
// that no flag names count as none then.)
func (c Config) checkContent(raw *api.Config) error {
	if c.Kubeconfig == "" || len(raw.Contexts) > 0 || len(raw.Clusters) > 0 {
		return nil
	}
	what := "it has neither contexts nor clusters"
	if info, err := os.Stat(c.path(c.Kubeconfig)); err == nil && info.Size() == 0 {
		what = "the file is empty"
	}
	return badConfig(fmt.Errorf("reading --kubeconfig %s: %s", c.Kubeconfig, what), otherFile)
}

func (c Config) checkContext(raw *api.Config, name string) error {
	known := "it has none"
	if len(raw.Contexts) > 0 {
		known = "it has " + strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	}
	switch {
	case raw.Contexts[name] != nil:
		return nil
	case c.Context != "":
		return badConfig(fmt.Errorf("the kubeconfig has no context %q: %s", name, known), "Choose one of them with --context.")
	case name == "":
		return badConfig(fmt.Errorf("the kubeconfig has no current context: %s", known), "Choose one of them with --context.")
	}
	return badConfig(fmt.Errorf("the kubeconfig has no context %q, which it names as its current one: %s", name, known), "Choose one of them with --context.")
}

// kubeconfig returns the files of the configuration merged, or nil where there
// are none, or nothing is in them.
func (c Config) kubeconfig() (*api.Config, error) {
	var files []string
	if c.Kubeconfig != "" {
		file := c.path(c.Kubeconfig)
		info, err := os.Stat(file)
		if err == nil && info.IsDir() {
			err = errors.New("it is a folder")
		}
		if err != nil {
			return nil, badConfig(fmt.Errorf("reading --kubeconfig %s: %w", c.Kubeconfig, because(err)), otherFile)
		}
		files = []string{file}
	} else {
		for _, file := range c.defaultFiles() {
			if _, err := os.Stat(file); err == nil {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	raw, err := (&clientcmd.ClientConfigLoadingRules{Precedence: files}).Load()
	if err != nil {
		for _, file := range files {
			if what := otherThanConfig(file); what != "" {
				return nil, badConfig(fmt.Errorf("reading the kubeconfig: %s holds %s, not a kubeconfig", file, what), "")
			}
		}
		return nil, badConfig(fmt.Errorf("reading the kubeconfig: %w", err), "")
	}
	if len(raw.Contexts) == 0 && len(raw.Clusters) == 0 && c.Kubeconfig == "" {
		return nil, nil
	}
	return raw, nil
}

// otherFile says what to do about a file of --kubeconfig that is none.
const otherFile = "Name the kubeconfig of a cluster, or leave --kubeconfig out."

// otherThanConfig says what is in a file that is evidently no kubeconfig, ""
// where nothing is evident.
func otherThanConfig(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	doc, err := source.Parse(source.NewText(file, data))
	if err != nil || doc.Root == nil {
		return ""
	}
	switch kind := doc.Root.Get("kind").Scalar(); {
	case doc.Root.Kind() != source.Map:
		return doc.Root.Kind().Noun()
	case kind != "" && kind != "Config":
		return "an object of kind " + kind
	}
	return ""
}

// defaultFiles lists where a kubeconfig may lie that no flag names.
func (c Config) defaultFiles() []string {
	if list := c.getenv("KUBECONFIG"); list != "" {
		var files []string
		for _, file := range filepath.SplitList(list) {
			if file != "" {
				files = append(files, c.path(file))
			}
		}
		return files
	}
	home := c.getenv("HOME")
	if home == "" && runtime.GOOS == "windows" {
		home = c.getenv("USERPROFILE")
	}
	if home == "" {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

// inCluster returns the cluster of the pod that the process runs in.
func (c Config) inCluster() (*target, error) {
	if c.Context != "" || c.getenv("KUBERNETES_SERVICE_HOST") == "" || c.getenv("KUBERNETES_SERVICE_PORT") == "" {
		return nil, c.nothing()
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) || errors.Is(err, fs.ErrNotExist) {
		return nil, c.nothing() // a pod without a service account
	}
	if err != nil {
		return nil, badConfig(fmt.Errorf("reading the pod's service account: %w", err), "")
	}
	namespace := "default"
	if data, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		namespace = strings.TrimSpace(string(data))
	}
	return &target{c.complete(cfg), "", namespace}, nil
}

// nothing is the error where no cluster is configured. A context that was
// asked for is missing then, which is a mistake.
func (c Config) nothing() error {
	if c.Context != "" {
		return badConfig(fmt.Errorf("there is no kubeconfig that could have the context %q", c.Context), "Name the file with --kubeconfig or in KUBECONFIG.")
	}
	return ErrNotConfigured
}

// complete adds to a client configuration what is not in the kubeconfig.
func (c Config) complete(cfg *rest.Config) *rest.Config {
	cfg.UserAgent = "ingraft"
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.QPS, cfg.Burst = 50, 100
	if c.QPS != 0 {
		cfg.QPS = c.QPS
	}
	if c.Burst != 0 {
		cfg.Burst = c.Burst
	}
	if c.As != "" || c.AsUID != "" || len(c.AsGroups) > 0 {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: c.As, UID: c.AsUID, Groups: c.AsGroups}
	}
	return cfg
}

func (c Config) getenv(name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

func (c Config) path(file string) string {
	if c.Dir == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(c.Dir, file)
}

// because returns what lies below the operation and path of a file error.
func because(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
