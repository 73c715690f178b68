package main

import "github.com/ingraft/ingraft/test/conformance/bench/side"

// suite is all that rows are made of.
type suite struct {
	options
	launch   launcher
	settings side.Settings
	// ours and peer are the processes in which the sides are measured.
	ours, peer *child
	one        string // file with one Deployment
	many       string // file with all Deployments and Services
	asked      int    // reviews made so far, so that no application comes twice
}

// streamRow is the index of the row of the stream, as a process; the first row
// is that of one Deployment.
const streamRow = 2

func (s *suite) rows() []row {
	return []row{
		{
			name: "process: one Deployment, files given", goal: 10, rounds: s.rounds,
			ours: s.process(s.ingraft, s.settings.Arguments(s.one)), peer: s.peerProcess(s.one),
			says: `The whole life of the process, from fork to exit, with standard output read through a pipe, for
a manifest of one Deployment, and template, mesh configuration and values from files. Neither side
asks a cluster. Most of it is the start of a Go program of this size; see the profile below.`,
		},
		{
			name: "process: one Deployment, built-in configuration", rounds: s.rounds,
			ours: s.process(s.ingraft, []string{"kube-inject", "-f", s.one}),
			says: `The same without files: the charts of the mesh's release are rendered first, which is what it
costs more than the row above. istioctl cannot do this without a cluster.`,
		},
		{
			name: "process: " + s.manyWords(), goal: 50, rounds: s.heavyRounds(),
			ours: s.process(s.ingraft, s.settings.Arguments(s.many)), peer: s.peerProcess(s.many),
			says: `One stream of Deployments, each followed by its Service, through the whole process. Documents are
worked on by all cores and written in order. Peak memory does not grow with the stream: beyond
2 MiB input and output go through temporary files.`,
		},
		{
			name: "command in process: one Deployment", rounds: s.rounds,
			ours: s.ours.command(s.one, 10), peer: s.peer.command(s.one, 10),
			says: `What is left of the first row once a process has started and everything in it has been used
before, in a process of each side's own: the three files are read and compiled anew for each run. ingraft parses only the template
that a pod asks for.`,
		},
		{
			name: "command in process: " + s.manyWords(), rounds: s.heavyRounds(),
			ours: s.ours.command(s.many, 1), peer: s.peer.command(s.many, 1),
			says: `The stream again, without start and exit of the process.`,
		},
		{
			name: "webhook handler: distinct pods", goal: 30, rounds: s.rounds,
			ours: s.admit(s.ours, "", false), peer: s.admit(s.peer, "", false),
			says: `A pod each of applications that were never seen before, of different shapes: the request as an
API server sends it, to the answer with the patch, through the http.Handler of each side, after the
configuration was compiled, in a process of each side's own. There is no transport on either side.`,
		},
		{
			name: "webhook handler: replicas of one application", goal: 200, rounds: s.rounds,
			ours: s.admit(s.ours, "", true), peer: s.admit(s.peer, "", true),
			says: `The same for pods of one owner, which differ in the volume of the service account's token and in the
id of the request, as replicas do.`,
		},
	}
}

// heavyRounds is how often the long rows are measured.
func (s *suite) heavyRounds() int { return max(1, s.rounds/8) }

func (s *suite) process(program string, args []string) func() (cost, error) {
	return func() (cost, error) { return s.launch.run(program, args...) }
}

// peerProcess is nil where there is no binary of the peer.
func (s *suite) peerProcess(input string) func() (cost, error) {
	if s.istioctl == "" {
		return nil
	}
	return s.process(s.istioctl, append(s.settings.Arguments(input), "--revision", side.Revision))
}

// command measures kube-inject without the process around it, over several runs.
func (c *child) command(input string, times int64) func() (cost, error) {
	return func() (cost, error) { return c.measure(side.Order{Command: input, Times: times}) }
}

// admit measures the answers to a batch of reviews, per review.
func (s *suite) admit(c *child, release string, replicas bool) func() (cost, error) {
	return func() (cost, error) {
		reviews := make([][]byte, s.batch)
		for i := range reviews {
			s.asked++
			application, replica := s.asked, 0
			if replicas {
				application, replica = 1, s.asked
			}
			var err error
			if reviews[i], err = review(application, replica); err != nil {
				return cost{}, err
			}
		}
		return c.measure(side.Order{Reviews: reviews, Release: release})
	}
}
