package config

import (
	"strings"
	"testing"
)

func TestIsValue(t *testing.T) {
	for path, want := range map[string]bool{
		"global": true, "global.hub": true, "global.proxy.includeOutboundPorts": true, "global.proxi": false,
		"global.hub.x": false, "": false, "nothing.at.all": false,
	} {
		if got := IsValue(strings.Split(path, ".")...); got != want {
			t.Errorf("IsValue(%q) = %v", path, got)
		}
	}
}
