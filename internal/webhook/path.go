package webhook

import (
	"strings"

	"github.com/ingraft/ingraft/internal/release"
)

// The variables of the proxy that a request path has names of its own for.
const (
	envCluster = "ISTIO_META_CLUSTER_ID"
	envNetwork = "ISTIO_META_NETWORK"
)

// ParsePath returns the variables of the proxy that a request path sets, name
// to value, as a release of the mesh reads it:
//
//	/inject/cluster/c1/net/n1   since 1.8: names and values in turn; other names
//	                            than cluster and net are variables, in any case;
//	                            a slash in a value is --slash-- (since 1.15)
//	/inject/:ENV:k=v:ENV:k=v    the same (since 1.10)
//	/inject/x/c1/y/n1           1.6 and 1.7: cluster and network by position
//
// What has no value is left out, and so is a name that no variable can have.
func ParsePath(path string, r release.Release) map[string]string {
	switch {
	case r.Before(release.V(1, 6)):
		return nil
	case r.Before(release.V(1, 8)):
		return byPosition(path)
	}
	// /inject/REST
	parts := strings.SplitN(strings.TrimSuffix(path, "/"), "/", 3)
	if len(parts) < 3 {
		return nil
	}
	env := map[string]string{}
	if rest, ok := strings.CutPrefix(parts[2], ":ENV:"); ok && !r.Before(release.V(1, 10)) {
		for pair := range strings.SplitSeq(rest, ":ENV:") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				setVariable(env, name, value)
			}
		}
		return env
	}
	words := strings.Split(parts[2], "/")
	for i := 0; i+1 < len(words); i += 2 {
		value := words[i+1]
		if !r.Before(release.V(1, 15)) {
			value = strings.ReplaceAll(value, "--slash--", "/")
		}
		setVariable(env, words[i], value)
	}
	return env
}

func byPosition(path string) map[string]string {
	parts := strings.Split(path, "/")
	n := len(parts)
	if n < 5 {
		return nil
	}
	return map[string]string{envCluster: parts[n-3], envNetwork: parts[n-1]}
}

func setVariable(env map[string]string, name, value string) {
	switch name {
	case "cluster":
		name = envCluster
	case "net":
		name = envNetwork
	default:
		name = strings.ToUpper(name)
	}
	if isVariable(name) {
		env[name] = value
	}
}

// isVariable tells the names that Kubernetes takes for variables: printable
// ASCII but the equals sign.
func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return name != ""
}
