// Commands about projects, tunnels and regions: lists, limits, suspension, keys.

import type { OperatorDesk } from '@underpass/control/operator/desk.ts';
import type { Block, OperatorProject, OperatorRegion, OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import type { Command } from 'commander';
import { ServerError } from '../process/error.ts';
import { deed, listing, type OutputOptions, printValue, type Shell, withDesk } from './command-line.ts';
import { readInput, userIdOf } from './people.ts';

export function addResourceCommands(program: Command, shell: Shell): void {
  const projects = program.command('projects').description('list projects').argument('[text]', 'part of a name');
  listing(shell, projects, (desk, text) => desk.listProjects(text), pickProject);
  deed(
    shell,
    projects
      .command('delete')
      .description('delete a project and everything in it; takes effect at the edges within a minute')
      .argument('<id>'),
    (desk, id) => desk.deleteProject(id),
    ({ name }) => `project ${name} is deleted`,
  );
  const tunnels = program.command('tunnels').description('list tunnels').argument('[text]', 'part of a name');
  listing(shell, tunnels, (desk, text) => desk.listTunnels(text), pickTunnel);
  addLimits(program, shell);
  addSuspension(program, shell);
  addBlocks(program, shell);
  addRegions(program, shell);
}

const pickProject = ({ limits: _, createdAt: __, ...rest }: OperatorProject): object => rest;

const pickTunnel = ({ id, name, project, region, status, ingressDomains, suspended }: OperatorTunnel): object => ({
  ...{ id, name, project: project.name, region, status, ingressDomains, suspended },
});

const pickRegion = ({ name, dataPlaneHost, wildcardIngressDomain, tunnels, available, certificateProblem }: OperatorRegion) => ({
  ...{ name, dataPlaneHost, wildcardIngressDomain, tunnels, available },
  ...(certificateProblem === undefined ? {} : { certificateProblem }),
});

function addLimits(program: Command, shell: Shell): void {
  program
    .command('limits')
    .description('set limits of a project, for example: limits PROJECT tunnels=50 domains=20')
    .argument('<project>', 'id of the project')
    .argument('<limit=number...>')
    .option('--json', 'print JSON')
    .action((project: string, pairs: readonly string[], options: OutputOptions) =>
      withDesk(shell, async (desk) => {
        const changed = await desk.changeProject(project, { limits: Object.fromEntries(pairs.map(parsePair)) });
        printValue(shell, changed, JSON.stringify(changed), options);
      }),
    );
}

function parsePair(text: string): [string, number] {
  const match = /^([A-Za-z]+)=(\d{1,9})$/.exec(text);
  if (match === null) throw new ServerError('usage', `"${text}" is not name=number`);
  return [match[1] ?? '', Number(match[2])];
}

function addSuspension(program: Command, shell: Shell): void {
  for (const [name, suspended, about] of [
    ['suspend', true, 'suspend a user, a project or a tunnel; takes effect at the edges within a minute'],
    ['resume', false, 'resume a suspended user, project or tunnel'],
  ] as const) {
    const group = program.command(name).description(about);
    for (const kind of ['user', 'project', 'tunnel'] as const) {
      group
        .command(kind)
        .description(`${name} a ${kind}`)
        .argument('<id>', kind === 'user' ? 'id or e-mail' : 'id')
        .option('--json', 'print JSON')
        .action((id: string, options: OutputOptions) => changeSuspension(shell, kind, id, suspended, options));
    }
  }
}

function changeSuspension(
  shell: Shell,
  kind: 'user' | 'project' | 'tunnel',
  id: string,
  suspended: boolean,
  options: OutputOptions,
): Promise<void> {
  return withDesk(shell, async (desk) => {
    const change = {
      user: async () => desk.changeUser(await userIdOf(desk, id), { suspended }),
      project: () => desk.changeProject(id, { suspended }),
      tunnel: () => desk.changeTunnel(id, { suspended }),
    }[kind];
    printValue(shell, await change(), `${kind} ${id} is ${suspended ? 'suspended' : 'resumed'}`, options);
  });
}

const pickBlock = ({ value, kind, reason, createdBy, createdAt }: Block): object => ({
  ...{ value, kind, reason, createdBy, createdAt },
});

function addBlocks(program: Command, shell: Shell): void {
  const group = program.command('blocks').description('addresses, networks and names that the whole service refuses');
  const list = group.command('list').description('list blocks, newest first').argument('[text]', 'part of a value or reason');
  listing(shell, list, (desk, text) => desk.listBlocks(text), pickBlock);
  deed(
    shell,
    group
      .command('add')
      .description('block an address, a network or a name with all below it; takes effect at the edges within half a minute')
      .argument('<value>')
      .requiredOption('--reason <text>', 'for other operators, and the audit log'),
    (desk, value, { reason }: { readonly reason: string }) => desk.createBlock(value, reason),
    ({ value }) => `${value} is blocked`,
  );
  deed(
    shell,
    group.command('remove').description('end a block').argument('<value>'),
    (desk, value) => desk.deleteBlock(value),
    ({ value }) => `${value} is no longer blocked`,
  );
  deed(
    shell,
    group
      .command('import')
      .description('read lines of a value and a reason from a CSV file, or from standard input with -')
      .argument('<file>'),
    async (desk, file) => desk.importBlocks(await readInput(shell, file)),
  );
}

interface NewRegionOptions {
  readonly host: string;
  readonly description?: string;
  readonly wildcard?: string;
  readonly tcpPorts?: string;
  readonly tls: boolean;
  readonly httpsPort?: string;
  readonly httpPort?: string;
}

function addRegions(program: Command, shell: Shell): void {
  const group = program.command('regions').description('regions, their keys and edges');
  listing(shell, group.command('list').description('list regions'), (desk) => desk.listRegions(), pickRegion);
  const add = group
    .command('add')
    .description('make a region')
    .argument('<name>')
    .requiredOption('--host <name>', 'host that its clients dial')
    .option('--description <text>', 'name of the region in the dashboard')
    .option('--wildcard <domain>', 'domain of its generated names')
    .option('--tcp-ports <range>', 'public ports of its tcp tunnels, such as 20000-20099')
    .option('--no-tls', 'its edges do not terminate TLS: no http tunnels')
    .option('--https-port <port>', 'public https port of its edges', '443')
    .option('--http-port <port>', 'public http port of its edges', '80');
  deed(
    shell,
    add,
    createRegion,
    ({ name }) => `region ${name} is added; make a key for its edges: underpass-server regions key ${name}`,
  );
  deed(
    shell,
    group
      .command('key')
      .description('make a new key for the edges of a region; the old one keeps working for a while')
      .argument('<name>')
      .option('--leaked', 'end the old keys at once, because somebody else has one'),
    (desk, name, { leaked }: { readonly leaked?: boolean }) => desk.createRegionKey(name, leaked ? 'leaked' : 'overlap'),
    ({ key }) => key,
  );
}

function createRegion(desk: OperatorDesk, name: string, options: NewRegionOptions) {
  return desk.createRegion({
    name,
    description: options.description ?? name,
    dataPlaneHost: options.host,
    tlsTermination: options.tls,
    httpsPort: Number(options.httpsPort),
    httpPort: Number(options.httpPort),
    ...(options.tcpPorts === undefined ? {} : { tcpPorts: options.tcpPorts }),
    ...(options.wildcard === undefined ? {} : { wildcardIngressDomain: options.wildcard }),
  });
}
