package diag

import "sort"

// Code describes one kind of finding. The table of codes is what
// documentation is generated from; SARIF logs carry it as rules.
type Code struct {
	// ID is the code itself: IGF0001.
	ID string
	// Severity is what findings of this code have by default.
	Severity Severity
	// Title names the kind of finding in a few words.
	Title string
	// Explanation says in a sentence or two what is wrong and what it causes.
	Explanation string
}

// The codes of ingraft itself are numbered by the room that finds them:
//
//	IGF00xx  reading documents (source, cli)
//	IGF01xx  objects and pod templates (kube)
//	IGF02xx  configuration documents, injection configuration (config)
//	IGF03xx  values within mesh configuration, proxy configuration and values (config)
//	IGF04xx  templates (tmpl)
//	IGF05xx  annotations and labels (annot)
//	IGF06xx  injection of a pod (inject)
//	IGF07xx  charts (chart)
//	IGF08xx  what an install is made from (manifest)
//
// A code is never given a second meaning, and a number once used is not used
// again.
const (
	// CodeSyntax: bytes that are no YAML or JSON document.
	CodeSyntax = "IGF0001"
	// CodeNotObject: a document that is a scalar or an array.
	CodeNotObject = "IGF0002"
	// CodeNoKind: an object without apiVersion or kind.
	CodeNoKind = "IGF0003"
	// CodeDuplicateKey: a key that an object holds twice.
	CodeDuplicateKey = "IGF0004"
	// CodeSkipped: a workload that nothing was injected into.
	CodeSkipped = "IGF0005"
	// CodeWord: a word that YAML takes for true or false, or a key that it
	// takes for something else than its text.
	CodeWord = "IGF0006"
	// CodeNumber: a number that is read as another than it seems.
	CodeNumber = "IGF0007"
	// CodeTag: a tag that Kubernetes does not know.
	CodeTag = "IGF0008"
	// CodeNoRecord: an injected document without a record to undo that by.
	CodeNoRecord = "IGF0011"
	// CodeStaleRecord: a record of an injection that no longer fits.
	CodeStaleRecord = "IGF0012"
	// CodeGuess: a guess at what an injection without record has changed.
	CodeGuess = "IGF0013"
	// CodeNoPatch: an object that a patch of the form asked for cannot be made for.
	CodeNoPatch = "IGF0014"
)

// codes is sorted by ID.
var codes = [...]Code{
	{
		CodeSyntax, Error, "document that cannot be read",
		"The text is neither YAML nor JSON, so that nothing can be said about what it holds. Nothing is written.",
	},
	{
		CodeNotObject, Error, "document that is no object",
		"A document of a Kubernetes manifest is an object with apiVersion and kind; this one is a string, a number or a list.",
	},
	{
		CodeNoKind, Error, "object without apiVersion or kind",
		"The API server takes objects by apiVersion and kind; without them it cannot be told what the document is.",
	},
	{
		CodeDuplicateKey, Warning, "key given twice",
		"An object holds a key more than once. Kubernetes keeps the last one, and the others have no effect.",
	},
	{
		CodeSkipped, Info, "workload that was skipped",
		"A rule keeps the sidecar out of the workload: the finding names the rule and what it saw. With --strict the command fails.",
	},
	{
		CodeWord, Warning, "word that YAML takes for true or false",
		"Kubernetes reads YAML 1.1, where y, n, yes, no, on and off without quotes are booleans, as keys and as values. Newer YAML tools keep them as text.",
	},
	{
		CodeNumber, Warning, "number that is read as another",
		"Kubernetes reads YAML 1.1, where a leading zero makes a number octal and underscores are left out; and no number has more digits than fit into 64 bits.",
	},
	{
		CodeTag, Warning, "tag without meaning",
		"The tag (!name) belongs to some other tool. Kubernetes reads the value as if the tag were not there.",
	},
	{
		CodeNoRecord, Warning, "injection without undo record",
		"What injection changes is spread over all of the document, and a record that puts every byte back would be as long as the document.",
	},
	{
		CodeStaleRecord, Warning, "undo record that no longer fits",
		"Somebody changed what injection had changed, or the annotation ingraft.io/undo itself. What the record says is put back; what it cannot tell stays.",
	},
	{
		CodeGuess, Warning, "guess at the original",
		"The workload was injected by another tool, or its undo record is gone. What injection added is told by its names and values, and might be yours.",
	},
	{
		CodeNoPatch, Error, "object that cannot be patched so",
		"Patches of this form do not exist for the object: strategic ones are for the kinds of Kubernetes itself, and kustomize finds objects by name.",
	},
	{
		"IGF0101", Error, "workload without pod template",
		"A workload makes its pods from its pod template. There is none where its kind keeps it, so there is nothing to inject into.",
	},
	{
		"IGF0102", Error, "value of the wrong type",
		"Kubernetes wants another type in the field: a number instead of text, an object instead of a list. The API server would refuse the object.",
	},
	{
		"IGF0103", Warning, "string without quotes",
		"YAML reads the text as a number, true or false, where Kubernetes wants a string. It is taken as a string here, but the API server refuses the object.",
	},
	{
		"IGF0104", Warning, "field name in the wrong case",
		"The key differs from a field of Kubernetes only in upper and lower case. The API server does not take it for the field.",
	},
	{
		"IGF0105", Warning, "pod template without containers",
		"The pod has no container of its own, so that it would consist of the sidecar only. The API server refuses a pod without containers; most often the list stands at another level.",
	},
	{
		"IGF0201", Error, "configuration file of another kind",
		"The file holds something else than what the flag asks for: the values where the injection configuration is wanted, say.",
	},
	{
		"IGF0202", Error, "configuration that is missing or empty",
		"A ConfigMap lacks the key that would hold the configuration, or the configuration has no templates, so that nothing can be injected.",
	},
	{
		"IGF0203", Error, "injection configuration of another generation",
		"Until release 1.8 an injection configuration had one template, of another kind than the templates that newer ones have. The release asked for cannot read this one.",
	},
	{
		"IGF0204", Warning, "label selector that is not valid",
		"Kubernetes does not accept the label selector. The injector passes over it, so that it neither prevents nor forces injection.",
	},
	{
		"IGF0205", Warning, "part of the injection configuration that does nothing",
		"The key, selector or alias is read by no release, hidden by another, or selects nothing.",
	},
	{
		"IGF0206", Warning, "part of the injection configuration that will stop working",
		"The release that the configuration is of reads it, and a later one, which the finding names, does not any more. It is a warning where that is the next one.",
	},
	{
		"IGF0207", Error, "name of a template that does not exist",
		"The default templates or an alias name a template that the configuration does not have. Pods that get it are refused.",
	},
	{
		"IGF0208", Warning, "field of a template that Kubernetes does not have",
		"The text of a template has a key that no field of a pod has at that place. Releases since 1.9 drop it without a word; of what older ones append, ingraft refuses it.",
	},
	{
		"IGF0301", Error, "configuration value of the wrong type",
		"The control plane cannot read the value: it has another type than the field, or is none of the names that the field knows.",
	},
	{
		"IGF0302", Warning, "unknown field of the configuration",
		"The control plane does not know the field and ignores it without a word. Most often its name is misspelt or it stands at the wrong level.",
	},
	{
		"IGF0303", Error, "configuration value that the control plane refuses",
		"The value has the right type, but the control plane's own checks refuse it.",
	},
	{
		"IGF0304", Warning, "configuration field without effect",
		"The control plane reads the field and then drops it.",
	},
	{
		"IGF0305", Warning, "configuration value that the control plane warns of",
		"The value is deprecated, given twice or not known. The control plane takes it, and logs a warning.",
	},
	{
		"IGF0401", Error, "template that cannot be parsed",
		"The text of an injection template is no Go template: a brace, an end or a quote is missing, say.",
	},
	{
		"IGF0402", Error, "function or field that templates do not have",
		"The template asks for a function or a field that the release does not offer: it is misspelt, or written for a newer release.",
	},
	{
		"IGF0403", Error, "template function without a reproducible result",
		"The template calls a function whose result differs from one rendering to the next, or that looks outside: random strings, keys, name look-ups.",
	},
	{
		"IGF0404", Error, "template that fails when it is executed",
		"The template's own logic fails for the pod: a function refuses its arguments, or the template itself calls fail.",
	},
	{
		"IGF0405", Error, "template beyond the limits",
		"The template is too large, does not end, or writes more than a pod can hold.",
	},
	{
		"IGF0406", Error, "values that lack what a template needs",
		"The template reads a path of the values that is not there. The pod is innocent: the values belong to another release, or are incomplete.",
	},
	{
		"IGF0501", Error, "annotation value that the injector refuses",
		"The injector refuses a pod whose annotation has a value of this form, so that the workload gets no pods.",
	},
	{
		"IGF0601", Warning, "injection wish that is neither true nor false",
		"The label or annotation sidecar.istio.io/inject has a value that means nothing. It counts as not set, so that the policy decides.",
	},
	{
		"IGF0602", Warning, "status annotation that cannot be read",
		"Injection writes the annotation to know what it added. This one is not its own, or was damaged; it is written anew.",
	},
	{
		"IGF0603", Error, "overrides annotation that cannot be read",
		"Injection saves the user's version of the sidecar in this annotation. It is no JSON of containers, so that the sidecar cannot be made as the user wanted it.",
	},
	{
		"IGF0604", Error, "injection template that does not exist",
		"The pod, or the configuration's default, asks for a template that the injection configuration does not hold.",
	},
	{
		"IGF0605", Error, "rendered template that is no part of a pod",
		"What a template makes of the pod is not YAML, has a value of the wrong type, or cannot be merged.",
	},
	{
		"IGF0606", Error, "annotation text that changes the rendered structure",
		"A quote, a line break or a comment sign in the annotation ends the value that the template makes of it. The rest would become part of the pod: lost at best, a container's argument at worst.",
	},
	{
		"IGF0607", Warning, "volume name that the sidecar uses too",
		"The pod has a volume of a name that a template has as well. Where its source is of another kind, the pod's is used, by the sidecar too; where it is of the same kind, the template changes it, so that who mounts it finds other data.",
	},
	{
		"IGF0608", Info, "probe that is left alone",
		"The probe works better as it is: its port is not redirected to the sidecar, does not exist, or is the sidecar's own.",
	},
	{
		"IGF0609", Warning, "list of metrics ports that cannot be read",
		"The annotation prometheus.istio.io/scrape-targets is no list of port:path. It is ignored.",
	},
	{
		"IGF0610", Error, "metrics port that cannot be scraped",
		"The agent would scrape the application's metrics from a port that is no number, or that belongs to the mesh.",
	},
	{
		"IGF0611", Warning, "default resources lost to one annotation",
		"One annotation about the sidecar's resources replaces all defaults, requests and limits of CPU and memory alike.",
	},
	{
		"IGF0612", Warning, "label made by injection that is not valid",
		"A label that the template sets is too long or has characters that the API server refuses. Templates of older releases cut names in the wrong place.",
	},
	{
		"IGF0613", Info, "template without native sidecar",
		"Native sidecars are on, but the template runs its proxy as an ordinary container, so that init containers run without it.",
	},
	{
		"IGF0614", Warning, "mount of the sidecar without a volume",
		"The sidecar mounts a volume that the pod does not have. The API server refuses such a pod.",
	},
	{
		"IGF0615", Info, "pull secrets that hide those of the service account",
		"A pod that lists pull secrets does not use those of its service account. Injection adds a list to a pod that had none.",
	},
	{
		"IGF0616", Warning, "sidecar that the namespace's Pod Security level forbids",
		"The API server will refuse the pod, since an injected container breaks a rule of the level that the namespace enforces.",
	},
	{
		"IGF0617", Warning, "placeholder image that stays",
		"The image auto stands for the template's. Nothing replaced it, and it cannot be pulled.",
	},
	{
		"IGF0618", Warning, "port that the sidecar needs",
		"A container of the application listens on a port that the sidecar uses in the same pod; one of them will not start.",
	},
	{
		"IGF0619", Warning, "application that runs as the sidecar's user",
		"Redirection makes an exception for the sidecar's user. An application that runs as that user is not in the mesh.",
	},
	{
		"IGF0620", Warning, "sidecar with an image of the pod's own",
		"The pod's own container istio-proxy names an image, which replaces the one of the mesh.",
	},
	{
		"IGF0621", Warning, "policy for DNS that may hide the control plane",
		"The sidecar finds the control plane by a name of the cluster's DNS, which the pod's policy may not ask.",
	},
	{
		"IGF0622", Info, "probe that becomes a request to the agent",
		"The agent answers the kubelet over HTTP and asks the application the way that the probe said.",
	},
	{
		"IGF0623", Warning, "annotation or label that the mesh does not have",
		"The name looks like one of the mesh's, but is none. Most often it is misspelt; it has no effect.",
	},
	{
		"IGF0624", Warning, "annotation or label value of another form",
		"The mesh reads values of another form from this annotation or label, and takes this one for not set, or passes it on unread.",
	},
	{
		"IGF0625", Warning, "key of a user volume that does not exist",
		"The annotation describes a volume or a mount with a key that Kubernetes does not have at that place, or a value of another type. The key is ignored, so that the volume may be empty.",
	},
	{
		"IGF0626", Warning, "container of an earlier injection that stays",
		"The status of the pod says that injection added the container, but no template makes it now. It stays, since it could be the user's.",
	},
	{
		"IGF0627", Error, "annotation that makes a template fail",
		"The template reads the annotation, and cannot do anything with a value of this form.",
	},
	{
		"IGF0628", Warning, "label and annotation that contradict",
		"Two settings of the pod answer one question differently. Only one of them counts, and the finding says which.",
	},
	{
		"IGF0629", Warning, "setting that stands on the workload instead of its pods",
		"The mesh reads the annotation or label from pods, and pods get those of the pod template. On the workload itself it does nothing.",
	},
	{
		"IGF0630", Warning, "annotation or label without effect",
		"The mesh has the annotation or label, but nothing reads it here: it is for other objects, the pod's template does not know it, or traffic is not redirected.",
	},
	{
		"IGF0631", Info, "annotation that asks for injection",
		"On the command line the annotation counts as the label does. At admission it can keep a sidecar out and not bring one in, since the API server calls the webhook by labels.",
	},
	{
		"IGF0632", Warning, "probe that the sidecar gets in the way of",
		"The kubelet's probe meets the sidecar instead of the application, or an agent that is not there yet, or it asks another host for the agent. It fails although the application is well, or passes although it is not.",
	},
	{
		"IGF0633", Warning, "container name that the injection template has too",
		"The template's container and the pod's become one, which is seldom what was meant: the template's command, image and rights in the pod's container.",
	},
	{
		"IGF0634", Warning, "native sidecar that lost its restart policy",
		"An injected init container runs beside the pod only with restartPolicy: Always. Without it the pod waits for ever for the container to end; most often another webhook or tool dropped a field that it does not know.",
	},
	{
		"IGF0635", Info, "workload that the webhook injects into as well",
		"The namespace asks for injection at admission. The webhook injects its pods again, by its own configuration, which replaces what was injected by hand.",
	},
	{
		"IGF0636", Warning, "proxy configuration that is not applied",
		"From release 1.13 on, ProxyConfig objects are merged into the proxy configuration of the pods of their namespace, or of those that they select. This one is not, or a part of it: it cannot be read, selects nothing, or another one comes before it.",
	},
	{
		"IGF0637", Warning, "probe that the template has too, of another kind",
		"A template gives the pod's container a probe or a lifecycle hook that the pod has as well, and that asks in another way: by httpGet instead of tcpSocket, say. It can ask in one way only; the pod's is used.",
	},
	{
		"IGF0638", Warning, "annotation or label that injection overwrites",
		"A template of the injection configuration sets an annotation or label that the pod has already, to another value. The template's is used, as at admission.",
	},
	{
		"IGF0801", Error, "file that is no IstioOperator",
		"An install is made from IstioOperator objects of install.istio.io/v1alpha1, one a file. What else a file holds would be ignored.",
	},
	{
		"IGF0802", Error, "path that leads nowhere",
		"The path of a setting, an overlay or a folder of charts cannot be followed: what it names does not exist, or is of another form.",
	},
	{
		"IGF0803", Warning, "setting or overlay that matches nothing",
		"The install has no object, item or profile of that name, so that what was written has no effect.",
	},
	{
		"IGF0804", Warning, "list that replaces another",
		"Lists of later files replace those of earlier ones as a whole. Items, or fields of items, that stand only in the earlier file are lost.",
	},
	{
		"IGF0805", Warning, "number that is meant as text",
		"Tags, annotations, labels and variables are text. YAML reads 1.10 without quotes as the number 1.1; here it is taken as it was written.",
	},
	{
		"IGF0806", Error, "gateway without a name of its own",
		"Every gateway needs a name, and one that no other gateway of its namespace has: its Deployment and Service are named after it.",
	},
	{
		"IGF0807", Warning, "what a chart says of its values",
		"The chart refuses the values that it is given, cannot be rendered with them, or warns of them.",
	},
}

// Codes returns the table of ingraft's own codes, sorted by ID. It must not be
// changed.
func Codes() []Code { return codes[:] }

// LookupCode finds a code of the table.
func LookupCode(id string) (Code, bool) {
	i := sort.Search(len(codes), func(i int) bool { return codes[i].ID >= id })
	if i < len(codes) && codes[i].ID == id {
		return codes[i], true
	}
	return Code{}, false
}
