// The whole product and a Chromium for the browser tests of one file, and steps that several of them share.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from '@playwright/test';
import { createCli, type RunningCli } from '@underpass/client/test-kit.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { launchChromium, type VisitOptions, visit } from './browser.ts';
import { type NameServer, startNameServer } from './dns.ts';
import { type Account, type Environment, type Product, startProduct, tunnelCreated } from './product.ts';

/** The output of `npm run build`, or the folder that UNDERPASS_DASHBOARD names. */
const builtDashboard = process.env.UNDERPASS_DASHBOARD ?? fileURLToPath(new URL('../../dashboard/dist', import.meta.url));

export interface DashboardStage {
  readonly product: Product;
  readonly browser: Browser;
  /** The first operator, owner of an empty project. */
  readonly account: Account;
  readonly names: NameServer;
  /** Opens a page of the account's project; `path` starts after the project's id. */
  open(t: TestContext, path: string, options?: VisitOptions): Promise<Page>;
}

/** `env`: settings of the server. */
export async function openStage(t: TestContext, env: Environment = {}): Promise<DashboardStage> {
  if (!existsSync(join(builtDashboard, 'index.html'))) throw new Error(`${builtDashboard} has no dashboard: npm run build`);
  const names = await startNameServer(t);
  const browser = await launchChromium();
  // Hooks run in the order in which they were added: pages go before the server, which refuses them with 503 while it stops.
  t.after(() => browser.close());
  const product = await startProduct(t, { dashboard: builtDashboard, env: { UNDERPASS_DNS_SERVERS: names.address, ...env } });
  const account = await product.signIn();
  await clearProject(account);
  return {
    product,
    browser,
    account,
    names,
    open: async (test, path, options = {}) => {
      const page = await visit(test, browser, product, { account, ...options });
      await page.goto(projectUrl(account, path));
      return page;
    },
  };
}

export const projectUrl = ({ project }: Pick<Account, 'project'>, path: string): string => `/projects/${project}/${path}`;

/** Makes pages of a project ask for the session, so that a test can change the answers: otherwise the document brings it. */
export const withoutSession = (page: Page): Promise<unknown> =>
  page.route(
    ({ pathname }) => pathname.startsWith('/projects/'),
    async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/<script type="application\/json" id="session">.*?<\/script>/, '');
      await route.fulfill({ response, body });
    },
  );

/** The first start creates a tunnel; tests start without tunnels. */
async function clearProject(account: Account): Promise<void> {
  const { body: tunnels } = await account.call<readonly Tunnel[]>('GET', `/api/tunnels?project=${account.project}`);
  for (const { name } of tunnels) await account.call('DELETE', `/api/tunnels/${name}?project=${account.project}`);
}

export interface TunnelOptions {
  readonly type?: 'http' | 'ingress';
  readonly ingressDomains?: readonly string[];
  readonly proxyProtocol?: '' | 'v1' | 'v2';
}

/** Creates a tunnel by the API. An http tunnel without domains gets a generated name; the promise waits until an edge serves it. */
export async function makeTunnel(account: Account, name: string, options: TunnelOptions = {}): Promise<Tunnel> {
  const { type = 'http', ingressDomains = [], proxyProtocol = '' } = options;
  const tunnel = { name, region: 'local', type, ingressDomains, proxyProtocol };
  const { status, body } = await account.call<Tunnel>('POST', `/api/tunnels?project=${account.project}`, tunnel);
  if (status >= 300) throw new Error(`the tunnel was refused: ${status} ${JSON.stringify(body)}`);
  return body.status === 'Pending' ? body : tunnelCreated(account, name);
}

/** Adds a domain to the project, sets its TXT record and verifies it. */
export async function makeVerifiedDomain(
  { account, names }: Pick<DashboardStage, 'account' | 'names'>,
  apexName: string,
): Promise<void> {
  const query = `?project=${account.project}`;
  const { body } = await account.call<{ challenge: string }>('POST', `/api/domains${query}`, { name: apexName });
  names.set('TXT', apexName, `underpass-domain-verify=${body.challenge}`);
  const { body: domain } = await account.call<{ verified: boolean }>('POST', `/api/domains/${apexName}/verify${query}`);
  if (!domain.verified) throw new Error(`${apexName} was not verified`);
}

/** Starts the product's client and waits until it is connected; it stops when the test ends. */
export async function connectClient(t: TestContext, tunnel: Tunnel, upstream: string | readonly string[]): Promise<RunningCli> {
  const cli = await createCli(t, { UNDERPASS_TOKEN: tunnel.token ?? '' });
  const running = cli.start([tunnel.type, '--url', tunnel.url, ...[upstream].flat().flatMap((one) => ['--upstream', one])]);
  t.after(async () => {
    running.signal('SIGTERM');
    await running.ended;
  });
  await running.seen(/connected/);
  return running;
}
