// Accepts an invitation to a project. Only the button accepts it: a mail scanner may open the link.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { InvitationOffer } from '@underpass/rules/entity/resource.ts';
import { roleLabels } from '@underpass/rules/people/permission.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useParams } from 'react-router';
import { isApiError, messageOf } from '../api/error.ts';
import { callApi } from '../api/request.ts';
import { useFetched } from '../api/use-fetched.ts';
import { useNavigateOrReload } from '../api/use-navigate-or-reload.ts';
import { useTask } from '../api/use-task.ts';
import { paths } from '../routing/paths.ts';
import { rememberProject } from '../session/selected-project.ts';
import { forgetSession, useShell } from '../session/session.ts';
import { Banner } from '../ui/banner.tsx';
import { Breakable } from '../ui/breakable.tsx';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { toast } from '../ui/overlay/toast.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { LoadingArea } from '../ui/spinner.tsx';

export function Component() {
  const { token = '' } = useParams();
  const { data: offer, error } = useFetched({
    key: `invitation ${token}`,
    fetch: (signal) => callApi(projectCalls.checkInvitation, { payload: { token } }, { signal }),
  });
  return (
    <div className="mx-auto max-w-xl">
      <PageHeader title="Join a project" />
      <Card>
        {offer || error !== undefined ? <Answer token={token} offer={offer} error={error} /> : <LoadingArea className="h-28" />}
      </Card>
    </div>
  );
}

interface AnswerProps {
  readonly token: string;
  /** undefined if it could not be loaded. */
  readonly offer: InvitationOffer | undefined;
  readonly error: unknown;
}

function Answer({ token, offer, error }: AnswerProps) {
  const { user } = useShell();
  const email = <strong className="wrap-anywhere">{user.email}</strong>;
  if (isApiError(error) && error.status === 400) {
    return (
      <div className="grid gap-5">
        <Banner tone="danger">{messageOf(error)}</Banner>
        <p>You are signed in as {email}. An invitation works only for the address it was sent to.</p>
      </div>
    );
  }
  return (
    <div className="grid gap-5">
      <p className="wrap-anywhere">
        {offer ? (
          <>
            <Breakable text={offer.invitedBy} /> invited you to join <strong>{offer.projectName}</strong> as{' '}
            {roleLabels[offer.role]}.
          </>
        ) : (
          'You are invited to join a project.'
        )}{' '}
        You will join as {email}.
      </p>
      <JoinButton token={token} />
    </div>
  );
}

function JoinButton({ token }: { readonly token: string }) {
  const navigateOrReload = useNavigateOrReload();
  const task = useTask(async () => {
    const project = await callApi(projectCalls.acceptInvitation, { payload: { token } });
    forgetSession();
    rememberProject(project.id);
    toast.done(`You joined ‘${project.name}’.`);
    await navigateOrReload(paths.dashboard(project.id), { replace: true });
  });
  return (
    <>
      {task.error !== undefined && <Banner tone="danger">{messageOf(task.error) ?? text.error.fallback}</Banner>}
      <div>
        <Button variant="primary" busy={task.busy} onClick={() => task.run()}>
          Join project
        </Button>
      </div>
    </>
  );
}
