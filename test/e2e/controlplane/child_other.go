//go:build !linux

package controlplane

import "syscall"

// child leaves programs as they are: a test that is killed leaves its programs
// behind.
func child() *syscall.SysProcAttr { return nil }
