package main

import "net/http"

// suite is all that rows are made of.
type suite struct {
	options
	launch   launcher
	settings *settings
	ours     *ingraft
	peer     *peer
	one      string // file with one Deployment
	many     string // file with all Deployments and Services
	asked    int    // reviews made so far, so that no application comes twice
}

func (s *suite) rows() []row {
	return []row{
		{
			name: "process: one Deployment, files given", goal: 10, rounds: s.rounds,
			ours: s.process(s.ingraft, s.settings.arguments(s.one)), peer: s.peerProcess(s.one),
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
			ours: s.process(s.ingraft, s.settings.arguments(s.many)), peer: s.peerProcess(s.many),
			says: `One stream of Deployments, each followed by its Service, through the whole process. Documents are
worked on by all cores and written in order. Peak memory does not grow with the stream: beyond
8 MiB input and output go through temporary files.`,
		},
		{
			name: "command in process: one Deployment", rounds: s.rounds,
			ours: s.command(s.one, 10), peer: s.peerCommand(s.one, 10),
			says: `What is left of the first row once a process has started and everything in it has been used
before: the three files are read and compiled anew for each run. ingraft parses only the template
that a pod asks for.`,
		},
		{
			name: "command in process: " + s.manyWords(), rounds: s.heavyRounds(),
			ours: s.command(s.many, 1), peer: s.peerCommand(s.many, 1),
			says: `The stream again, without start and exit of the process.`,
		},
		{
			name: "webhook handler: distinct pods", goal: 30, rounds: s.rounds,
			ours: s.admit(s.ours.handler, false), peer: s.admit(s.peer.handler, false),
			says: `A pod each of applications that were never seen before, of different shapes: the request as an
API server sends it, to the answer with the patch, through the http.Handler of each side, after the
configuration was compiled. There is no transport on either side.`,
		},
		{
			name: "webhook handler: replicas of one application", goal: 200, rounds: s.rounds,
			ours: s.admit(s.ours.handler, true), peer: s.admit(s.peer.handler, true),
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
	return s.process(s.istioctl, append(s.settings.arguments(input), "--revision", revision))
}

func (s *suite) command(input string, times int64) func() (cost, error) {
	return repeated(times, func() (int64, error) { return command(s.settings.arguments(input)) })
}

func (s *suite) peerCommand(input string, times int64) func() (cost, error) {
	return repeated(times, func() (int64, error) { return peerCommand(s.settings, input) })
}

// repeated measures a function over several calls.
func repeated(times int64, f func() (int64, error)) func() (cost, error) {
	return func() (cost, error) {
		c, err := inProcess(func() (out int64, err error) {
			for range times {
				n, err := f()
				if err != nil {
					return 0, err
				}
				out += n
			}
			return out, nil
		})
		return c.per(times), err
	}
}

// admit measures the answers to a batch of reviews, per review.
func (s *suite) admit(handler http.Handler, replicas bool) func() (cost, error) {
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
		c, err := inProcess(func() (out int64, err error) {
			for _, r := range reviews {
				text, err := admit(handler, r)
				if err != nil {
					return 0, err
				}
				out += int64(len(text))
			}
			return out, nil
		})
		return c.per(int64(s.batch)), err
	}
}
