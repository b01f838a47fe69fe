// Creates a project. Its creator becomes the owner.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import { callApi } from '../../api/request.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { paths } from '../../routing/paths.ts';
import { rememberProject } from '../../session/selected-project.ts';
import { forgetSession } from '../../session/session.ts';
import { Card } from '../../ui/card.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { ProjectNameForm } from './project-name-form.tsx';

export function Component() {
  const navigateOrReload = useNavigateOrReload();
  const create = async (name: string) => {
    const project = await callApi(projectCalls.createProject, { payload: { name } });
    forgetSession();
    rememberProject(project.id);
    toast.done(`Project ${project.name} created.`);
    await navigateOrReload(paths.dashboard(project.id));
  };
  return (
    <>
      <PageHeader title="New project" subtitle="A project has its own tunnels, domains, security groups and members." />
      <Card>
        <ProjectNameForm initialName="" submitLabel="Create project" send={create} />
      </Card>
    </>
  );
}
