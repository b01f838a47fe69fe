// Settings of the project: its name, its id, and deleting it.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { Project } from '@underpass/rules/entity/entity.ts';
import { may, roleDescriptions, roleLabels } from '@underpass/rules/people/permission.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { DeleteCard } from '../../form/delete-card.tsx';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { paths } from '../../routing/paths.ts';
import { forgetSession, useProject, useShell } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { PasskeyRuleCard } from './passkey-rule.tsx';
import { ProjectNameForm } from './project-name-form.tsx';

export function Component() {
  const project = useProject();
  const { user } = useShell();
  const { revalidate } = useRevalidator();
  const rename = async (name: string) => {
    await callApi(projectCalls.renameProject, { id: project.id, payload: { name } });
    toast.done('Project renamed.');
    forgetSession();
    await revalidate();
  };
  const requirePasskeys = async (required: boolean) => {
    await callApi(projectCalls.requirePasskeys, { id: project.id, payload: { required } });
    toast.done(required ? 'Passkeys are required.' : 'Passkeys are optional.');
    forgetSession();
    await revalidate();
  };
  const confirm = useConfirm();
  return (
    <>
      <PageHeader title="Project settings" />
      <div className="grid gap-6">
        {may(project.role, 'project.rename') && (
          <Card title="Project name">
            <ProjectNameForm key={project.id} initialName={project.name} submitLabel="Save" send={rename} />
          </Card>
        )}
        {may(project.role, 'project.require-passkeys') && (
          <PasskeyRuleCard
            key={`passkeys ${project.id}`}
            label="Require a passkey"
            hint="Members need a passkey to open this project and to use API tokens."
            required={project.passkey !== undefined}
            save={requirePasskeys}
          />
        )}
        <Card title="Project id" description="Scripts and the API use this id.">
          <div className="flex items-center gap-1 font-mono text-sm">
            <span className="break-all">{project.id}</span>
            <CopyButton text={project.id} what="project id" />
          </div>
        </Card>
        <Card title="Your role">
          <p className="flex flex-wrap items-center gap-3">
            <Badge>{roleLabels[project.role]}</Badge>
            {roleDescriptions[project.role]}
          </p>
        </Card>
        {!user.invited && (
          <Card title="Another project" description="Each project has its own tunnels, domains, security groups and members.">
            <ButtonLink to={paths.newProject()}>New project</ButtonLink>
          </Card>
        )}
        {may(project.role, 'project.delete') && <DeleteProject project={project} ask={confirm.ask} />}
      </div>
      {confirm.dialog}
    </>
  );
}

function DeleteProject({ project, ask }: { readonly project: Project; readonly ask: Confirm['ask'] }) {
  return (
    <DeleteCard
      what="Project"
      description="Its tunnels stop immediately. The privacy policy says how long we keep its audit log."
      warning={`Warning! '${project.name}' is deleted for all its members, with its tunnels, domains, security groups and tokens. All its clients are disconnected.`}
      proof={{ label: 'Type the project name to confirm', text: project.name }}
      remove={(typed) => callApi(projectCalls.deleteProject, { id: project.id, payload: { name: typed } })}
      done="Project deleted."
      leadsTo={paths.home()}
      ask={ask}
    />
  );
}
