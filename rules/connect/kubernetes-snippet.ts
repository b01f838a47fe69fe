// The Kubernetes tab: a Secret with the token, mounted as a file, and a Deployment of the client (spec 2 and 9).

import { type ConnectTunnel, type ConnectUpstreams, commandGroups } from './command.ts';
import { resourceName } from './resource-name.ts';
import { joinSections, type Snippet } from './snippet.ts';
import { quoteContainerArgument, quoteYamlScalar } from './yaml-scalar.ts';

const imageRepository = 'ghcr.io/underpass/underpass';
const userId = 1000;
/** Written in decimal: YAML 1.1 and 1.2 read `0400` as two different numbers. */
const ownerReadsOnly = 0o400;
const tokenDirectory = '/var/run/secrets/underpass';

export function renderKubernetesSnippet(tunnel: ConnectTunnel, upstreams: ConnectUpstreams): Snippet {
  const name = `underpass-${resourceName(tunnel.name)}`;
  return joinSections([
    { language: 'yaml', text: `${renderSecret(name, tunnel.token)}---\n${renderDeployment(name, tunnel, upstreams)}` },
  ]);
}

function renderSecret(name: string, token: string): string {
  return `apiVersion: v1
kind: Secret
metadata:
  name: ${quoteYamlScalar(name)}
type: Opaque
stringData:
  token: ${quoteYamlScalar(token)}
`;
}

/** The Secret's file is root's; fsGroup makes it readable to the client's group and to nobody else. */
function renderDeployment(name: string, tunnel: ConnectTunnel, upstreams: ConnectUpstreams): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${quoteYamlScalar(name)}
spec:
  replicas: 1
  selector:
    matchLabels:
      app: ${quoteYamlScalar(name)}
  template:
    metadata:
      labels:
        app: ${quoteYamlScalar(name)}
    spec:
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: ${userId}
        runAsGroup: ${userId}
        fsGroup: ${userId}
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: underpass
          image: ${quoteYamlScalar(`${imageRepository}:${tunnel.underpassVersion}`)}
          args:
${renderArguments(tunnel, upstreams)}
          resources:
            requests:
              memory: 25Mi
              cpu: 100m
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ["ALL"]
          volumeMounts:
            - name: token
              mountPath: ${tokenDirectory}
              readOnly: true
      volumes:
        - name: token
          secret:
            secretName: ${quoteYamlScalar(name)}
            defaultMode: ${ownerReadsOnly}
`;
}

function renderArguments(tunnel: ConnectTunnel, upstreams: ConnectUpstreams): string {
  const tokenFile = quoteContainerArgument(`${tokenDirectory}/token`);
  const keyFile = quoteContainerArgument(`${tokenDirectory}/reach.pem`);
  const groups = commandGroups(tunnel, upstreams, { quote: quoteContainerArgument, tokenFile, keyFile });
  return groups
    .flat()
    .map((word) => `            - ${word}`)
    .join('\n');
}
