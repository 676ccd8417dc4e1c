package sandbox

import (
	"os"
	"syscall"
)

// probeAttr runs the probe as the user sessions will run as.
func probeAttr(o ProbeOptions) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 && o.UID != 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(o.UID), Gid: uint32(o.GID)}
	}
	return attr
}
