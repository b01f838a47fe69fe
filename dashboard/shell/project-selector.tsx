// Selects the project (spec 2, Project selector). With many projects, the command palette is quicker.
import type { Project } from '@underpass/rules/entity/entity.ts';
import { rewriteProjectPath } from '@underpass/rules/screen/project-path.ts';
import { ChevronsUpDown, Plus } from 'lucide-react';
import { useLocation, useNavigate, useRevalidator } from 'react-router';
import { paths } from '../routing/paths.ts';
import { namesakeNotes } from '../session/namesakes.ts';
import { rememberProject } from '../session/selected-project.ts';
import { useShell } from '../session/session.ts';
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../ui/overlay/menu.tsx';
import { letPass, unsaved } from '../unsaved/use-unsaved.ts';

interface ProjectSelectorProps {
  readonly projects: readonly Project[];
  readonly project: Project | undefined;
}

export function ProjectSelector({ projects, project }: ProjectSelectorProps) {
  const navigate = useNavigate();
  const { user } = useShell();
  const { revalidate } = useRevalidator();
  const { pathname } = useLocation();
  const notes = namesakeNotes(projects);
  const select = (projectId: string) => {
    rememberProject(projectId);
    const next = rewriteProjectPath(pathname, projectId);
    if (next === pathname) revalidate();
    else letPass(() => navigate(next));
  };
  return (
    <Menu align="start" trigger={<SelectorButton name={project?.name} />}>
      <MenuChoice
        label="Project"
        value={project?.id ?? ''}
        options={projects.map(({ id, name }) => ({ value: id, label: name, note: notes.get(id) }))}
        onChange={(projectId) => unsaved.leave(unsaved.page, () => select(projectId))}
      />
      {!user.invited && (
        <>
          <MenuSeparator />
          <MenuItem icon={<Plus aria-hidden="true" />} onClick={() => navigate(paths.newProject())}>
            New project
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

function SelectorButton({ name, ...rest }: { readonly name: string | undefined } & React.ComponentProps<'button'>) {
  return (
    <button
      {...rest}
      type="button"
      aria-label={name === undefined ? 'Project' : `Project: ${name}`}
      className="flex h-9 max-w-56 min-w-0 items-center gap-2 rounded-md px-2.5 text-sm font-semibold text-ink hover:bg-hover aria-expanded:bg-hover"
    >
      <span dir="auto" className="truncate">
        {name ?? 'Project'}
      </span>
      <ChevronsUpDown aria-hidden="true" className="size-3.5 shrink-0 text-ink-faint" />
    </button>
  );
}
