// Which first steps a project has taken, and what this browser remembers of them. Pure, but for the browser's storage.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { Overview } from '@underpass/rules/entity/resource.ts';
import { keep, readKept } from '../../session/kept.ts';

export const firstSteps = ['install', 'create', 'connect', 'open'] as const;
export type FirstStep = (typeof firstSteps)[number];

/** What is known of a project's past. */
export type Past = NonNullable<Overview['steps']>;

type LiveState = Pick<Tunnel, 'connectedClients'>;

/** An answered visitor proves a client, and a client proves an installed CLI and a tunnel, even one that is deleted by now. */
export function takenSteps(tunnels: readonly LiveState[], past: Past, known: readonly FirstStep[] = []): readonly FirstStep[] {
  const open = known.includes('open') || past.hasServed;
  const connect =
    open || known.includes('connect') || past.hasConnected || tunnels.some(({ connectedClients }) => isMore(connectedClients));
  const create = connect || known.includes('create') || tunnels.length > 0;
  const install = connect || known.includes('install') || past.hasCli;
  const taken: Readonly<Record<FirstStep, boolean>> = { install, create, connect, open };
  return firstSteps.filter((step) => taken[step]);
}

const isMore = (count: number | undefined): boolean => (count ?? 0) > 0;

const keyOf = (projectId: string) => `first-steps:${projectId}`;

export function rememberedSteps(projectId: string): readonly FirstStep[] {
  const words = (readKept(keyOf(projectId)) ?? '').split(' ');
  return firstSteps.filter((step) => words.includes(step));
}

/** Adds to what is remembered: an effect of an earlier render must not take back a dismissal. */
export function rememberSteps(projectId: string, steps: readonly FirstStep[]): void {
  const all = new Set([...rememberedSteps(projectId), ...steps]);
  keep(keyOf(projectId), [...all].join(' '));
}

export const areComplete = (steps: readonly FirstStep[]): boolean => steps.length === firstSteps.length;
