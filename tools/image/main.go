// Command image writes ingraft as a container image, without a container
// engine: an archive of OCI's image layout, with an image for each platform.
// The same sources, version of Go and flags give the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.module, "module", ".", "folder of ingraft's module")
	flag.StringVar(&o.out, "o", "ingraft-image.tar", "archive to write")
	flag.StringVar(&o.repository, "repository", "ghcr.io/ingraft/ingraft", "name of the image, to which the version is added")
	flag.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "platforms, the one for docker load first")
	flag.Parse()
	digest, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %s\n", o.out, digest)
}

type options struct{ module, out, repository, platforms string }

// run builds the programs and writes the archive. It returns the name of the
// image with its digest.
func run(ctx context.Context, o options) (name string, err error) {
	// Found out first: building takes a while.
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return "", fmt.Errorf("writing %s: %w", o.out, err)
	}
	folder, err := os.MkdirTemp("", "ingraft-image-")
	if err != nil {
		return "", fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	about, err := describe(o.module)
	if err != nil {
		return "", err
	}
	var images []platformImage
	for text := range strings.SplitSeq(o.platforms, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return "", fmt.Errorf("reading platform %q: %w", text, err)
		}
		file := filepath.Join(folder, strings.ReplaceAll(text, "/", "-"))
		if err := build(ctx, o.module, file, platform); err != nil {
			return "", err
		}
		img, err := newImage(file, platform, about)
		if err != nil {
			return "", fmt.Errorf("making the image for %s: %w", text, err)
		}
		images = append(images, platformImage{img, platform})
	}
	index := newIndex(images, about)
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("making the index of images: %w", err)
	}
	reference := o.repository + ":" + about.version
	if err := writeArchive(o.out, filepath.Join(folder, "layout"), reference, index, images); err != nil {
		return "", fmt.Errorf("writing %s: %w", o.out, err)
	}
	return reference + "@" + digest.String(), nil
}
