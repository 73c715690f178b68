package injection

import (
	"os"
	"strings"
	"testing"
)

// documented ties the name of each deliberate difference to what
// docs/differences.md says of it.
var documented = map[string]string{
	"probe not redirected":                            "### A probe on a port that is not redirected",
	"probe on an unknown port name":                   "### A probe on a port name that does not exist",
	"probe on the agent's port":                       "### A probe on the agent's own port",
	"no status port":                                  "### No status port",
	"injecting again":                                 "### It starts from the pod as it was",
	"the user's own istio-proxy survives":             "### The user's own istio-proxy survives",
	"names that the status must not claim":            "### Names that the status must not claim",
	"two sources in a volume":                         "### Two sources in one volume",
	"two handlers in a probe":                         "### Two handlers in one probe",
	"two istio-proxy containers":                      "### Two istio-proxy containers",
	"the text of an annotation changes the structure": "## What the text of an annotation can do",
	"Windows":                                    "### Windows pods",
	"kube-inject: system namespaces":             "### System namespaces on the command line",
	"kube-inject: metadata of a CronJob":         "- The metadata that is read and written for a CronJob",
	"kube-inject: default templates and aliases": "- `defaultTemplates`, `aliases` and `injectedAnnotations`",
	"kube-inject: injected annotations":          "- `defaultTemplates`, `aliases` and `injectedAnnotations`",
	"kube-inject: proxy configuration of a pod":  "- The mesh's own settings, not those of the pod's `proxy.istio.io/config`",
	"kube-inject: namespace that templates see":  "- Templates see the namespace that the pod will be in",
	"kube-inject: kinds that it does not know":   "- Kinds that it does not know",
	"user assigned by OpenShift":                 "- The user and group that OpenShift assigned",
}

// TestDifferencesAreDocumented finds in docs/differences.md what each name
// stands for.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range documented {
		if !strings.Contains(string(page), "\n"+text) {
			t.Errorf("%s: docs/differences.md has no line that begins with %q", name, text)
		}
	}
	for _, m := range mends {
		for _, name := range m.names {
			if documented[name] == "" {
				t.Errorf("the difference %q is tied to nothing", name)
			}
		}
	}
}
