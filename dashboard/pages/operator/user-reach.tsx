// What stops while a user is suspended: in the question before, and in the one that ends the suspension.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorUser, UserReach } from '@underpass/rules/entity/resource.ts';
import { counted } from '@underpass/rules/text/counted.ts';
import { askFor } from '../../api/answers.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';

/** More would push the buttons off a phone's screen. */
const shownProjects = 6;

export function ReachList({ id, suspended }: Pick<OperatorUser, 'id' | 'suspended'>) {
  const { data, error, busy, reload } = useFetched(askFor(operatorCalls.getUserReach, { id }));
  if (data !== undefined) return <Reach reach={data} suspended={suspended} />;
  if (error !== undefined) return <ErrorPanel message="What stops could not be looked up." onRetry={reload} busy={busy} />;
  return <p className="text-ink-soft">Looking up what stops…</p>;
}

function Reach({ reach, suspended }: { readonly reach: UserReach; readonly suspended: boolean }) {
  const { projects, projectCount, apiTokens, signIns } = reach;
  const shown = projects.slice(0, shownProjects);
  return (
    <div className="grid gap-2">
      <p className="font-semibold">{headline(reach, suspended)}</p>
      {shown.length > 0 && (
        <ul className="grid list-disc gap-1 pl-5">
          {shown.map(({ id, name, tunnels }) => (
            <li key={id} className="wrap-anywhere">
              <Breakable text={name} />: {counted(tunnels, 'tunnel')}
            </li>
          ))}
          {projectCount > shown.length && <li>{counted(projectCount - shown.length, 'more project', 'more projects')}</li>}
        </ul>
      )}
      <p>
        {suspended
          ? `${counted(apiTokens, 'API token')} paused.`
          : `${counted(apiTokens, 'API token')}, ${counted(signIns, 'sign-in')}.`}
      </p>
    </div>
  );
}

function headline({ projectCount, tunnelCount }: UserReach, suspended: boolean): string {
  if (projectCount === 0) return 'No project depends on this user alone.';
  const what = `${counted(tunnelCount, 'tunnel')} in ${counted(projectCount, 'project')}`;
  return suspended ? `Dark now, and back with the user: ${what}` : `Goes dark, because no other owner is active: ${what}`;
}
