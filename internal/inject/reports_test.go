package inject_test

import (
	"strconv"
	"strings"
	"testing"
)

// One test for every case that answers a public report or a finding of our
// own about the mesh's injector; the case file says what was reported and what
// is right. docs/differences.md names the tests whose results differ from the
// mesh's.

func testReport(t *testing.T, name string) {
	t.Helper()
	c, ok := loadCases(t)[name]
	if !ok {
		t.Fatal("no case file ", name)
	}
	c.test(t)
}

func TestI20OtherVersion(t *testing.T) {
	testReport(t, "i20-other-version")
}

func TestI22ArgsOfOverride(t *testing.T) {
	testReport(t, "i22-args-of-override")
}

func TestI30Excluded(t *testing.T) {
	testReport(t, "i30-excluded")
}

func TestI30ModeNone(t *testing.T) {
	testReport(t, "i30-mode-none")
}

func TestI30NoPorts(t *testing.T) {
	testReport(t, "i30-no-ports")
}

func TestI30ProbeOnPortNotIntercepted(t *testing.T) {
	testReport(t, "i30-probe-on-port-not-intercepted")
}

func TestI31TcpProbe(t *testing.T) {
	testReport(t, "i31-tcp-probe")
}

func TestI32GrpcProbe(t *testing.T) {
	testReport(t, "i32-grpc-probe")
}

func TestI33ProbeDetails(t *testing.T) {
	testReport(t, "i33-probe-details")
}

func TestI34ContainerAddedInBetween(t *testing.T) {
	testReport(t, "i34-container-added-in-between")
}

func TestI35TwoContainers(t *testing.T) {
	testReport(t, "i35-two-containers")
}

func TestI36OneResourceAnnotation(t *testing.T) {
	testReport(t, "i36-one-resource-annotation")
}

func TestI37CanonicalName(t *testing.T) {
	testReport(t, "i37-canonical-name")
}

func TestI37OldTemplate(t *testing.T) {
	testReport(t, "i37-old-template")
}

func TestI38LabelWithSlash(t *testing.T) {
	testReport(t, "i38-label-with-slash")
}

func TestI41GrpcAgentNative(t *testing.T) {
	testReport(t, "i41-grpc-agent-native")
}

func TestI42OrderNative(t *testing.T) {
	testReport(t, "i42-order-native")
}

func TestI42OrderOfInitContainers(t *testing.T) {
	testReport(t, "i42-order-of-init-containers")
}

func TestI43HoldApplication(t *testing.T) {
	testReport(t, "i43-hold-application")
}

func TestI44CsiOverDefault(t *testing.T) {
	testReport(t, "i44-csi-over-default")
}

func TestI44TwoVolumeSources(t *testing.T) {
	testReport(t, "i44-two-volume-sources")
}

func TestI45MisspeltSource(t *testing.T) {
	testReport(t, "i45-misspelt-source")
}

func TestI45MountWithoutVolume(t *testing.T) {
	testReport(t, "i45-mount-without-volume")
}

func TestI45NoJson(t *testing.T) {
	testReport(t, "i45-no-json")
}

func TestI46UnknownNames(t *testing.T) {
	testReport(t, "i46-unknown-names")
}

func TestI47PortsBlanks(t *testing.T) {
	testReport(t, "i47-ports-blanks")
}

func TestI47PortsRange(t *testing.T) {
	testReport(t, "i47-ports-range")
}

func TestI47PortsTooLarge(t *testing.T) {
	testReport(t, "i47-ports-too-large")
}

func TestI47PortsTrailing(t *testing.T) {
	testReport(t, "i47-ports-trailing")
}

func TestI48NoPullSecrets(t *testing.T) {
	testReport(t, "i48-no-pull-secrets")
}

func TestI48PullSecrets(t *testing.T) {
	testReport(t, "i48-pull-secrets")
}

func TestI49Restricted(t *testing.T) {
	testReport(t, "i49-restricted")
}

func TestI50Openshift(t *testing.T) {
	testReport(t, "i50-openshift")
}

func TestI51ImageAuto(t *testing.T) {
	testReport(t, "i51-image-auto")
}

func TestI52NewerTemplate(t *testing.T) {
	testReport(t, "i52-newer-template")
}

func TestI53Windows(t *testing.T) {
	testReport(t, "i53-windows")
}

func TestI53WindowsOs(t *testing.T) {
	testReport(t, "i53-windows-os")
}

func TestI54PortClash(t *testing.T) {
	testReport(t, "i54-port-clash")
}

func TestI55HostNetworkGrpc(t *testing.T) {
	testReport(t, "i55-host-network-grpc")
}

func TestI56NamedPort(t *testing.T) {
	testReport(t, "i56-named-port")
}

func TestI56ScrapeTargets(t *testing.T) {
	testReport(t, "i56-scrape-targets")
}

func TestI56TargetReserved(t *testing.T) {
	testReport(t, "i56-target-reserved")
}

func TestI63GarbageStatus(t *testing.T) {
	testReport(t, "i63-garbage-status")
}

func TestI63GarbageStatusOfInjected(t *testing.T) {
	testReport(t, "i63-garbage-status-of-injected")
}

func TestI70KubeSystem(t *testing.T) {
	testReport(t, "i70-kube-system")
}

func TestO1ProbeOnUnknownPortName(t *testing.T) {
	testReport(t, "o1-probe-on-unknown-port-name")
}

func TestO13ProxyImage(t *testing.T) {
	testReport(t, "o13-proxy-image")
}

func TestO2ProbeOnStatusPort(t *testing.T) {
	testReport(t, "o2-probe-on-status-port")
}

func TestO3ProxyUser(t *testing.T) {
	testReport(t, "o3-proxy-user")
}

func TestI45WrongDepth(t *testing.T) {
	testReport(t, "i45-wrong-depth")
}

func TestI46InjectNo(t *testing.T) {
	testReport(t, "i46-inject-no")
}

func TestI46MisspeltDomain(t *testing.T) {
	testReport(t, "i46-misspelt-domain")
}

func TestI46WrongKind(t *testing.T) {
	testReport(t, "i46-wrong-kind")
}

func TestI46Values(t *testing.T) {
	testReport(t, "i46-values")
}

func TestI49Flag(t *testing.T) {
	testReport(t, "i49-flag")
}

func TestI49Cured(t *testing.T) {
	testReport(t, "i49-cured")
}

func TestI49Tproxy(t *testing.T) {
	testReport(t, "i49-tproxy")
}

func TestI54PortName(t *testing.T) {
	testReport(t, "i54-port-name")
}

func TestI57AnnotationOptsIn(t *testing.T) {
	testReport(t, "i57-annotation-opts-in")
}

func TestI57LabelWins(t *testing.T) {
	testReport(t, "i57-label-wins")
}

func TestI69RestartPolicyLost(t *testing.T) {
	testReport(t, "i69-restart-policy-lost")
}

func TestI69OtherInjector(t *testing.T) {
	testReport(t, "i69-other-injector")
}

func TestO3ProxyGroup(t *testing.T) {
	testReport(t, "o3-proxy-group")
}

func TestO10NoContainers(t *testing.T) {
	testReport(t, "o10-no-containers")
}

// Every case of a report has a test above.
func TestReportsHaveTests(t *testing.T) {
	tests := string(read(t, ".", "reports_test.go"))
	for name := range loadCases(t) {
		if isReport(name) && !strings.Contains(tests, strconv.Quote(name)) {
			t.Errorf("case %s has no test", name)
		}
	}
}
