package tmpl

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ingraft/ingraft/internal/config"
	"github.com/ingraft/ingraft/internal/release"
	"github.com/ingraft/ingraft/internal/source"
)

// Templates of releases until 1.16 read how long the proxy's old process lives
// on; the releases after them have no such field.
func TestParentShutdownDuration(t *testing.T) {
	for r, want := range map[release.Release]bool{
		release.V(1, 2): true, release.V(1, 6): true, release.V(1, 7): true,
		release.V(1, 16): true, release.V(1, 17): false, release.V(1, 31): false,
	} {
		text := `a: {{ formatDuration .ProxyConfig.ParentShutdownDuration }} {{ .DeploymentMeta.Name }} {{ .ProxyConfig.BinaryPath }}`
		tm, d := DialectOf(r).Parse("sidecar", source.NewText("t", []byte(text)))
		if d != nil {
			t.Fatal(r, d)
		}
		data := testData(t, nil, Needs{})
		data.SetFormer(&Former{Config: config.Former{Proxy: config.FormerProxy{ParentShutdownDuration: durationpb.New(45 * time.Second)}}})
		out, bad := tm.Render(data, testEnv, nil)
		if (bad == nil) != want {
			t.Errorf("%s: %v", r, bad)
		} else if line := "a: 45s " + data.DeploymentMeta.Name + " " + data.ProxyConfig.BinaryPath; want && string(out) != line {
			t.Errorf("%s: %q, want %q", r, out, line)
		}
	}
}
