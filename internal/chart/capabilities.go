package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Capabilities is what templates may ask about the cluster: .Capabilities.
type Capabilities struct {
	KubeVersion KubeVersion
	APIVersions VersionSet
	HelmVersion HelmVersion
}

// HelmVersion is what templates see of the Helm that renders them.
type HelmVersion struct {
	Version, GitCommit, GitTreeState, GoVersion, KubeClientVersion string
}

// KubeVersion is the version of a Kubernetes API server.
type KubeVersion struct {
	// Version is the version as the server spells it: v1.33.4-gke.1245000.
	Version string
	// Major and Minor are its first two numbers.
	Major, Minor string

	normalized string
}

// String returns the version without what follows the numbers, where it is
// known.
func (v *KubeVersion) String() string {
	if v.normalized != "" {
		return v.normalized
	}
	return v.Version
}

// GitVersion returns the version as the server spells it.
func (v *KubeVersion) GitVersion() string { return v.Version }

// ParseKubeVersion reads a version: at least two numbers, with or without a
// leading v.
func ParseKubeVersion(version string) (KubeVersion, error) {
	text := strings.TrimPrefix(strings.TrimSpace(version), "v")
	end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(text)
	}
	parts := strings.Split(strings.TrimSuffix(text[:end], "."), ".")
	if len(parts) < 2 {
		return KubeVersion{}, fmt.Errorf("parsing Kubernetes version %q: want at least two numbers, as in 1.33", version)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return KubeVersion{}, fmt.Errorf("parsing Kubernetes version %q: %w", version, err)
		}
		parts[i] = strconv.FormatUint(n, 10)
	}
	return KubeVersion{
		Version:    "v" + text,
		Major:      parts[0],
		Minor:      parts[1],
		normalized: "v" + strings.Join(parts, "."),
	}, nil
}

// VersionSet is a set of API versions: v1, apps/v1, ...
type VersionSet []string

// Has reports whether the API version is in the set.
func (s VersionSet) Has(version string) bool { return slices.Contains(s, version) }
