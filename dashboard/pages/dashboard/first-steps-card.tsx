// Leads a new project to its first visitor. A step ticks itself when it has happened.
import type { OverviewTunnel } from '@underpass/rules/entity/resource.ts';
import { ArrowUpRight, CircleCheck, X } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'react-router';
import { useLiveTunnels } from '../../live/live-tunnels.tsx';
import { newTunnelParam, paths } from '../../routing/paths.ts';
import { IconButton } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { areComplete, type FirstStep, firstSteps, type Past, rememberedSteps, rememberSteps, takenSteps } from './first-steps.ts';

interface FirstStepsProps {
  readonly project: string;
  readonly tunnels: readonly OverviewTunnel[];
  readonly past: Past;
}

export function FirstSteps({ project, tunnels: loaded, past }: FirstStepsProps) {
  const tunnels = useLiveTunnels(loaded);
  const [isOver, setOver] = useState(() => areComplete(rememberedSteps(project)));
  const taken = takenSteps(tunnels, past, rememberedSteps(project));
  useEffect(() => rememberSteps(project, taken), [project, taken]);
  const dismiss = () => {
    rememberSteps(project, firstSteps);
    setOver(true);
  };
  if (isOver) return null;
  // Visitors of a suspended tunnel get an error page, and its clients are refused.
  const usable = tunnels.find(({ condition }) => condition !== 'suspended');
  return (
    <Card
      title="First steps"
      description={
        areComplete(taken) ? (
          'Done: your service is on the internet.'
        ) : (
          <>
            Put a service on the internet. To try it with one command, run <code className="font-mono">underpass http 3000</code>.
          </>
        )
      }
      actions={<IconButton label="Dismiss first steps" icon={<X aria-hidden="true" />} onClick={dismiss} />}
    >
      <ol className="grid gap-x-6 gap-y-4 sm:grid-cols-2 xl:grid-cols-4">
        {firstSteps.map((step, index) => (
          <Step
            key={step}
            number={index + 1}
            isTaken={taken.includes(step)}
            {...stepView(step, project, usable)}
            isReady={isReady(step, taken)}
          />
        ))}
      </ol>
    </Card>
  );
}

/** The page of a tunnel without a client is an error page. */
const isReady = (step: FirstStep, taken: readonly FirstStep[]): boolean => step !== 'open' || taken.includes('connect');

interface StepView {
  readonly title: string;
  readonly text: string;
  /** Leads to the place of the step; absent until the step before it has made that place. */
  readonly link?: ReactNode;
}

function stepView(step: FirstStep, project: string, tunnel: OverviewTunnel | undefined): StepView {
  switch (step) {
    case 'install':
      return {
        title: 'Install the CLI',
        text: 'Install underpass on the machine of your service, and sign in.',
        link: <StepLink to={paths.download()}>Install</StepLink>,
      };
    case 'create':
      return {
        title: 'Create a tunnel',
        text: 'A tunnel gives your service a public address.',
        link: <StepLink to={`${paths.tunnels(project)}?${newTunnelParam}`}>Create</StepLink>,
      };
    case 'connect':
      return {
        title: 'Connect a client',
        text: "Run the command that the tunnel's page shows under Connect.",
        ...(tunnel && { link: <StepLink to={paths.tunnel(project, tunnel.name)}>{`Open ${tunnel.name}`}</StepLink> }),
      };
    case 'open': {
      return {
        title: 'Visit your service',
        text: 'Open its public address in a browser.',
        ...(tunnel?.domain && tunnel.url && { link: <AddressLink name={tunnel.domain} url={tunnel.url} /> }),
      };
    }
  }
}

const linkClass = 'font-semibold text-accent-ink underline underline-offset-4 wrap-anywhere';

const StepLink = ({ to, children }: { readonly to: string; readonly children: ReactNode }) => (
  <Link to={to} className={linkClass}>
    {children}
  </Link>
);

const AddressLink = ({ url, name }: { readonly url: string; readonly name: string }) => (
  <a href={url} target="_blank" rel="noreferrer" className={linkClass}>
    {name}
    <ArrowUpRight aria-hidden="true" className="ml-1 inline size-4" />
  </a>
);

interface StepProps extends StepView {
  readonly number: number;
  readonly isTaken: boolean;
  readonly isReady: boolean;
}

function Step({ number, isTaken, isReady, title, text, link }: StepProps) {
  return (
    <li className="flex items-start gap-3">
      {isTaken ? (
        <CircleCheck aria-hidden="true" className="mt-0.5 size-5 shrink-0 text-ok" />
      ) : (
        <span
          aria-hidden="true"
          className="mt-0.5 flex size-5 shrink-0 items-center justify-center rounded-full border text-xs font-bold text-ink-soft"
        >
          {number}
        </span>
      )}
      <div className="min-w-0">
        <h3 className="font-semibold">
          {title}
          <span className="sr-only">{isTaken ? ' (done)' : ' (to do)'}</span>
        </h3>
        <p className="text-sm text-ink-soft">{text}</p>
        {!isTaken && isReady && link && <p className="mt-1 text-sm">{link}</p>}
      </div>
    </li>
  );
}
