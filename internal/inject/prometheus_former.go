package inject

import (
	"strconv"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/source"
)

// mergePrometheus9 is the metrics merge of releases until 1.12: it knows the
// annotations under their plain names only, and minds nothing but the port.
func mergePrometheus9(f *finishing, pod *source.Node) *source.Node {
	if !mergesMetrics(&f.engine.settings, pod) {
		return pod
	}
	get := func(name string) *source.Node { return annotation(pod, name) }
	return pointAtAgent(f, pod, scrape{
		scrape: get(annot.PrometheusScrape).Scalar(), path: get(annot.PrometheusPath).Scalar(), port: get(annot.PrometheusPort).Scalar(),
	}, get(annot.PrometheusPort))
}

// mergePrometheus13 is the metrics merge of releases 1.13 to 1.30: it knows all
// spellings of the annotations, and leaves alone what is not to be scraped.
func mergePrometheus13(f *finishing, pod *source.Node) *source.Node {
	found := metrics(pod)
	if on, err := strconv.ParseBool(found[sanePromScrape].Value.Scalar()); err == nil && !on || !mergesMetrics(&f.engine.settings, pod) {
		return pod
	}
	merged := pointAtAgent(f, pod, scrape{
		scrape: found[sanePromScrape].Value.Scalar(), path: found[sanePromPath].Value.Scalar(), port: found[sanePromPort].Value.Scalar(),
	}, present(found[sanePromPort].Value))
	if merged == pod {
		return pod
	}
	return withoutAnnotations(merged, func(key string) bool {
		switch saneName(key) {
		case sanePromScrape, sanePromPath, sanePromPort:
			return key != annot.PrometheusPort && key != annot.PrometheusPath && key != annot.PrometheusScrape
		}
		return false
	})
}

// pointAtAgent moves what the pod says about its metrics into a variable, and
// points Prometheus at the agent, unless it is so already.
func pointAtAgent(f *finishing, pod *source.Node, config scrape, port *source.Node) *source.Node {
	s := &f.engine.settings
	if port != nil && port.Scalar() == s.statusPortText {
		return pod
	}
	if proxy, at := findContainer(pod, proxyContainer); proxy != nil && !config.isEmpty() {
		pod = withContainer(pod, at, withVariable(proxy, envPrometheus, config.String()))
	}
	pod = withAnnotation(pod, annot.PrometheusPath, mergedMetricsPath)
	pod = withAnnotation(pod, annot.PrometheusPort, s.statusPortText)
	return withAnnotation(pod, annot.PrometheusScrape, "true")
}
