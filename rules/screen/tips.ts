// The six help links of the dashboard (spec 2, Dashboard).

import { projectUrl } from '../text/project-url.ts';

export interface Tip {
  readonly title: string;
  readonly text: string;
  readonly url: string;
}

export const tips: readonly Tip[] = [
  {
    title: 'Join the community',
    text: 'Ask people who run clusters and tunnels every day, in the Kubernetes chat.',
    url: 'https://slack.k8s.io/',
  },
  {
    title: 'Kubernetes ingress',
    text: 'Put an ingress controller behind an ingress tunnel and keep your own certificates.',
    url: 'https://kubernetes.github.io/ingress-nginx/user-guide/basic-usage/',
  },
  {
    title: 'A cluster in a minute',
    text: 'Bootstrap a small cluster over SSH with k3sup, then expose it.',
    url: 'https://github.com/alexellis/k3sup',
  },
  {
    title: 'OpenFaaS with TLS',
    text: 'Serve functions on your own domain with a certificate.',
    url: 'https://docs.openfaas.com/reference/tls-openfaas/',
  },
  {
    title: 'SSH over DNS',
    text: 'Reach many SSH hosts by their DNS names, through one ingress tunnel.',
    url: `${projectUrl}/blob/main/docs/ssh.md`,
  },
  {
    title: 'Caddy',
    text: 'A web server with automatic certificates that works well behind an ingress tunnel.',
    url: 'https://caddyserver.com/docs/quick-starts/reverse-proxy',
  },
];
