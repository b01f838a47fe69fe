// The frame of every page that needs a session (spec 2, Project shell).
import { CSPProvider } from '@base-ui/react/csp-provider';
import { useEffect } from 'react';
import {
  type LoaderFunctionArgs,
  Outlet,
  type ShouldRevalidateFunctionArgs,
  useLoaderData,
  useMatch,
  useParams,
} from 'react-router';
import { loadWaiting } from '../code-loading/load-later.ts';
import { useNewVersion } from '../code-loading/new-version.ts';
import { LiveTunnelsProvider } from '../live/live-tunnels.tsx';
import { PasskeyNeeded } from '../passkey/needed.tsx';
import { tunnelPattern } from '../routing/paths.ts';
import { rememberProject } from '../session/selected-project.ts';
import { projectOfScreen, requireSession, type ShellData } from '../session/session.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { NoEntryIllustration } from '../ui/illustrations/no-entry.tsx';
import { NewVersionBanner } from '../ui/lazy-part.tsx';
import { OverlayContainer } from '../ui/overlay/overlay-container.tsx';
import { ToastArea } from '../ui/overlay/toast-area.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { LiveNotice } from './live-notice.tsx';
import { LostProject, useLostProject } from './lost-project.tsx';
import { Navigation } from './navigation.tsx';
import { OfflineNotice } from './offline-notice.tsx';
import { ProofDialog } from './proof-dialog.tsx';
import { SessionNotice, useCatchUp } from './session-notice.tsx';
import { TopBar } from './top-bar.tsx';

interface LoaderData extends ShellData {
  /** The URL names a project that the user is not a member of. */
  readonly unknownProject: boolean;
}

export async function loader({ params, request }: LoaderFunctionArgs): Promise<LoaderData> {
  const session = await requireSession(request);
  const project = projectOfScreen(session, params.projectID);
  if (params.projectID !== undefined && project) rememberProject(project.id);
  const unknownProject = params.projectID !== undefined && !project;
  return { ...session, project: project ?? projectOfScreen(session, undefined), unknownProject };
}

/** Another project id in the URL needs a reload: the router compares only this route's own path, which is empty. */
export const shouldRevalidate = ({ currentParams, nextParams, defaultShouldRevalidate }: ShouldRevalidateFunctionArgs): boolean =>
  currentParams.projectID !== nextParams.projectID || defaultShouldRevalidate;

export function Component() {
  const { user, projects, project, unknownProject } = useLoaderData<typeof loader>();
  const session = useCatchUp();
  const isNewVersion = useNewVersion();
  useEffect(loadWaiting, []);
  return (
    <CSPProvider disableStyleElements>
      <a
        href="#content"
        className="fixed top-2 left-2 z-60 -translate-y-20 rounded-md bg-accent px-3 py-2 font-semibold text-on-accent focus:translate-y-0 print:hidden"
      >
        Skip to content
      </a>
      <TopBar user={user} projects={projects} project={project} />
      <div className="flex pt-14 print:pt-0">
        <aside className="sticky top-14 hidden h-[calc(100dvh-3.5rem)] w-60 shrink-0 overflow-y-auto border-r px-3 py-5 lg:block print:hidden">
          <Navigation user={user} project={project} />
        </aside>
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 px-4 py-6 sm:px-8 sm:py-8">
          <div className="mx-auto max-w-6xl has-data-wide:max-w-[96rem] has-data-full-width:max-w-none">
            <OfflineNotice onBack={session.catchUp} />
            <SessionNotice {...session} />
            {!session.hasEnded && <LiveNotice />}
            {isNewVersion && <NewVersionBanner className="mb-6" />}
            <OverlayContainer>
              <Page projects={projects} project={project} unknownProject={unknownProject} onCaughtUp={session.catchUp} />
            </OverlayContainer>
          </div>
        </main>
      </div>
      <ProofDialog user={user} />
      <ToastArea />
    </CSPProvider>
  );
}

interface PageProps extends Pick<LoaderData, 'projects' | 'project' | 'unknownProject'> {
  readonly onCaughtUp: () => void;
}

function Page({ projects, project, unknownProject, onCaughtUp }: PageProps) {
  const { projectID } = useParams();
  const tunnel = useMatch({ path: tunnelPattern, end: false })?.params.name;
  const { lost, onMembership } = useLostProject(projectID === undefined || unknownProject ? undefined : project, onCaughtUp);
  if (unknownProject) return lost && lost.id === projectID ? <LostProject lost={lost} projects={projects} /> : <UnknownProject />;
  if (!project) return <Outlet />;
  // Pages without a project in their URL, such as the account, stay open.
  if (project.passkey === 'needed') {
    return projectID === undefined ? <Outlet /> : <PasskeyNeeded who={`The project ‘${project.name}’`} />;
  }
  return (
    <LiveTunnelsProvider
      key={project.id}
      projectId={project.id}
      role={project.role}
      tunnel={tunnel}
      onCaughtUp={onCaughtUp}
      onMembership={onMembership}
    >
      <Outlet />
    </LiveTunnelsProvider>
  );
}

function UnknownProject() {
  return (
    <>
      <PageHeader title="Project not found" />
      <EmptyState
        title="This project does not exist, or you are not a member of it."
        text="Choose another project above, or ask a member to invite you."
        illustration={<NoEntryIllustration />}
      />
    </>
  );
}
