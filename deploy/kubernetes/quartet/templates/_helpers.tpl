{{/* Names of the agents, and of the MCP servers that each robot has. */}}
{{- define "quartet.agents" -}}
[approach, pick, place, executor]
{{- end }}

{{- define "quartet.servers" -}}
[nav2, moveit, perception, ros]
{{- end }}

{{- define "quartet.labels" -}}
app.kubernetes.io/name: quartet
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .robot }}
quartet/robot: {{ . }}
{{- end }}
{{- end }}

{{/* Of everything that the chart makes. */}}
{{- define "quartet.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "quartet.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "quartet.image" -}}
{{ .root.Values.image.prefix }}{{ .image }}:{{ .root.Values.image.tag }}
{{- end }}

{{/* What every pod keeps to. */}}
{{- define "quartet.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 20
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "quartet.guarded" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* A process that serves HTTP. It lives while its port is open: /health also says what it waits for, such as a Redis
that is away, and a restart would not bring that back. */}}
{{- define "quartet.serving" -}}
image: {{ include "quartet.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{ include "quartet.guarded" . }}
ports:
  - {name: http, containerPort: 8000}
startupProbe:
  tcpSocket: {port: http}
  periodSeconds: 1
  failureThreshold: 90
livenessProbe:
  tcpSocket: {port: http}
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /health, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* Variables of a component: those of all, its `own`, as text, and the settings that values name for it in their place: a
name that stands twice is refused by a cluster that applies on its side. */}}
{{- define "quartet.environment" -}}
{{- $settings := index .root.Values.settings .component | default dict }}
{{- range prepend (fromYamlArray .own) (dict "name" "QUARTET_SECRETS_DIR" "value" "/secrets") }}
{{- if not (hasKey $settings .name) }}
- {{ toJson . }}
{{- end }}
{{- end }}
{{- range $name, $value := $settings }}
{{- $text := toString $value }}
{{- if or (kindIs "map" $value) (kindIs "slice" $value) }}
{{- $text = toJson $value }}
{{- else if and (kindIs "float64" $value) (eq $value (floor $value)) }}
{{- $text = printf "%.0f" $value }}
{{- end }}
- {name: {{ $name }}, value: {{ $text | quote }}}
{{- end }}
{{- end }}

{{- define "quartet.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "quartet.metadata" . | nindent 2 }}
spec:
  selector:
    {{- include "quartet.labels" . | nindent 4 }}
  ports:
    {{- range .ports | default (list (dict "name" "http" "port" 8000)) }}
    - {name: {{ .name }}, port: {{ .port }}, targetPort: {{ .name }}}
    {{- end }}
{{- end }}

{{- define "quartet.gateway-url" -}}
http://{{ .Release.Name }}-gateway:8000
{{- end }}

{{/* MCP endpoints by robot and server, as JSON. */}}
{{- define "quartet.server-urls" -}}
{{- $all := dict -}}
{{- range $robot := .Values.robots -}}
  {{- $urls := dict -}}
  {{- range include "quartet.servers" $ | fromYamlArray -}}
    {{- $_ := set $urls . (printf "http://%s-%s-%s:8000/mcp" $.Release.Name $robot.name .) -}}
  {{- end -}}
  {{- $_ := set $all $robot.name $urls -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{/* HTTP ports of the guards by robot, as JSON. */}}
{{- define "quartet.guard-urls" -}}
{{- $all := dict -}}
{{- range .Values.robots -}}
  {{- $_ := set $all .name (ternary (printf "http://%s-%s-simulation:9091" $.Release.Name .name) .guard (.simulated | default false)) -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{/* Robot and site file of every robot, as JSON: robot -> {robot_file, site_file}. */}}
{{- define "quartet.robot-files" -}}
{{- $all := dict -}}
{{- range .Values.robots -}}
  {{- $_ := set $all .name (dict "robot_file" (printf "/robots/%s/robot.yaml" .name) "site_file" (printf "/robots/%s/site.yaml" .name)) -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{/* Resume of a robot, '' without one. The resume of a site belongs to the site's own robot. */}}
{{- define "quartet.resume" -}}
{{- $files := .robot.files | default dict -}}
{{- $folder := printf "files/sites/%s" (.robot.site | default .root.Values.site) -}}
{{- $own := index $files "robot.yaml" -}}
{{- $text := .root.Files.Get (printf "%s/resume.json" $folder) -}}
{{- $of_site := regexReplaceAll "\"robot_id\": *\"[^\"]*\"" $text (printf "\"robot_id\":%q" .robot.name) -}}
{{- index $files "resume.json" | default (ternary "" $of_site (not (empty $own))) -}}
{{- end }}

{{- define "quartet.robots-volume" -}}
- name: robots
  projected:
    sources:
      {{- range .Values.robots }}
      {{- $robot := .name }}
      - configMap:
          name: {{ $.Release.Name }}-{{ $robot }}-files
          items:
            {{- $resume := include "quartet.resume" (dict "root" $ "robot" .) }}
            {{- range concat (list "robot.yaml" "site.yaml") (ternary (list) (list "resume.json") (empty $resume)) }}
            - {key: {{ . }}, path: {{ $robot }}/{{ . }}}
            {{- end }}
      {{- end }}
{{- end }}

{{/* The secrets of one process, which are no other's. */}}
{{- define "quartet.secrets-volume" -}}
- name: secrets
  secret: {secretName: {{ .root.Release.Name }}-{{ .process }}, defaultMode: 288}
{{- end }}

{{- define "quartet.tmp-volume" -}}
- name: tmp
  emptyDir: {medium: Memory, sizeLimit: 64Mi}
{{- end }}

{{/* Changes when files do, so that pods are made anew. */}}
{{- define "quartet.files-digest" -}}
{{ include (print $.Template.BasePath "/files.yaml") . | sha256sum }}
{{- end }}

{{/* What must outlive a pod. */}}
{{- define "quartet.claim" -}}
- metadata: {name: state}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .Values.storage.className }}
    storageClassName: {{ . }}
    {{- end }}
    resources: {requests: {storage: {{ .Values.storage.size }}}}
{{- end }}
