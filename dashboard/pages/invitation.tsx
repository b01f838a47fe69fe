// Accepts an invitation to a project. Only the button accepts it: a mail scanner may open the link. Without a session it says who
// invites to what, then how to sign in or register; both lead back here. A link that its member has used leads to the project.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { OpenOffer } from '@underpass/rules/entity/resource.ts';
import { invitationRefusals } from '@underpass/rules/people/invitation.ts';
import { roleLabels } from '@underpass/rules/people/permission.ts';
import type { ReactNode } from 'react';
import { Link, type LoaderFunctionArgs, redirect, useLoaderData, useNavigate, useParams } from 'react-router';
import { Failure } from '../api/failure.tsx';
import { callApi } from '../api/request.ts';
import { useNavigateOrReload } from '../api/use-navigate-or-reload.ts';
import { useTask } from '../api/use-task.ts';
import { paths } from '../routing/paths.ts';
import { keepReturnPath } from '../routing/return-path.ts';
import { rememberProject } from '../session/selected-project.ts';
import { forgetSession, loadSession } from '../session/session.ts';
import { Banner } from '../ui/banner.tsx';
import { Breakable } from '../ui/breakable.tsx';
import { Button } from '../ui/button.tsx';
import { ButtonLink } from '../ui/button-link.tsx';
import { toast } from '../ui/overlay/toast.tsx';
import { AuthCard } from './auth-card.tsx';
import { loadOffer } from './load-offer.ts';
import { SignIn } from './sign-in.tsx';

export async function loader({ params, request }: LoaderFunctionArgs) {
  const token = params.token!;
  const [session, offer] = await Promise.all([loadSession(), loadOffer(token, request.signal)]);
  if (typeof offer === 'object' && 'joined' in offer) {
    rememberProject(offer.joined);
    return redirect(paths.dashboard(offer.joined));
  }
  if (!session) keepReturnPath(paths.invitation(token));
  return { email: session?.user.email, offer };
}

export function Component() {
  const { token = '' } = useParams();
  const { email, offer } = useLoaderData<typeof loader>() as { email: string | undefined; offer: OpenOffer | string };
  if (typeof offer === 'string') return <NoInvitation refusal={offer} email={email} />;
  return email === undefined ? <SignInFirst token={token} offer={offer} /> : <Join token={token} offer={offer} email={email} />;
}

const title = 'Join a project';

/** The address too: people choose their names. */
const Inviter = ({ inviterName, invitedBy }: Pick<OpenOffer, 'inviterName' | 'invitedBy'>) =>
  !inviterName ? (
    <Breakable text={invitedBy} />
  ) : (
    <span className="wrap-anywhere">
      {inviterName} (<Breakable text={invitedBy} />)
    </span>
  );

const Invited = ({ offer }: { readonly offer: OpenOffer }) => (
  <>
    <Inviter {...offer} /> invited you to join <strong className="wrap-anywhere text-ink">{offer.projectName}</strong> as{' '}
    {roleLabels[offer.role]}.
  </>
);

function SignInFirst({ token, offer }: { readonly token: string; readonly offer: OpenOffer }) {
  const navigate = useNavigate();
  return (
    <SignIn
      Link={Link}
      title={title}
      lead={
        <>
          <Invited offer={offer} /> Sign in as <strong className="wrap-anywhere text-ink">{offer.email}</strong>: we email you a
          login link.
        </>
      }
      email={offer.email}
      registerPath={paths.registerInvited(token)}
      open={async (path) => navigate(path, { replace: true })}
    />
  );
}

interface JoinProps {
  readonly token: string;
  readonly offer: OpenOffer;
  readonly email: string;
}

function Join({ token, offer, email }: JoinProps) {
  const navigateOrReload = useNavigateOrReload();
  const task = useTask(async () => {
    const project = await callApi(projectCalls.acceptInvitation, { payload: { token } });
    forgetSession();
    rememberProject(project.id);
    toast.done(`You joined ‘${project.name}’.`);
    await navigateOrReload(paths.dashboard(project.id), { replace: true });
  });
  return (
    <AuthCard
      title={title}
      text={
        <>
          <Invited offer={offer} /> You will join as <strong className="wrap-anywhere text-ink">{email}</strong>.
        </>
      }
    >
      <div className="grid gap-5">
        <Failure task={task} />
        <Button variant="primary" className="w-full" busy={task.busy} onClick={() => task.run()}>
          Join project
        </Button>
      </div>
    </AuthCard>
  );
}

function NoInvitation({ refusal, email }: { readonly refusal: string; readonly email: string | undefined }) {
  return (
    <AuthCard title={title}>
      <div className="grid gap-5">
        <Banner tone="danger">{refusal}</Banner>
        <WhatHelps refusal={refusal} email={email} />
      </div>
    </AuthCard>
  );
}

const { expired, left, unknown } = invitationRefusals;
const isHopeless = (refusal: string): boolean => [expired, left, unknown].some((each) => each === refusal);

function WhatHelps({ refusal, email }: { readonly refusal: string; readonly email: string | undefined }) {
  // Another version of the server may have other words: then a sign-in may still help.
  if (isHopeless(refusal)) {
    return <p>Ask the person who invited you for a new one.</p>;
  }
  if (email === undefined) {
    return (
      <Note action={<ButtonLink to={paths.login()}>Sign in</ButtonLink>}>
        If it was you, sign in: the link then leads you to the project.
      </Note>
    );
  }
  return (
    <Note action={<OtherAccount />}>
      You are signed in as <strong className="wrap-anywhere">{email}</strong>. An invitation works only for the address it was
      sent to.
    </Note>
  );
}

const Note = ({ action, children }: { readonly action: ReactNode; readonly children: ReactNode }) => (
  <>
    <p>{children}</p>
    <div>{action}</div>
  </>
);

/** Loads the page again without the session. */
function OtherAccount() {
  const task = useTask(async () => {
    await callApi(sessionCalls.logOutByPost, {});
    location.reload();
  });
  return (
    <div className="grid gap-3">
      <Failure task={task} />
      <div>
        <Button busy={task.busy} onClick={() => task.run()}>
          Sign out and use another account
        </Button>
      </div>
    </div>
  );
}
