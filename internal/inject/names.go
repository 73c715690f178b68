package inject

// Names of containers that injection knows.
const (
	proxyContainer      = "istio-proxy"
	initContainer       = "istio-init"
	validationContainer = "istio-validation"
	coreDumpContainer   = "enable-core-dump"
)

// autoImage is what users write as the image of their own istio-proxy
// container (image is a required field) to get the template's.
const autoImage = "auto"

// Variables of the proxy container that injection itself writes or reads.
const (
	envProbers    = "ISTIO_KUBE_APP_PROBERS"
	envPrometheus = "ISTIO_PROMETHEUS_ANNOTATIONS"
	envCluster    = "ISTIO_META_CLUSTER_ID"
	envNetwork    = "ISTIO_META_NETWORK"
	envSecurePort = "ENVOY_SECURE_MERGED_METRICS_PORT"
)

const (
	// mergedMetricsPath is where the agent serves the merged metrics.
	mergedMetricsPath = "/stats/prometheus"
	// defaultProxyID is the user and the group of the proxy.
	defaultProxyID = 1337
	// defaultRevision is what an empty revision is called in the status.
	defaultRevision = "default"
)
