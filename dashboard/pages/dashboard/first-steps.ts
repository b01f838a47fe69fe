// Which first steps a project has taken, and what this browser remembers of them. Pure, but for the browser's storage.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { HistoryPoint } from '@underpass/rules/entity/resource.ts';
import { keep, readKept } from '../../session/kept.ts';

export const firstSteps = ['install', 'create', 'connect', 'open'] as const;
export type FirstStep = (typeof firstSteps)[number];

/** The most tunnels of a new project. */
export const newProjectTunnels = 3;

/** What the tunnels' present state does not tell. */
export interface Past {
  /** The user has signed in with the CLI. */
  readonly hasCli: boolean;
  readonly history: readonly Pick<HistoryPoint, 'clients' | 'tx'>[];
}

type LiveState = Pick<Tunnel, 'connectedClients' | 'metrics'>;

/** An answered visitor proves a client, and a client proves an installed CLI and a tunnel, even one that is deleted by now. */
export function takenSteps(tunnels: readonly LiveState[], past: Past, known: readonly FirstStep[] = []): readonly FirstStep[] {
  // tx counts only what an upstream answers: an error page of the edge is no visit.
  const open =
    known.includes('open') || tunnels.some(({ metrics }) => isMore(metrics?.tx)) || past.history.some(({ tx }) => tx > 0);
  const connect =
    open ||
    known.includes('connect') ||
    tunnels.some(({ connectedClients }) => isMore(connectedClients)) ||
    past.history.some(({ clients }) => clients > 0);
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

export const rememberSteps = (projectId: string, steps: readonly FirstStep[]): void => keep(keyOf(projectId), steps.join(' '));

export const areComplete = (steps: readonly FirstStep[]): boolean => steps.length === firstSteps.length;
