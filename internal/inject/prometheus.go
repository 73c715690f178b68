package inject

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/diag"
	"github.com/ingraft/ingraft/internal/source"
)

// The agent serves the proxy's metrics and the application's on one port. The
// merge moves what the pod says about its own metrics into a variable that the
// agent reads, and points Prometheus at the agent.

// scrape is what a pod says about its metrics, as the agent reads it.
type scrape struct {
	scrape, path, port string
	targets            []target
	portAt, targetsAt  source.Span
}

type target struct{ port, path string }

// Names of the annotations as Prometheus sees them: all but letters, digits
// and _ become _, so that prometheus.io/port and prometheus-io.port are one.
const (
	sanePromScrape    = "prometheus_io_scrape"
	sanePromPort      = "prometheus_io_port"
	sanePromPath      = "prometheus_io_path"
	saneScrapeTargets = "prometheus_istio_io_scrape_targets"
	saneSecurePort    = "prometheus_istio_io_secure_port"
)

// saneName maps the spellings of an annotation to one of the names above; ""
// for all others.
func saneName(key string) string {
	if !strings.HasPrefix(key, "prometheus") {
		return ""
	}
	for _, name := range [...]string{sanePromScrape, sanePromPort, sanePromPath, saneScrapeTargets, saneSecurePort} {
		if sanitizes(key, name) {
			return name
		}
	}
	return ""
}

func sanitizes(key, name string) bool {
	i := 0
	for _, r := range key {
		if i == len(name) {
			return false
		}
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			if rune(name[i]) != r {
				return false
			}
		} else if name[i] != '_' {
			return false
		}
		i++
	}
	return i == len(name)
}

// metrics finds the annotations about metrics, by their sane names. Of several
// spellings the one counts that sorts first.
func metrics(pod *source.Node) map[string]source.Field {
	var found map[string]source.Field
	for _, f := range pod.Get("metadata", "annotations").Fields() {
		name := saneName(f.Key)
		if name == "" || f.Value.IsNull() {
			continue
		}
		if found == nil {
			found = map[string]source.Field{}
		}
		if other, ok := found[name]; !ok || f.Key < other.Key {
			found[name] = f
		}
	}
	return found
}

// mergePrometheus is the step that points Prometheus at the agent.
func mergePrometheus(f *finishing, pod *source.Node) *source.Node {
	s := &f.engine.settings
	found := metrics(pod)
	if on, err := strconv.ParseBool(found[sanePromScrape].Value.Scalar()); err == nil && !on {
		return pod
	}
	if !mergesMetrics(s, pod) {
		return pod
	}
	port, hasPort := found[sanePromPort]
	if hasPort && port.Value.Scalar() == s.statusPortText {
		return pod // it points at the agent already
	}
	config := scrape{
		scrape: found[sanePromScrape].Value.Scalar(), path: found[sanePromPath].Value.Scalar(),
		port: port.Value.Scalar(), portAt: port.Value.Span(),
	}
	if t, ok := found[saneScrapeTargets]; ok {
		config.targetsAt = t.Value.Span()
		if bad := config.parseTargets(t); bad != nil {
			*f.findings = append(*f.findings, bad)
		}
	}
	if bad := config.check(s); bad != nil {
		*f.findings = append(*f.findings, bad)
		return pod
	}
	if proxy, at := findContainer(pod, proxyContainer); proxy != nil && !config.isEmpty() {
		pod = withContainer(pod, at, withVariable(proxy, envPrometheus, config.String()))
	}
	pod = withoutAnnotations(pod, func(key string) bool {
		name := saneName(key)
		return name != "" && name != saneSecurePort && key != annot.PrometheusPort && key != annot.PrometheusPath && key != annot.PrometheusScrape
	})
	return withAnnotations(pod,
		annot.PrometheusPath, mergedMetricsPath,
		annot.PrometheusPort, s.statusPortText,
		annot.PrometheusScrape, "true")
}

func mergesMetrics(s *settings, pod *source.Node) bool {
	if n := annotation(pod, annot.PrometheusMergeMetrics); n != nil {
		if on, err := strconv.ParseBool(n.Scalar()); err == nil {
			return on
		}
	}
	return s.mergeMetrics
}

// parseTargets reads the list "port:path,...". What is no such list counts as
// absent, with a warning.
func (c *scrape) parseTargets(f source.Field) *diag.Diagnostic {
	var targets []target
	for part := range strings.SplitSeq(f.Value.Scalar(), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		port, path, _ := strings.Cut(part, ":")
		port, path = strings.TrimSpace(port), strings.TrimSpace(path)
		if port == "" {
			return &diag.Diagnostic{
				Code: CodeScrapeTargets, Severity: diag.Warning, Span: f.Value.Span(),
				Message: fmt.Sprintf("annotation %s is ignored: %q has no port", f.Key, part),
				Fix:     "write port:path, separated by commas: 9090:/metrics,9091:/other",
			}
		}
		if path == "" {
			path = "/metrics"
		}
		targets = append(targets, target{port, path})
	}
	if c.targets = targets; len(targets) > 0 {
		// Agents that do not know targets scrape the first one.
		c.port, c.path = targets[0].port, targets[0].path
	}
	return nil
}

// check refuses ports that cannot be scraped.
func (c *scrape) check(s *settings) *diag.Diagnostic {
	refuse := func(at source.Span, what, port, why, fix string) *diag.Diagnostic {
		return &diag.Diagnostic{
			Code: CodeScrapePort, Severity: diag.Error, Span: at,
			Message: fmt.Sprintf("%s %q cannot be scraped: %s", what, port, why), Fix: fix,
		}
	}
	judge := func(at source.Span, what, port string) *diag.Diagnostic {
		n, err := strconv.Atoi(port)
		switch {
		case err != nil || n < 1 || n > 65535:
			return refuse(at, what, port, "it is not a port number", "give the number of the port, 1 to 65535; a name is not looked up")
		case strconv.Itoa(n) == s.statusPortText:
			return refuse(at, what, port, "it is the agent's own port", "give the port of the application")
		}
		if owner := reservedFor(n); owner != "" {
			return refuse(at, what, port, "it is reserved for the mesh ("+owner+")", "give the port of the application")
		}
		return nil
	}
	for _, t := range c.targets {
		if bad := judge(c.targetsAt, "metrics port", t.port); bad != nil {
			return bad
		}
	}
	if len(c.targets) == 0 && c.port != "" {
		return judge(c.portAt, "metrics port", c.port)
	}
	return nil
}

// reservedFor names what a port of the data plane is for; "" for all others.
func reservedFor(port int) string {
	switch port {
	case 15000:
		return "Envoy's administration"
	case 15001:
		return "outbound traffic"
	case 15004:
		return "debugging"
	case 15006:
		return "inbound traffic"
	case 15008:
		return "HBONE tunnels"
	case 15020:
		return "the agent's status and merged metrics"
	case 15021:
		return "Envoy's health"
	case 15053:
		return "DNS"
	case 15090:
		return "Envoy's metrics, which are merged anyway"
	}
	return ""
}

func (c *scrape) isEmpty() bool {
	return c.scrape == "" && c.path == "" && c.port == "" && len(c.targets) == 0
}

// String writes the variable that the agent reads.
func (c *scrape) String() string {
	b := appendQuoted([]byte(`{"scrape":`), c.scrape)
	b = appendQuoted(append(b, `,"path":`...), c.path)
	b = appendQuoted(append(b, `,"port":`...), c.port)
	for i, t := range c.targets {
		if i == 0 {
			b = append(b, `,"targets":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendQuoted(append(b, `{"port":`...), t.port)
		b = append(appendQuoted(append(b, `,"path":`...), t.path), '}')
	}
	if len(c.targets) > 0 {
		b = append(b, ']')
	}
	return string(append(b, '}'))
}

// announceSecurePort is the step that tells Prometheus of the port where the
// agent serves metrics over mutual TLS, where the proxy has one.
func announceSecurePort(_ *finishing, pod *source.Node) *source.Node {
	proxy, _ := findContainer(pod, proxyContainer)
	if proxy == nil {
		return pod
	}
	for _, v := range proxy.Get("env").Items() {
		value := v.Get("value").Scalar()
		if nameOf(v) != envSecurePort || value == "" || value == "0" {
			continue
		}
		if _, set := metrics(pod)[saneSecurePort]; set {
			return pod
		}
		return withAnnotation(pod, annot.PrometheusSecurePort, value)
	}
	return pod
}
