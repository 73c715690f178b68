package annot

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The checks say what is wrong with a value, in words that follow the name of
// the key, or "". Those of keys that are Refused follow the injector of release
// 1.31 (pkg/kube/inject/validate.go), value by value.

// checkBool accepts what strconv.ParseBool does.
func checkBool(value string) string {
	if _, err := strconv.ParseBool(value); err != nil {
		return fmt.Sprintf("is %q, which is neither true nor false", value)
	}
	return ""
}

// checkTrueFalse accepts no other spellings of true and false.
func checkTrueFalse(value string) string { return oneOf(value, "true", "false") }

func checkEnabledDisabled(value string) string { return oneOf(value, "enabled", "disabled") }

func checkDataplaneMode(value string) string { return oneOf(value, "ambient", "none") }

func checkWaypointFor(value string) string { return oneOf(value, "service", "workload", "all", "none") }

func checkTLSMode(value string) string { return oneOf(value, "istio", "disabled") }

func checkInterceptionMode(value string) string { return oneOf(value, "REDIRECT", "TPROXY", "NONE") }

func oneOf(value string, accepted ...string) string {
	for _, a := range accepted {
		if value == a {
			return ""
		}
	}
	last := len(accepted) - 1
	return fmt.Sprintf("is %q, which is not %s or %s", value, strings.Join(accepted[:last], ", "), accepted[last])
}

// checkPort accepts a port, with blanks around it, and 0.
func checkPort(value string) string {
	if _, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16); err != nil {
		return fmt.Sprintf("is %q, which is not a port", value)
	}
	return ""
}

// checkPorts accepts ports with commas between them, or nothing.
func checkPorts(value string) string {
	if strings.TrimSpace(value) == "" {
		return ""
	}
	for port := range strings.SplitSeq(value, ",") {
		if checkPort(port) != "" {
			return fmt.Sprintf("has %q, which is not a port", port)
		}
	}
	return ""
}

func checkPortsOrAll(value string) string {
	if value == "*" {
		return ""
	}
	return checkPorts(value)
}

// checkRanges accepts address ranges with commas between them, without blanks,
// or nothing.
func checkRanges(value string) string {
	if value == "" {
		return ""
	}
	for r := range strings.SplitSeq(value, ",") {
		if _, err := netip.ParsePrefix(r); err != nil {
			return fmt.Sprintf("has %q, which is not an address range", r)
		}
	}
	return ""
}

func checkRangesOrAll(value string) string {
	if value == "*" {
		return ""
	}
	return checkRanges(value)
}

// maxInterface is the longest name that Linux gives a network interface.
const maxInterface = 15

// checkInterfaces accepts names of network interfaces with commas between
// them, blanks around them, or nothing.
func checkInterfaces(value string) string {
	if value == "" {
		return ""
	}
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return "has an empty name of an interface"
		case len(name) > maxInterface:
			return fmt.Sprintf("has %q, which is longer than the %d letters of a network interface", name, maxInterface)
		case !isInterface(name):
			return fmt.Sprintf("has %q, which is not a name of a network interface: a letter, then letters, digits, '.', '-' and '_'", name)
		}
	}
	return ""
}

func isInterface(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return true
}

// checkUint32 accepts a whole number of 32 bits, without sign and blanks.
func checkUint32(value string) string {
	if _, err := strconv.ParseUint(value, 10, 32); err != nil {
		return fmt.Sprintf("is %q, which is not a whole number from 0 to 4294967295", value)
	}
	return ""
}

// checkQuantity accepts a quantity of Kubernetes without control characters.
func checkQuantity(value string) string {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return fmt.Sprintf("is %q, which has a control character", value)
	}
	if _, err := resource.ParseQuantity(value); err != nil {
		return fmt.Sprintf("is %q, which is not a quantity", value)
	}
	return ""
}

func checkDuration(value string) string {
	if _, err := time.ParseDuration(value); err != nil {
		return fmt.Sprintf("is %q, which is not a duration", value)
	}
	return ""
}

func checkJSON(value string) string {
	if !json.Valid([]byte(value)) {
		return "is not JSON"
	}
	return ""
}

// checkEnvoyLevel accepts the log levels of Envoy.
func checkEnvoyLevel(value string) string {
	switch strings.ToLower(value) {
	case "trace", "debug", "info", "warn", "warning", "error", "critical", "off":
		return ""
	}
	return fmt.Sprintf("is %q, which is no log level of the proxy", value)
}

// checkComponentLevels accepts component:level with commas between them, where
// the levels are Envoy's.
func checkComponentLevels(value string) string {
	for part := range strings.SplitSeq(value, ",") {
		if component, level, ok := strings.Cut(strings.TrimSpace(part), ":"); !ok || component == "" || checkEnvoyLevel(level) != "" {
			return fmt.Sprintf("has %q, which is not component:level", part)
		}
	}
	return ""
}

// checkAgentLevels accepts level or scope:level with commas between them,
// where the levels are the agent's.
func checkAgentLevels(value string) string {
	for part := range strings.SplitSeq(value, ",") {
		level := part[strings.LastIndexByte(part, ':')+1:]
		if strings.HasPrefix(part, ":") || oneOf(level, "debug", "info", "warn", "error", "fatal", "none") != "" {
			return fmt.Sprintf("has %q, which is no log level of the agent", part)
		}
	}
	return ""
}

func checkCompression(value string) string { return oneOf(value, "brotli", "gzip", "zstd") }

func checkServiceType(value string) string {
	return oneOf(value, "ClusterIP", "NodePort", "LoadBalancer")
}

func checkPodSecurity(value string) string {
	return oneOf(value, "privileged", "baseline", "restricted")
}

// checkPodSecurityVersion accepts latest and v1.N.
func checkPodSecurityVersion(value string) string {
	if minor, ok := strings.CutPrefix(value, "v1."); ok {
		if _, err := strconv.ParseUint(minor, 10, 16); err == nil {
			return ""
		}
	}
	if value == "latest" {
		return ""
	}
	return fmt.Sprintf("is %q, which is no release of Kubernetes", value)
}

// checkWeight accepts a share in hundredths.
func checkWeight(value string) string {
	if n, err := strconv.ParseUint(value, 10, 8); err != nil || n > 100 {
		return fmt.Sprintf("is %q, which is not a whole number from 0 to 100", value)
	}
	return ""
}

// checkHostPort accepts a host and a port with a colon between them.
func checkHostPort(value string) string {
	colon := strings.LastIndexByte(value, ':')
	if colon <= 0 || checkPort(value[colon+1:]) != "" || value[colon+1:] == "0" {
		return fmt.Sprintf("is %q, which is not host:port", value)
	}
	return ""
}
