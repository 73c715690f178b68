package tmpl

import (
	"strings"
	"testing"

	"github.com/ingraft/ingraft/internal/source"
)

func TestShippedTemplates(t *testing.T) {
	for _, file := range []string{"injection-template", "gateway-injection-template", "grpc-simple", "grpc-agent"} {
		t.Run(file, func(t *testing.T) {
			tm, d := Parse(file, shipped(t, file))
			if d != nil {
				t.Fatal(d)
			}
			out, d := tm.Render(testData(t, node(t, helloPod), tm.Needs()), testEnv, nil)
			if d != nil {
				t.Fatal(d)
			}
			overlay, err := source.Parse(source.NewText(file, out))
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if overlay.Root.Get("spec", "containers").Len() == 0 && file != "grpc-simple" {
				t.Errorf("no containers in\n%s", out)
			}
			// A second rendering, on the instance of the first, is the same.
			again, _ := tm.Render(testData(t, node(t, helloPod), tm.Needs()), testEnv, nil)
			if string(again) != string(out) {
				t.Errorf("rendering again gave\n%s", again)
			}
			if tm.program == nil {
				t.Fatal("no program: the template is left to text/template")
			}
			ref, d := tm.Reference().Render(testData(t, node(t, helloPod), tm.Needs()), testEnv, nil)
			if string(ref) != string(out) {
				t.Errorf("text/template gives %v\n%s", d, ref)
			}
			if _, ok := tm.program.render(tm, testData(t, node(t, helloPod), tm.Needs()), testEnv); !ok {
				t.Error("the program gives up")
			}
			// What the needs leave out makes no difference.
			full, _ := tm.Render(testData(t, node(t, helloPod), AllNeeds()), testEnv, nil)
			if string(full) != string(out) {
				t.Errorf("with the whole pod:\n%s", full)
			}
		})
	}
}

func TestSidecarContent(t *testing.T) {
	tm, _ := Parse("sidecar", shipped(t, "injection-template"))
	out, d := tm.Render(testData(t, node(t, helloPod), tm.Needs()), testEnv, nil)
	if d != nil {
		t.Fatal(d)
	}
	for _, want := range []string{
		`service.istio.io/canonical-name: "hello"`,
		`service.istio.io/canonical-revision: "v1"`,
		`kubectl.kubernetes.io/default-container: "hello",`,
		`{"name":"http","containerPort":80}`,
		`,{"containerPort":9090,"protocol":"UDP"}`,
		`value: "hello,side"`,
		`kubernetes://apis/apps/v1/namespaces/shop/deployments/hello`,
		"             {}\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
