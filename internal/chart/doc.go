// Package chart renders Helm charts from an fs.FS: the subset of Helm that the
// mesh's charts use, equal to Helm's engine on them.
package chart
