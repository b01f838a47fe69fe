import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { maskToken } from '../tunnel/token-mask.ts';
import { parseHttpUpstream, parseIngressUpstream, parseIngressUpstreams, parseTcpService } from '../tunnel/upstream.ts';
import {
  type ConnectInputs,
  connectErrors,
  defaultConnectInputs,
  parseConnectSnippet,
  renderConnectSnippet,
} from './connect-form.ts';
import { ingressPresets, parseServiceName, presetOf, serviceHost } from './ingress-preset.ts';
import { resourceName } from './resource-name.ts';
import { type SnippetTab, snippetTabs } from './snippet.ts';
import { hostileText, hostileValues, plainTunnel } from './test-kit.ts';

const http = (upstream: string): ConnectInputs => ({ type: 'http', upstreams: [{ domain: 'example.com', upstream }] });
const ingress = (inputs: Partial<{ upstream: string; service: string; namespace: string }>): ConnectInputs => ({
  type: 'ingress',
  upstream: '127.0.0.1',
  service: 'traefik',
  namespace: 'kube-system',
  ...inputs,
});
function wordsOf(upstream: string): readonly string[] {
  const parsed = parseIngressUpstreams(upstream);
  return parsed.ok ? parsed.value : assert.fail(parsed.message);
}
const tabs = snippetTabs.map((tab) => tab.id);

test('the tabs are Kubernetes YAML, CLI and systemd', () => {
  assert.deepEqual(
    snippetTabs.map((tab) => tab.label),
    ['Kubernetes YAML', 'CLI', 'systemd'],
  );
});

test('the defaults can be copied at once, in every tab', (t) => {
  const tunnels = [
    { name: 'shop', type: 'http', ingressDomains: [{ name: 'example.com' }, { name: 'www.example.com' }] },
    { name: '1'.repeat(252), type: 'http', ingressDomains: [{ name: 'example.com' }] },
    { name: 'shop', type: 'ingress', ingressDomains: [{ name: 'example.com' }] },
  ] as const;
  eachCase(t, tunnels, (tunnel) => {
    for (const tab of tabs) assert.deepEqual(connectErrors(defaultConnectInputs(tunnel, tab), tab), {});
  });
});

test('the default upstream is this machine, or in a cluster the service named like the tunnel', () => {
  const tunnel = { name: 'shop', type: 'http', ingressDomains: [{ name: 'example.com' }] } as const;
  const defaults = { kubernetes: 'http://shop.default.svc.cluster.local:80', cli: 'http://127.0.0.1:8080' };
  for (const tab of ['kubernetes', 'cli'] as const) assert.deepEqual(defaultConnectInputs(tunnel, tab), http(defaults[tab]));
});

test('the presets are those of the spec, and all but custom are complete', () => {
  assert.deepEqual(
    ingressPresets.map(({ name, service, namespace }) => [name, service, namespace]),
    [
      ['ingress-nginx', 'ingress-nginx-controller', 'default'],
      ['istio', 'istio-ingress-gateway', 'istio-system'],
      ['traefik', 'traefik', 'kube-system'],
      ['custom', '', ''],
    ],
  );
  for (const preset of ingressPresets) assert.equal(parseServiceName(preset.service).ok, preset.name !== 'custom');
});

test('edited values of a preset are custom', () => {
  for (const preset of ingressPresets) assert.equal(presetOf(preset), preset);
  assert.equal(presetOf({ service: 'traefik', namespace: 'edge' }).name, 'custom');
});

test('each preset is dialled by its cluster name, and a service without namespace by its own', (t) => {
  const rows: [string, string, string][] = [
    ['ingress-nginx-controller', 'default', 'ingress-nginx-controller.default.svc.cluster.local'],
    ['traefik', 'kube-system', 'traefik.kube-system.svc.cluster.local'],
    ['mine', '', 'mine'],
  ];
  eachCase(t, rows, ([service, namespace, host]) => {
    assert.equal(serviceHost({ service, namespace }), host);
    assert.ok(renderConnectSnippet(plainTunnel, ingress({ service, namespace }), 'kubernetes').text.includes(`- "${host}"`));
    assert.equal(parseIngressUpstream(host).ok, true);
  });
});

test('an input is judged only if its tab shows it', (t) => {
  const provide = 'Please provide an upstream';
  const rows: [ConnectInputs, SnippetTab, Record<string, string>][] = [
    [http(''), 'cli', { 'example.com': provide }],
    [http(' '), 'kubernetes', { 'example.com': provide }],
    [http('https://127.0.0.1'), 'systemd', { 'example.com': 'Upstream must start with http://' }],
    [http('127.0.0.1:8080'), 'kubernetes', { 'example.com': 'Upstream must start with http://' }],
    [http('http://$(id)'), 'cli', { 'example.com': 'Upstream must be like http://127.0.0.1:8080' }],
    [http('http://web:8080'), 'cli', {}],
    [ingress({ upstream: '' }), 'cli', { upstream: provide }],
    [ingress({ upstream: '' }), 'systemd', { upstream: provide }],
    [ingress({ upstream: '' }), 'kubernetes', {}],
    [ingress({ upstream: ' , ' }), 'cli', { upstream: provide }],
    [ingress({ upstream: '80=127.0.0.1:8080 443=127.0.0.1:9443' }), 'cli', {}],
    [ingress({ upstream: '80=127.0.0.1:8080, 443=127.0.0.1:9443' }), 'systemd', {}],
    [ingress({ upstream: '80=a:1 80=b:2' }), 'cli', { upstream: 'Two upstreams for port 80' }],
    [ingress({ upstream: '127.0.0.1 443=b:2' }), 'cli', { upstream: 'Two upstreams for port 443' }],
    [ingress({ upstream: '80=a:1 443=b:x' }), 'cli', { upstream: 'Upstream must be like 127.0.0.1:8443' }],
    [ingress({ service: '' }), 'cli', {}],
    [ingress({ service: ' ' }), 'kubernetes', { service: 'Please provide an ingress service name' }],
    [ingress({ service: 'a.b' }), 'kubernetes', { service: 'Service name must be lowercase letters, digits and hyphens' }],
    [
      ingress({ service: 's'.repeat(64) }),
      'kubernetes',
      { service: 'Service name must be lowercase letters, digits and hyphens' },
    ],
    [ingress({ namespace: '' }), 'kubernetes', {}],
    [ingress({ namespace: 'A' }), 'kubernetes', { namespace: 'Namespace must be lowercase letters, digits and hyphens' }],
  ];
  eachCase(t, rows, ([inputs, tab, errors]) => assert.deepEqual(connectErrors(inputs, tab), errors));
});

test('a wrong input makes no snippet for a caller that accepts only a correct one', () => {
  assert.deepEqual(parseConnectSnippet(plainTunnel, http(''), 'cli'), {
    ok: false,
    message: 'example.com: Please provide an upstream',
  });
  assert.equal(parseConnectSnippet(plainTunnel, http('http://web'), 'cli').ok, true);
});

test('an upstream for each port is an argument for each, apart by a space or a comma', (t) => {
  const both = /--upstream "?80=127\.0\.0\.1:8080"? \\\n {2}--upstream "?443=127\.0\.0\.1:9443"?\n/;
  eachCase(t, ['80=127.0.0.1:8080 443=127.0.0.1:9443', ' 80=127.0.0.1:8080,\t443=127.0.0.1:9443, '], (upstream) => {
    for (const tab of ['cli', 'systemd'] as const)
      assert.match(renderConnectSnippet(plainTunnel, ingress({ upstream }), tab).text, both, tab);
  });
});

test("whatever the form accepts, the client's own parser accepts", () => {
  const inputs = fc.oneof(
    fc.oneof(fc.webUrl({ validSchemes: ['http'] }), hostileText, fc.constant('http://web_1:80')).map(http),
    fc
      .oneof(fc.ipV4(), fc.ipV6(), fc.domain(), hostileText, fc.constant('80=web:1,443=web:2'))
      .map((upstream) => ingress({ upstream })),
  );
  fc.assert(
    fc.property(inputs, (given) => {
      if (Object.keys(connectErrors(given, 'cli')).length > 0) return;
      if (given.type === 'ingress') assert.ok(wordsOf(given.upstream).every((word) => parseIngressUpstream(word).ok));
      else if (given.type === 'tcp') assert.equal(parseTcpService(given.upstream).ok, true);
      else
        for (const { domain, upstream } of given.upstreams)
          assert.equal(parseHttpUpstream(`${domain}=${upstream.trim()}`).ok, true);
    }),
    { numRuns: 1000 },
  );
});

test('a snippet of a masked token differs from the whole one only by the mask', (t) => {
  const masked = { ...plainTunnel, token: maskToken(plainTunnel.token) };
  eachCase(t, tabs, (tab) => {
    const whole = renderConnectSnippet(plainTunnel, http('http://web'), tab).text;
    const shown = renderConnectSnippet(masked, http('http://web'), tab).text;
    assert.equal(shown, whole.replaceAll(plainTunnel.token, masked.token));
    assert.equal(whole.split(plainTunnel.token).length, 2, 'the token is there once');
    assert.equal(shown.includes(plainTunnel.token.slice(0, 8)), false);
  });
});

test('a resource name is a DNS label that leaves room for its prefix', (t) => {
  eachCase(t, [...hostileValues, 'web', 'w'.repeat(252), '../../etc/passwd', 'A'], (name) =>
    assert.match(resourceName(name), /^[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?$/),
  );
  assert.equal(resourceName('web'), 'web');
  assert.equal(resourceName('w'.repeat(52)), 'w'.repeat(52));
});

test('long tunnel names that begin alike get different resource names', () => {
  const ending = fc.stringMatching(/^[a-z0-9]{1,20}$/);
  fc.assert(
    fc.property(ending, ending, (a, b) => {
      fc.pre(a !== b);
      assert.notEqual(resourceName('x'.repeat(100) + a), resourceName('x'.repeat(100) + b));
    }),
  );
});
