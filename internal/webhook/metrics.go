package webhook

import "github.com/ingraft/ingraft/internal/metrics"

// Metrics are the numbers of a Handler.
type Metrics struct {
	requests, admissions, errors, lookups *metrics.Counters
	duration, patch                       *metrics.Histogram
}

// NewMetrics adds the numbers of a Handler to a registry.
func NewMetrics(r *metrics.Registry) *Metrics {
	return &Metrics{
		requests: r.Counters("ingraft_webhook_requests_total",
			"HTTP requests to the webhook, by status of the answer.", "code"),
		admissions: r.Counters("ingraft_admissions_total",
			"Reviews answered, by verdict (inject, skip, deny, pass), reason and namespace of the pod.", "verdict", "reason", "namespace"),
		errors: r.Counters("ingraft_admission_errors_total",
			"Requests that could not be answered as they should, by kind of error.", "kind"),
		lookups: r.Counters("ingraft_replica_cache_lookups_total",
			"Pods looked up in the cache of replicas, by result (hit, miss, bypass).", "result"),
		duration: r.Histogram("ingraft_admission_duration_seconds",
			"Time from the head of a request until its answer was written, in seconds.",
			0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10),
		patch: r.Histogram("ingraft_patch_bytes",
			"Size of the JSON patches, in bytes.",
			1<<10, 2<<10, 4<<10, 8<<10, 16<<10, 32<<10, 64<<10, 256<<10, 1<<20),
	}
}
