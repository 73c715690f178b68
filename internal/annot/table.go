package annot

// The forms that several keys share.
const (
	formTrueFalse   = "write true or false"
	formInterfaces  = "write names of network interfaces with commas between them, or nothing"
	formPort        = "write a port number from 0 to 65535"
	formPorts       = "write port numbers from 0 to 65535 with commas between them, or nothing"
	formNumber      = "write a whole number from 0 to 4294967295"
	formQuantity    = "write a quantity such as 100m or 128Mi"
	formDuration    = "write a duration such as 5s"
	formRanges      = "write address ranges such as 10.0.0.0/8 with commas between them, or nothing"
	formPortsOrAll  = "write port numbers from 0 to 65535 with commas between them, * for all, or nothing"
	formRangesOrAll = "write address ranges such as 10.0.0.0/8 with commas between them, * for all, or nothing"
)

// keys is sorted by kind and name.
var keys = [...]Key{
	{
		Name: AlphaCanonicalServiceAccounts, Kind: Annotation, Stage: Deprecated, Scope: Service,
		Doc: "Names accounts outside Kubernetes that may run the service.",
	},
	{
		Name: AlphaKubernetesServiceAccounts, Kind: Annotation, Stage: Deprecated, Scope: Service,
		Doc: "Names service accounts that may run the service on virtual machines.",
	},
	{
		Name: AmbientBypassInboundCapture, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "In ambient mode, captures only the traffic that leaves the pod.",
		Form: formTrueFalse, check: checkBool,
	},
	{
		Name: AmbientDNSCapture, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "In ambient mode, turns the capture of DNS queries on or off for the pod.",
		Form: formTrueFalse, check: checkBool,
	},
	{
		Name: AmbientRedirection, Kind: Annotation, Stage: Beta, Scope: Pod, Set: ByMesh,
		Doc: "Tells that the traffic of the pod is captured in ambient mode.",
	},
	{
		Name: AmbientWaypointInboundBinding, Kind: Annotation, Stage: Alpha, Scope: Gateway | GatewayClass,
		Doc: "Says by which protocol and port traffic is handed to a waypoint.",
	},
	{
		Name: DatadogEnv, Kind: Annotation, Stage: External, Scope: Pod, Set: ByMesh,
		Doc: "Tells Datadog the environment variables of the proxy, which the injector writes where Datadog is the tracer.",
	},
	{
		Name: AnalyzeSuppress, Kind: Annotation, Stage: Alpha, Scope: Any,
		Doc:  "Lists the codes of findings that analysis keeps to itself for the object.",
		Form: "write codes with commas between them, or *",
	},
	{
		Name: AgentgatewayImage, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc: "Sets the image type of the agentgateway proxy.",
	},
	{
		Name: GatewayControllerVersion, Kind: Annotation, Stage: Alpha, Scope: Any, Set: ByMesh,
		Doc: "Holds the version of the controller that looks after a Gateway.",
	},
	{
		Name: GatewayNameOverride, Kind: Annotation, Stage: Alpha, Scope: Gateway,
		Doc: "Names the Deployment and Service that are made for a Gateway.",
	},
	{
		Name: GatewayServiceAccount, Kind: Annotation, Stage: Alpha, Scope: Gateway,
		Doc: "Names the service account that is made for a Gateway.",
	},
	{
		Name: UndoRecord, Kind: Annotation, Stage: External, Scope: Pod, Set: ByMesh,
		Doc: "Holds what ingraft needs to undo an injection exactly.",
	},
	{
		Name: InjectTemplates, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Names the injection templates that are applied to the pod, in order, instead of the default ones.",
		Form: "write names of templates with commas between them",
	},
	{
		Name: AutoRegistrationGroup, Kind: Annotation, Stage: Alpha, Scope: WorkloadEntry, Set: ByMesh,
		Doc: "Names the WorkloadGroup that the entry was made from.",
	},
	{
		Name: ConnectedAt, Kind: Annotation, Stage: Alpha, Scope: WorkloadEntry, Set: ByMesh,
		Doc: "Holds the time at which the workload connected to the control plane.",
	},
	{
		Name: DisconnectedAt, Kind: Annotation, Stage: Alpha, Scope: WorkloadEntry, Set: ByMesh,
		Doc: "Holds the time at which the workload left the control plane.",
	},
	{
		Name: DryRun, Kind: Annotation, Stage: Alpha, Scope: Policy,
		Doc:  "Makes the policy log what it would do, and not do it.",
		Form: formTrueFalse, check: checkBool,
	},
	{
		Name: RerouteVirtualInterfaces, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Treats what comes in through these virtual interfaces as traffic that leaves the pod.",
		Form: formInterfaces, Refused: true, check: checkInterfaces,
	},
	{
		Name: Revision, Kind: Annotation, Stage: Alpha, Scope: Pod, Set: ByMesh,
		Doc: "Tells the revision of the control plane that injected the pod.",
	},
	{
		Name: UseWaypointCanaryWeight, Kind: Annotation, Stage: Alpha, Scope: Service | ServiceEntry | Namespace,
		Doc:  "Sets the share of new connections that go through the canary waypoint.",
		Form: "write a whole number from 0 to 100", check: checkWeight,
	},
	{
		Name: WorkloadController, Kind: Annotation, Stage: Alpha, Scope: WorkloadEntry, Set: ByMesh,
		Doc: "Names the instance of the control plane that the workload is connected to.",
	},
	{
		Name: MultusNetworks, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Lists the networks that Multus attaches the pod to, to which the injector adds its own where its CNI plugin runs under Multus.",
	},
	{
		Name: DefaultContainer, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Names the container that kubectl takes where none is asked for; the injector sets it to the first container of the application.",
	},
	{
		Name: DefaultLogsContainer, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Names the container whose logs kubectl shows where none is asked for; the injector sets it to the first container of the application.",
	},
	{
		Name: LastAppliedConfiguration, Kind: Annotation, Stage: External, Scope: Any, Set: ByMesh,
		Doc: "Holds what kubectl last applied.",
	},
	{
		Name: IngressClass, Kind: Annotation, Stage: Stable, Scope: Ingress,
		Doc: "Names the class of the controller that looks after an Ingress.",
	},
	{
		Name: NetworkingExportTo, Kind: Annotation, Stage: Alpha, Scope: Service,
		Doc:  "Lists the namespaces that see the service.",
		Form: "write *, ., ~ or names of namespaces with commas between them",
	},
	{
		Name: NetworkingServiceType, Kind: Annotation, Stage: Alpha, Scope: Gateway,
		Doc:  "Sets the type of the Service that is made for a Gateway.",
		Form: "write ClusterIP, NodePort or LoadBalancer", check: checkServiceType,
	},
	{
		Name: NetworkingTrafficDistribution, Kind: Annotation, Stage: Alpha, Scope: Namespace | Service | ServiceEntry,
		Doc: "Says how traffic is spread over the endpoints of a service.",
	},
	{
		Name: OpenShiftSupplementalGroups, Kind: Annotation, Stage: External, Scope: Namespace, Set: ByMesh,
		Doc: "Holds the range of group ids of a namespace of OpenShift, from which the group of the proxy comes.",
	},
	{
		Name: OpenShiftUIDRange, Kind: Annotation, Stage: External, Scope: Namespace, Set: ByMesh,
		Doc: "Holds the range of user ids of a namespace of OpenShift, from which the user of the proxy comes.",
	},
	{
		Name: PrometheusPath, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Says at which path Prometheus finds the metrics of the application.",
	},
	{
		Name: PrometheusPort, Kind: Annotation, Stage: External, Scope: Pod,
		Doc:  "Says at which port Prometheus finds the metrics of the application.",
		Form: formPort, check: checkPort,
	},
	{
		Name: PrometheusScrape, Kind: Annotation, Stage: External, Scope: Pod,
		Doc:  "Says whether Prometheus collects metrics from the pod.",
		Form: formTrueFalse, check: checkBool,
	},
	{
		Name: PrometheusMergeMetrics, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Says whether the metrics of the application are collected together with those of the proxy.",
		Form: formTrueFalse, Refused: true, check: checkBool,
	},
	{
		Name: PrometheusScrapeTargets, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists several places of metrics in the pod, which are collected together with those of the proxy.",
		Form: "write port:path with commas between them, such as 8080:/metrics",
	},
	{
		Name: PrometheusSecurePort, Kind: Annotation, Stage: Alpha, Scope: Pod, Set: ByMesh,
		Doc: "Tells the port at which the merged metrics are served over mutual TLS.",
	},
	{
		Name: ProxyConfig, Kind: Annotation, Stage: Beta, Scope: Pod,
		Doc:  "Changes the proxy configuration for this pod; it is merged over the defaultConfig of the mesh.",
		Form: "write fields of a ProxyConfig as YAML or JSON", Refused: true,
	},
	{
		Name: ProxyOverrides, Kind: Annotation, Stage: Alpha, Scope: Pod, Set: ByMesh,
		Doc: "Holds what the pod said about the container of the proxy, so that another injection can apply it again.",
	},
	{
		Name: ReadinessApplicationPorts, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists the ports that must be listened on before the proxy is ready.",
		Form: formPorts, check: checkPorts,
	},
	{
		Name: ReadinessFailureThreshold, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets how often the readiness probe of the proxy may fail.",
		Form: formNumber, Refused: true, check: checkUint32,
	},
	{
		Name: ReadinessInitialDelaySeconds, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets after how many seconds the readiness of the proxy is first probed.",
		Form: formNumber, Refused: true, check: checkUint32,
	},
	{
		Name: ReadinessPeriodSeconds, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets every how many seconds the readiness of the proxy is probed.",
		Form: formNumber, Refused: true, check: checkUint32,
	},
	{
		Name: OTelServiceInstanceID, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Sets the attribute service.instance.id of what the proxy reports to OpenTelemetry.",
	},
	{
		Name: OTelServiceNamespace, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Sets the attribute service.namespace of what the proxy reports to OpenTelemetry.",
	},
	{
		Name: OTelServiceVersion, Kind: Annotation, Stage: External, Scope: Pod,
		Doc: "Sets the attribute service.version of what the proxy reports to OpenTelemetry.",
	},
	{
		Name: SidecarAgentLogLevel, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets the log level of the agent beside the proxy.",
		Form: "write a level such as debug, or scope:level with commas between them", check: checkAgentLevels,
	},
	{
		Name: SidecarBootstrapOverride, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc: "Names a ConfigMap that holds another bootstrap configuration for the proxy.",
	},
	{
		Name: SidecarCapNetBindService, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Gives the proxy the capability to listen on ports below 1024.",
		Form: formTrueFalse, check: checkBool,
	},
	{
		Name: SidecarComponentLogLevel, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets the log levels of the components of the proxy.",
		Form: "write component:level with commas between them", check: checkComponentLevels,
	},
	{
		Name: SidecarDiscoveryAddress, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc:  "Sets the address of the control plane; discoveryAddress in proxy.istio.io/config does it now.",
		Form: "write host:port", check: checkHostPort,
	},
	{
		Name: SidecarEnableCoreDump, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc:  "Let the proxy write core dumps, until release 1.25; enableCoreDump in the values of the install does it now.",
		Form: formTrueFalse,
	},
	{
		Name: SidecarExtraStatTags, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc: "Lists more tags that are taken from the metrics of the proxy.",
	},
	{
		Name: SidecarInject, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc:  "Says whether the pod is injected; the label of the same name does it now, and wins where both are there.",
		Form: formTrueFalse, check: checkTrueFalse,
	},
	{
		Name: SidecarInterceptionMode, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Says how connections to the pod are led to the proxy.",
		Form: "write REDIRECT, TPROXY or NONE", Refused: true, check: checkInterceptionMode,
	},
	{
		Name: SidecarLogLevel, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets the log level of the proxy.",
		Form: "write trace, debug, info, warning, error, critical or off", check: checkEnvoyLevel,
	},
	{
		Name: SidecarNativeSidecar, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Says whether the proxy is a native sidecar of Kubernetes, whatever the control plane is set to.",
		Form: formTrueFalse, check: checkTrueFalse,
	},
	{
		Name: SidecarProxyCPU, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets how much CPU the proxy requests.",
		Form: formQuantity, Refused: true, check: checkQuantity,
	},
	{
		Name: SidecarProxyCPULimit, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Limits how much CPU the proxy may take.",
		Form: formQuantity, Refused: true, check: checkQuantity,
	},
	{
		Name: SidecarProxyImage, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc: "Sets the image of the proxy, as a whole.",
	},
	{
		Name: SidecarProxyImageType, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets the type of the image of the proxy, which is a suffix of its tag.",
		Form: "write default, debug or distroless",
	},
	{
		Name: SidecarProxyMemory, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets how much memory the proxy requests.",
		Form: formQuantity, Refused: true, check: checkQuantity,
	},
	{
		Name: SidecarProxyMemoryLimit, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Limits how much memory the proxy may take.",
		Form: formQuantity, Refused: true, check: checkQuantity,
	},
	{
		Name: SidecarRewriteAppHTTPProbers, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Says whether the probes of the containers are led through the agent beside the proxy.",
		Form: formTrueFalse, check: checkBool,
	},
	{
		Name: SidecarStatsCompression, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc:  "Sets how the statistics of the proxy are compressed.",
		Form: "write brotli, gzip or zstd", check: checkCompression,
	},
	{
		Name: SidecarStatsEvictionInterval, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets after how long the proxy forgets a metric that is not used.",
		Form: formDuration, check: checkDuration,
	},
	{
		Name: SidecarStatsFlushInterval, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets how often the proxy sends its statistics to where they are pushed.",
		Form: formDuration, check: checkDuration,
	},
	{
		Name: SidecarStatsHistogramBins, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc: "Sets how many bins the histograms of the mesh have.",
	},
	{
		Name: SidecarStatsHistogramBuckets, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets the buckets of histograms by the prefix of their names.",
		Form: "write a JSON object of arrays of numbers", check: checkJSON,
	},
	{
		Name: SidecarStatsInclusionPrefixes, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc: "Lists prefixes of the statistics that the proxy emits; proxyStatsMatcher in proxy.istio.io/config does it now.",
	},
	{
		Name: SidecarStatsInclusionRegexps, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc: "Lists patterns of the statistics that the proxy emits; proxyStatsMatcher in proxy.istio.io/config does it now.",
	},
	{
		Name: SidecarStatsInclusionSuffixes, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc: "Lists suffixes of the statistics that the proxy emits; proxyStatsMatcher in proxy.istio.io/config does it now.",
	},
	{
		Name: SidecarStatus, Kind: Annotation, Stage: Alpha, Scope: Pod, Set: ByMesh,
		Doc: "Tells that the pod is injected, and what was added to it.",
	},
	{
		Name: SidecarUserVolume, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Adds volumes to the pod for the proxy to mount.",
		Form: "write a JSON object or array of volumes", check: checkJSON,
	},
	{
		Name: SidecarUserVolumeMount, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Mounts volumes into the proxy.",
		Form: "write a JSON object or array of volume mounts", check: checkJSON,
	},
	{
		Name: SidecarStatusPort, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Sets the port at which the agent beside the proxy answers probes.",
		Form: formPort, Refused: true, check: checkPort,
	},
	{
		Name: TopologyControlPlaneClusters, Kind: Annotation, Stage: Alpha, Scope: Namespace,
		Doc:  "Lists the clusters whose control plane may lead this one.",
		Form: "write names of clusters with commas between them, or *",
	},
	{
		Name: TrafficNodeSelector, Kind: Annotation, Stage: Stable, Scope: Service,
		Doc:  "Selects the nodes whose addresses lead to a gateway between networks.",
		Form: "write label=value with commas between them",
	},
	{
		Name: TrafficExcludeInboundPorts, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists ports of the pod whose traffic bypasses the proxy.",
		Form: formPorts, Refused: true, check: checkPorts,
	},
	{
		Name: TrafficExcludeInterfaces, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists network interfaces whose traffic bypasses the proxy.",
		Form: formInterfaces, Refused: true, check: checkInterfaces,
	},
	{
		Name: TrafficExcludeOutboundIPRanges, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists destinations that are reached past the proxy.",
		Form: formRanges, Refused: true, check: checkRanges,
	},
	{
		Name: TrafficExcludeOutboundPorts, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists ports of destinations that are reached past the proxy.",
		Form: formPorts, Refused: true, check: checkPorts,
	},
	{
		Name: TrafficIncludeInboundPorts, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists the ports of the pod whose traffic goes through the proxy.",
		Form: formPortsOrAll, Refused: true, check: checkPortsOrAll,
	},
	{
		Name: TrafficIncludeOutboundIPRanges, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists the destinations that are reached through the proxy.",
		Form: formRangesOrAll, Refused: true, check: checkRangesOrAll,
	},
	{
		Name: TrafficIncludeOutboundPorts, Kind: Annotation, Stage: Alpha, Scope: Pod,
		Doc:  "Lists ports of destinations that are reached through the proxy, whatever their address.",
		Form: formPortsOrAll, check: checkPortsOrAll,
	},
	{
		Name: TrafficKubevirtInterfaces, Kind: Annotation, Stage: Deprecated, Scope: Pod,
		Doc:  "Did what istio.io/reroute-virtual-interfaces does now.",
		Form: formInterfaces, Refused: true, check: checkInterfaces,
	},
	{
		Name: App, Kind: Label, Stage: External, Scope: Pod,
		Doc: "Names the application, and with it the canonical service where nothing else does.",
	},
	{
		Name: KubernetesName, Kind: Label, Stage: External, Scope: Pod,
		Doc: "Names the application, and with it the canonical service where service.istio.io/canonical-name does not.",
	},
	{
		Name: KubernetesVersion, Kind: Label, Stage: External, Scope: Pod,
		Doc: "Tells the version of the application, and with it the canonical revision where service.istio.io/canonical-revision does not.",
	},
	{
		Name: GatewayManaged, Kind: Label, Stage: Stable, Scope: Generated, Set: ByMesh,
		Doc: "Names the controller that made the object for a Gateway.",
	},
	{
		Name: GatewayClassName, Kind: Label, Stage: Stable, Scope: Generated, Set: ByMesh,
		Doc: "Names the GatewayClass for which the object was made.",
	},
	{
		Name: GatewayName, Kind: Label, Stage: Stable, Scope: Generated, Set: ByMesh,
		Doc: "Names the Gateway for which the object was made.",
	},
	{
		Name: NamespaceInjection, Kind: Label, Stage: Stable, Scope: Namespace,
		Doc:  "Says whether pods of the namespace are injected.",
		Form: "write enabled or disabled", check: checkEnabledDisabled,
	},
	{
		Name: DataplaneMode, Kind: Label, Stage: Stable, Scope: Pod | Namespace,
		Doc:  "Says whether pods take part in the mesh in ambient mode.",
		Form: "write ambient or none", check: checkDataplaneMode,
	},
	{
		Name: IngressUseWaypoint, Kind: Label, Stage: Beta, Scope: Service | ServiceEntry | Namespace,
		Doc:  "Leads traffic from an ingress gateway through the waypoint too.",
		Form: formTrueFalse, check: checkTrueFalse,
	},
	{
		Name: Revision, Kind: Label, Stage: Beta, Scope: Namespace | Gateway | Pod,
		Doc: "Names the revision of the control plane, or its tag, that injects.",
	},
	{
		Name: RevisionTag, Kind: Label, Stage: Alpha, Scope: Webhook, Set: ByMesh,
		Doc: "Names the tag of a revision that a webhook belongs to.",
	},
	{
		Name: UseWaypoint, Kind: Label, Stage: Stable, Scope: Pod | WorkloadEntry | Service | ServiceEntry | Namespace,
		Doc: "Names the waypoint that traffic goes through, or none.",
	},
	{
		Name: UseWaypointCanary, Kind: Label, Stage: Alpha, Scope: Service | ServiceEntry | Namespace,
		Doc: "Names a second waypoint that takes a share of the connections.",
	},
	{
		Name: UseWaypointCanaryNamespace, Kind: Label, Stage: Alpha, Scope: Service | ServiceEntry | Namespace,
		Doc: "Names the namespace of the second waypoint.",
	},
	{
		Name: UseWaypointNamespace, Kind: Label, Stage: Beta, Scope: Pod | WorkloadEntry | Service | ServiceEntry | Namespace,
		Doc: "Names the namespace of the waypoint.",
	},
	{
		Name: WaypointFor, Kind: Label, Stage: Stable, Scope: GatewayClass | Gateway,
		Doc:  "Says which traffic a waypoint takes.",
		Form: "write service, workload, all or none", check: checkWaypointFor,
	},
	{
		Name: EnableAutoallocateIP, Kind: Label, Stage: Beta, Scope: ServiceEntry,
		Doc:  "Says whether an entry without addresses gets one.",
		Form: formTrueFalse, check: checkTrueFalse,
	},
	{
		Name: NetworkingGatewayPort, Kind: Label, Stage: Alpha, Scope: Service,
		Doc:  "Sets the port of a gateway between networks.",
		Form: formPort, check: checkPort,
	},
	{
		Name: NetworkingTunnel, Kind: Label, Stage: Alpha, Scope: Pod, Set: ByMesh,
		Doc: "Tells that the proxy of the pod accepts tunnelled connections.",
	},
	{
		Name: OperatorComponent, Kind: Label, Stage: Alpha, Scope: Any, Set: ByMesh,
		Doc: "Names the component of the install that the object belongs to.",
	},
	{
		Name: OperatorManaged, Kind: Label, Stage: Alpha, Scope: Any, Set: ByMesh,
		Doc: "Tells that the operator looks after the object.",
	},
	{
		Name: OperatorVersion, Kind: Label, Stage: Alpha, Scope: Any, Set: ByMesh,
		Doc: "Tells the version of the operator that made the object.",
	},
	{
		Name: PodSecurityEnforce, Kind: Label, Stage: External, Scope: Namespace,
		Doc:  "Names the Pod Security level that Kubernetes enforces in the namespace.",
		Form: "write privileged, baseline or restricted", check: checkPodSecurity,
	},
	{
		Name: PodSecurityEnforceVersion, Kind: Label, Stage: External, Scope: Namespace,
		Doc:  "Names the release of Kubernetes whose version of that level is enforced.",
		Form: "write latest or a release such as v1.30", check: checkPodSecurityVersion,
	},
	{
		Name: PodTemplateHash, Kind: Label, Stage: External, Scope: Pod, Set: ByMesh,
		Doc: "Tells the pods of a Deployment which of its ReplicaSets they belong to.",
	},
	{
		Name: RolloutsPodTemplateHash, Kind: Label, Stage: External, Scope: Pod, Set: ByMesh,
		Doc: "Tells the pods of an Argo Rollout which of its ReplicaSets they belong to.",
	},
	{
		Name: SecurityTLSMode, Kind: Label, Stage: Deprecated, Scope: Pod, Set: ByMesh,
		Doc:  "Tells whether the proxy of the pod accepts mutual TLS.",
		Form: "write istio or disabled", check: checkTLSMode,
	},
	{
		Name: ServiceCanonicalName, Kind: Label, Stage: Alpha, Scope: Pod,
		Doc: "Names the canonical service that the workload belongs to, for metrics.",
	},
	{
		Name: ServiceCanonicalRevision, Kind: Label, Stage: Alpha, Scope: Pod,
		Doc: "Names the revision of the canonical service, for metrics.",
	},
	{
		Name: ServiceWorkloadName, Kind: Label, Stage: Alpha, Scope: Pod | WorkloadEntry,
		Doc: "Names the workload, where its owner is not to do so.",
	},
	{
		Name: SidecarInject, Kind: Label, Stage: Beta, Scope: Pod,
		Doc:  "Says whether the pod is injected.",
		Form: formTrueFalse, check: checkTrueFalse,
	},
	{
		Name: TopologyCluster, Kind: Label, Stage: Alpha, Scope: Pod,
		Doc: "Names the cluster that the workload is in.",
	},
	{
		Name: TopologyLocality, Kind: Label, Stage: Alpha, Scope: Pod,
		Doc:  "Names region, zone and subzone of the workload, instead of those of its node.",
		Form: "write region.zone.subzone",
	},
	{
		Name: TopologyNetwork, Kind: Label, Stage: Beta, Scope: Namespace | Pod | Service,
		Doc: "Names the network that the pod is in; the injector sets it where the install has one.",
	},
	{
		Name: TopologySubzone, Kind: Label, Stage: Beta, Scope: Node,
		Doc: "Names the part of its zone that a node is in.",
	},
	{
		Name: Version, Kind: Label, Stage: External, Scope: Pod,
		Doc: "Tells the version of the application, and with it the canonical revision where nothing else does.",
	},
}
