{{- define "underpass.name" -}}
{{- printf "%s" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "underpass.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "underpass.labels" -}}
app.kubernetes.io/name: underpass
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Joins `over` into `base`, key by key; gives JSON. Helm's own merge ignores false and 0. */}}
{{- define "underpass.join" -}}
{{- $joined := dict -}}
{{- range $key, $value := .base }}{{ $_ := set $joined $key $value }}{{ end -}}
{{- range $key, $value := .over -}}
{{- $old := get $joined $key -}}
{{- if and (kindIs "map" $value) (kindIs "map" $old) -}}
{{- $_ := set $joined $key (include "underpass.join" (dict "base" $old "over" $value) | fromJson) -}}
{{- else -}}
{{- $_ := set $joined $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $joined -}}
{{- end -}}

{{- define "underpass.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "underpass.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* How many pods, if it is not the autoscaler's: takes the root as `root`, the values as `values`, and the Deployment's name.
     Without a number, an upgrade that switches the autoscaler on would first set one pod. The autoscaler goes on from those that run. */}}
{{- define "underpass.replicas" -}}
{{- if not .values.autoscaling.enabled -}}
replicas: {{ .values.replicas }}
{{- else -}}
{{- with lookup "apps/v1" "Deployment" .root.Release.Namespace .name -}}
replicas: {{ int .spec.replicas }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What every pod needs. Takes the root as `root` and the name of the service account as `account`. */}}
{{- define "underpass.pod" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
# Kubernetes would add variables that look like settings, such as UNDERPASS_CONTROL_PORT.
enableServiceLinks: false
securityContext:
  {{- include "underpass.podSecurity" .root | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where pods run. Takes the root as `root`, the values as `values`, and the labels of equal pods as `labels`. */}}
{{- define "underpass.placement" -}}
# Counts only pods of one rollout, so that the old pods do not push the new ones together.
topologySpreadConstraints:
  {{- $labels := .labels }}
  {{- range $key, $unsatisfiable := dict "kubernetes.io/hostname" .root.Values.spread.node "topology.kubernetes.io/zone" .root.Values.spread.zone }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $unsatisfiable }}
    matchLabelKeys: ["pod-template-hash"]
    labelSelector:
      matchLabels:
        {{- $labels | nindent 8 }}
  {{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "underpass.mounts" -}}
- name: home
  mountPath: /var/lib/underpass
- name: tmp
  mountPath: /tmp
- name: secrets
  mountPath: /run/secrets/underpass
  readOnly: true
{{- end -}}

{{/* Takes the name of the Secret as `secret` and the keys to mount as `keys`: a missing key shows in the pod's events. */}}
{{- define "underpass.volumes" -}}
- name: home
  emptyDir: {}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
- name: secrets
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
    items:
      {{- range .keys }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end -}}

{{- define "underpass.controlKeys" -}}
{{- concat (list "database-url" "nats-url" "smtp-url" "master-key") .Values.secretKeys | uniq | toJson -}}
{{- end -}}

{{/* A number of a values file is a float: without this, 1000000 becomes 1e+06. */}}
{{- define "underpass.plainEnv" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ (kindIs "float64" $value | ternary (int64 $value) $value) | quote }}
{{- end }}
{{- end -}}

{{- define "underpass.anyAddress" -}}
{{ ternary "::" "0.0.0.0" (eq .Values.ipFamily "ipv6") | quote }}
{{- end -}}

{{/* Secrets reach a process as files, never as values of its environment. */}}
{{- define "underpass.controlEnv" -}}
- name: UNDERPASS_ROLE
  value: control
- name: UNDERPASS_PRODUCTION
  value: "true"
- name: UNDERPASS_HOME
  value: /var/lib/underpass
- name: UNDERPASS_ORIGIN
  value: {{ .Values.origin | quote }}
- name: UNDERPASS_OPERATOR_EMAIL
  value: {{ .Values.operatorEmail | quote }}
- name: UNDERPASS_MAIL_FROM
  value: {{ .Values.mailFrom | quote }}
- name: UNDERPASS_ACME_DIRECTORY
  value: {{ .Values.acme.directory | quote }}
{{- with .Values.acme.email }}
- name: UNDERPASS_ACME_EMAIL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.control.trustedProxies }}
- name: UNDERPASS_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
- name: UNDERPASS_REPLICAS
  value: {{ (ternary .Values.control.autoscaling.maxReplicas .Values.control.replicas .Values.control.autoscaling.enabled) | quote }}
- name: UNDERPASS_METRICS_LISTEN
  value: {{ include "underpass.anyAddress" . }}
- name: UNDERPASS_METRICS_PORT
  value: "9400"
- name: DATABASE_URL_FILE
  value: /run/secrets/underpass/database-url
- name: NATS_URL_FILE
  value: /run/secrets/underpass/nats-url
- name: SMTP_URL_FILE
  value: /run/secrets/underpass/smtp-url
- name: UNDERPASS_MASTER_KEY_FILE
  value: /run/secrets/underpass/master-key
{{- range .Values.secretKeys }}
- name: UNDERPASS_{{ . | upper | replace "-" "_" }}_FILE
  value: /run/secrets/underpass/{{ . }}
{{- end }}
{{- with .Values.control.env }}
{{- include "underpass.plainEnv" . }}
{{- end }}
{{- end -}}
