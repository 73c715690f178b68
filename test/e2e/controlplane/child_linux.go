package controlplane

import "syscall"

// child makes the kernel kill a program with the test that started it, however
// that ends, and keeps it from the signals of the terminal.
func child() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
