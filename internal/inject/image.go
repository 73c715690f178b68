package inject

import (
	"strings"

	"github.com/ingraft/ingraft/internal/annot"
	"github.com/ingraft/ingraft/internal/source"
)

// defaultImage is the name of the image that both the proxy and the init
// container run where the values name no other.
const defaultImage = "proxyv2"

// sidecarImage returns the image of the sidecar (template field ProxyImage).
// imageType is that of the proxy configuration.
func (s *settings) sidecarImage(imageType string, annotations *source.Node) string {
	return s.image(s.proxyImage, imageType, annotations)
}

// redirectImage returns the image of the init container (template field
// ProxyInitImage).
func (s *settings) redirectImage(annotations *source.Node) string {
	return s.image(s.initImage, "", annotations)
}

// image writes hub/name:tag, the tag with the image type as its suffix. The
// type is that of the pod's annotation, even if empty; else the one given;
// else the values' variant.
func (s *settings) image(name, imageType string, annotations *source.Node) string {
	if name == "" {
		name = defaultImage
	}
	if imageType == "" {
		imageType = s.variant
	}
	if n := annotations.Get(annot.SidecarProxyImageType); !n.IsNull() {
		imageType = n.Scalar()
	}
	return s.hub + "/" + name + ":" + typedTag(s.tag, imageType)
}

// typedTag puts an image type behind a tag, in place of one that is there. The
// type "default" is written without a suffix; no type leaves the tag alone.
func typedTag(tag, imageType string) string {
	if imageType == "" {
		return tag
	}
	for _, known := range [...]string{"-distroless", "-debug"} {
		if rest, ok := strings.CutSuffix(tag, known); ok {
			tag = rest
			break
		}
	}
	if imageType == "default" {
		return tag
	}
	return tag + "-" + imageType
}
