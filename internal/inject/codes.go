package inject

// Codes of this package's findings; diag holds the table of them.
const (
	CodeNoContainers  = "IGF0105" // a pod template without containers
	CodeInjectValue   = "IGF0601" // sidecar.istio.io/inject that is neither true nor false
	CodeStatusGarbage = "IGF0602" // a status annotation that cannot be read
	CodeOverrides     = "IGF0603" // an overrides annotation that cannot be read
	CodeNoTemplate    = "IGF0604" // a template that the configuration does not have
	CodeOverlay       = "IGF0605" // a rendered template that is no part of a pod
	CodeStructure     = "IGF0606" // an annotation's text that changes the rendered structure
	CodeVolumeClash   = "IGF0607" // a volume of the pod's that a template has too
	CodeProbeLeft     = "IGF0608" // a probe that is left alone
	CodeScrapeTargets = "IGF0609" // a list of metrics ports that cannot be read
	CodeScrapePort    = "IGF0610" // a metrics port that cannot be scraped
	CodeResources     = "IGF0611" // default resources lost to one annotation
	CodeLabelValue    = "IGF0612" // a label made by injection that is not valid
	CodeNotNative     = "IGF0613" // a template without native sidecar
	CodeMount         = "IGF0614" // a mount of the sidecar without a volume
	CodePullSecrets   = "IGF0615" // pull secrets that hide the service account's
	CodePodSecurity   = "IGF0616" // a sidecar that the namespace's Pod Security forbids
	CodePlaceholder   = "IGF0617" // image auto that stays
	CodePort          = "IGF0618" // a port that the sidecar needs
	CodeProxyUser     = "IGF0619" // an application that runs as the sidecar's user
	CodeProxyImage    = "IGF0620" // a sidecar with an image of the pod's own
	CodeDNSPolicy     = "IGF0621" // a DNS policy that may hide the control plane
	CodeProbeMoved    = "IGF0622" // a probe that becomes another kind
	CodeUnknownName   = "IGF0623" // an annotation or label that looks like the mesh's
	CodeValueForm     = "IGF0624" // a value of another form than the mesh reads
	CodeUserVolume    = "IGF0625" // a key of a user volume that does not exist
	CodeStale         = "IGF0626" // a container of an earlier injection that stays
	CodeAnnotation    = "IGF0627" // an annotation that makes a template fail
	CodeContradiction = "IGF0628" // a label and an annotation that contradict
	CodeOnWorkload    = "IGF0629" // a setting on the workload instead of its pods
	CodeNoEffect      = "IGF0630" // a setting without effect
	CodeOptIn         = "IGF0631" // an opt-in by annotation
	CodeProbe         = "IGF0632" // a probe that the sidecar gets in the way of
	CodeContainerName = "IGF0633" // a container name that a template has too
	CodeNativeLost    = "IGF0634" // a native sidecar that lost its restart policy
	CodeWebhookToo    = "IGF0635" // a workload that the webhook injects into as well
	CodeNotApplied    = "IGF0636" // a ProxyConfig that is not applied
	CodeHandlerClash  = "IGF0637" // a probe that a template has too, of another kind
	CodeOverwritten   = "IGF0638" // an annotation or label that a template overwrites
)
