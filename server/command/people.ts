// Commands about people: registrations, subscriptions, users, sign-in links.

import type { OperatorDesk } from '@underpass/control/operator/desk.ts';
import type { OperatorRegistration, OperatorUser, Subscription } from '@underpass/rules/entity/resource.ts';
import type { Command } from 'commander';
import { ServerError } from '../process/error.ts';
import { deed, listing, type OutputOptions, printValue, type Shell, withDesk } from './command-line.ts';

export function addPeopleCommands(program: Command, shell: Shell): void {
  addRegistrations(program, shell);
  addSubscriptions(program, shell);
  addUsers(program, shell);
  program
    .command('login-link')
    .description('make a one-time sign-in link for a user, the operator by default')
    .argument('[email]', 'e-mail of the user')
    .option('--json', 'print JSON')
    .action(async (email: string | undefined, options: OutputOptions) => {
      await withDesk(shell, async (desk, settings) => {
        const url = await desk.createLoginLink(email ?? settings.operatorEmail);
        printValue(shell, { url }, url, options);
      });
    });
}

const pickRegistration = ({
  email,
  firstName,
  lastName,
  company,
  state,
  isSubscribed,
  createdAt,
}: OperatorRegistration): object => ({
  ...{ email, name: `${firstName} ${lastName}`, company, state, isSubscribed, createdAt },
});

const pickSubscription = ({ id: _, ...rest }: Subscription): object => rest;

const pickUser = ({ id, email, firstName, lastName, operator, suspended, createdAt }: OperatorUser): object => ({
  ...{ id, email, name: `${firstName} ${lastName}`.trim(), operator, suspended, createdAt },
});

function addRegistrations(program: Command, shell: Shell): void {
  const group = program.command('registrations').description('requests for an account');
  const list = group.command('list').description('list registrations, newest first');
  listing(
    shell,
    list.option('--state <state>', 'waiting, approved or rejected'),
    (desk, _, options: { state?: string }) => desk.listRegistrations(options),
    pickRegistration,
  );
  for (const [name, about] of [
    ['approve', 'approve a registration'],
    ['reject', 'reject a registration'],
  ] as const) {
    deed(
      shell,
      group.command(name).description(`${about}; a mail tells the person`).argument('<id or email>'),
      async (desk, key) => desk[name](await desk.findRegistration(key)),
      ({ email, state }) => `${email}: ${state}`,
    );
  }
}

function addSubscriptions(program: Command, shell: Shell): void {
  const group = program.command('subscriptions').description('subscriptions to the tunnel software');
  const list = group.command('list').description('list subscriptions');
  listing(shell, list, (desk) => desk.listSubscriptions(), pickSubscription);
  deed(
    shell,
    group.command('import').description('read subscriptions from a CSV file, or from standard input with -').argument('<file>'),
    async (desk, file) => desk.importSubscriptions(await readInput(shell, file)),
  );
}

/** A file, or standard input for `-`. */
export async function readInput({ io }: Shell, path: string): Promise<string> {
  if (path === '-') return io.readStdin();
  try {
    return io.readFile(path);
  } catch (error) {
    throw new ServerError('file-unusable', path, { cause: error });
  }
}

/** The id of the user with this e-mail; any other key is taken as an id. */
export async function userIdOf(desk: OperatorDesk, key: string): Promise<string> {
  return (await desk.listUsers(key)).find((user) => user.email === key.toLowerCase())?.id ?? key;
}

function addUsers(program: Command, shell: Shell): void {
  const group = listing(
    shell,
    program.command('users').description('list users, newest first').argument('[text]', 'part of a name or e-mail'),
    (desk, text) => desk.listUsers(text),
    pickUser,
  );
  deed(
    shell,
    group
      .command('delete')
      .description('delete a user, and the projects without another member; takes effect at the edges within a minute')
      .argument('<id or email>'),
    async (desk, key) => desk.deleteUser(await userIdOf(desk, key)),
    ({ email }) => `user ${email} is deleted`,
  );
  group
    .command('export')
    .description('print everything that the service holds about a user as JSON, without secrets')
    .argument('<id or email>')
    .action((key: string) =>
      withDesk(shell, async (desk) => {
        for await (const part of await desk.writeUserFile(await userIdOf(desk, key))) shell.io.stdout.write(part);
      }),
    );
  deed(
    shell,
    group
      .command('remove-passkeys')
      .description('remove the passkeys and recovery codes of a user who has lost them; they sign in by e-mail again')
      .argument('<id or email>'),
    async (desk, key) => desk.removePasskeys(await userIdOf(desk, key)),
    ({ email }) => `the passkeys of ${email} are removed`,
  );
}
