package annot

// Names that the mesh reads or that tell something about pods, but that are
// nobody's setting of the mesh: they are not in the table.
const (
	// The label that the API server gives to every namespace.
	NamespaceName = "kubernetes.io/metadata.name"
	// Labels of nodes: the operating system, today and before, and the place.
	NodeOS         = "kubernetes.io/os"
	NodeOSBeta     = "beta.kubernetes.io/os"
	TopologyRegion = "topology.kubernetes.io/region"
	TopologyZone   = "topology.kubernetes.io/zone"
)

// HelmChart is the label in which charts name themselves.
const HelmChart = "helm.sh/chart"

// OperatorPrefix begins the annotations of objects that the mesh's former
// operator made, OTelPrefix those that give attributes to traces.
const (
	OperatorPrefix = "install.operator.istio.io/"
	OTelPrefix     = "resource.opentelemetry.io/"
)
