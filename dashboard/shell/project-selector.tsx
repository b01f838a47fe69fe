// Chooses the project that the screens are about (spec 2, Project selector).
import type { Project } from '@underpass/rules/entity.ts';
import { rewriteProjectPath } from '@underpass/rules/project-path.ts';
import { useLocation, useNavigate, useRevalidator } from 'react-router';
import { rememberProject } from '../project/selected-project.ts';
import { Combobox } from '../ui/combobox.tsx';

export function ProjectSelector({
  projects,
  project,
}: {
  readonly projects: readonly Project[];
  readonly project: Project | undefined;
}) {
  const navigate = useNavigate();
  const { revalidate } = useRevalidator();
  const { pathname } = useLocation();
  const select = (projectId: string) => {
    rememberProject(projectId);
    const next = rewriteProjectPath(pathname, projectId);
    if (next === pathname) revalidate();
    else navigate(next);
  };
  return (
    <Combobox
      label="Project"
      items={projects.map(({ id, name }) => ({ value: id, label: name }))}
      value={project?.id}
      onChange={select}
      emptyText="No such project."
      className="max-w-56 sm:w-52"
    />
  );
}
