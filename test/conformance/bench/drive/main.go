// Command drive asks a webhook as API servers do, over several connections of
// HTTP/1.1 that are kept, each with the next request as soon as it has the
// answer, and prints how long every answer took, as JSON.
//
// It is a program of its own because that is what a client is: what it does
// must not count as the server's, nor share its collector.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// report is read by the benchmark: times in nanoseconds.
type report struct {
	Took []int64 // by every answer
	Wall int64
}

// hole is what the number of the request is written over in a review.
const hole = "@@@@@"

func main() {
	var (
		url, ca, reviews   string
		connections, first int
		duration           time.Duration
	)
	flag.StringVar(&url, "url", "", "the webhook")
	flag.StringVar(&ca, "ca", "", "file with the certificates to trust, PEM")
	flag.StringVar(&reviews, "reviews", "", "file with a review a line; "+hole+" in it is the number of the request")
	flag.IntVar(&connections, "connections", 8, "requests under way at a time")
	flag.IntVar(&first, "first", 0, "number of the first request")
	flag.DurationVar(&duration, "duration", time.Second, "how long to ask")
	flag.Parse()
	r, err := drive(url, ca, reviews, connections, first, duration)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func drive(url, ca, file string, connections, first int, duration time.Duration) (*report, error) {
	trusted, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("%s holds no certificates", ca)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading reviews: %w", err)
	}
	reviews := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: connections,
	}}
	var (
		next   atomic.Int64
		wait   sync.WaitGroup
		mu     sync.Mutex
		r      report
		failed error
	)
	begin := time.Now()
	for range connections {
		wait.Go(func() {
			var took []int64
			var err error
			for err == nil && time.Since(begin) < duration {
				n := int(next.Add(1)) - 1
				body := bytes.ReplaceAll(reviews[n%len(reviews)], []byte(hole), fmt.Appendf(nil, "%05d", (first+n)%100_000))
				asked := time.Now()
				err = ask(client, url, body)
				took = append(took, int64(time.Since(asked)))
			}
			mu.Lock()
			defer mu.Unlock()
			r.Took = append(r.Took, took...)
			if err != nil {
				failed = err
			}
		})
	}
	wait.Wait()
	r.Wall = int64(time.Since(begin))
	return &r, failed
}

// ask sends a review; the answer must have a patch.
func ask(client *http.Client, url string, body []byte) error {
	answer, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the webhook: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"patch":`)) {
		return fmt.Errorf("a pod was not injected: %s %.300s", answer.Status, text)
	}
	return nil
}
