// Package chart renders Helm charts from an fs.FS: text/template, Sprig and
// the functions that Helm adds to them, values put together from the chart's
// defaults, its subcharts and the user's. It equals the engine of Helm v4.2.0
// on the charts of the mesh (test/conformance holds it to that), and leaves
// out what they do not need: archives, .helmignore, repositories, conditions
// and tags of dependencies, value schemas, hooks, TOML, and a cluster to look up
// in.
package chart
