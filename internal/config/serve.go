package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// validateServe refuses a time of day or a zone that is none. Cron specs are
// looked at by what reads them.
func (c Config) validateServe() error {
	var errs []error
	if _, err := time.Parse("15:04", c.ServeUntil); err != nil {
		errs = append(errs, fmt.Errorf("serve.until: %q is not a time of day such as 06:30", c.ServeUntil))
	}
	if c.ServePort < 0 || c.ServePort > 65535 {
		errs = append(errs, fmt.Errorf("serve.port: %d is no port", c.ServePort))
	}
	if _, err := c.Zone(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Zone is the time zone whose clock opens the windows.
func (c Config) Zone() (*time.Location, error) {
	if c.ServeZone == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(c.ServeZone)
	if err != nil {
		return nil, fmt.Errorf("serve.zone: no time zone %q, such as Europe/Berlin", c.ServeZone)
	}
	return zone, nil
}

// Starts lists the cron specs of the windows.
func (c Config) Starts() []string {
	var out []string
	for spec := range strings.SplitSeq(c.ServeStart, ";") {
		if spec = strings.TrimSpace(spec); spec != "" {
			out = append(out, spec)
		}
	}
	return out
}
