package tmpl

import (
	"errors"
	"time"
)

// zoneOf is an Env.Zone that does not depend on the machine.
func zoneOf(name string) (*time.Location, error) {
	if name == "Europe/Berlin" {
		return time.FixedZone(name, 2*3600), nil
	}
	return nil, errors.New("no such zone")
}
