// Every project: the operator suspends it or sets its limits.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorProject } from '@underpass/rules/entity/resource.ts';
import { projectList } from '@underpass/rules/list/list-page.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { MoreHorizontal } from 'lucide-react';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { loadPage } from '../../api/load-page.ts';
import { callApi } from '../../api/request.ts';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { PagedList } from '../../list/paged-list.tsx';
import { IconButton } from '../../ui/button.tsx';
import { NothingHere } from '../../ui/nothing-here.tsx';
import { Menu, MenuItem } from '../../ui/overlay/menu.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { badgeColumn, dateColumn, figureColumn, menuColumn, nameColumn, textColumn } from '../../ui/table/columns.tsx';
import type { Column } from '../../ui/table/table-view.tsx';
import { LimitsPanel } from './limits-panel.tsx';

export const loader = ({ request }: LoaderFunctionArgs) => ({
  projects: loadPage(request, operatorCalls.listAllProjects, projectList, {}),
});

export function Component() {
  const { projects } = useLoaderData<typeof loader>();
  const [limited, setLimited] = useState<OperatorProject>();
  const [open, setOpen] = useState(false);
  const limit = (project: OperatorProject) => {
    setLimited(project);
    setOpen(true);
  };
  const confirm = useConfirm();
  return (
    <>
      <PageHeader wide title="Projects" subtitle="Suspending a project stops its tunnels within a minute." />
      <PagedList
        promise={projects}
        empty={<NothingHere title="No Projects" text="Projects appear here." />}
        label="Projects"
        wide
        columns={columnsOf({ onLimits: limit, ask: confirm.ask })}
        rules={projectList}
        rowKey={({ id }) => id}
        noun="projects"
      />
      {limited && <LimitsPanel project={limited} open={open} onOpenChange={setOpen} />}
      {confirm.dialog}
    </>
  );
}

interface ProjectActions {
  readonly onLimits: (project: OperatorProject) => void;
  readonly ask: Confirm['ask'];
}

function columnsOf(actions: ProjectActions): readonly Column<OperatorProject>[] {
  return [
    nameColumn('Project', 'minmax(0, 1.4fr)'),
    textColumn('owners', 'Owners', 'minmax(0, 1.6fr)', ({ owners }) => owners.join(', ')),
    figureColumn('tunnels', 'Tunnels', '7rem', ({ tunnels, limits }) => `${tunnels} of ${limits.tunnels}`),
    figureColumn('traffic', 'Last Hour', '7rem', ({ trafficBytes }) => formatSize(trafficBytes)),
    badgeColumn('state', 'State', '7rem', ({ suspended }) => (suspended ? ['Suspended', 'danger'] : ['Active', 'ok'])),
    dateColumn('since', 'Created', ({ createdAt }) => createdAt),
    menuColumn((project) => <ProjectMenu project={project} {...actions} />),
  ];
}

function ProjectMenu({ project, onLimits, ask }: { readonly project: OperatorProject } & ProjectActions) {
  return (
    <Menu trigger={<IconButton label={`Actions for ${project.name}`} icon={<MoreHorizontal aria-hidden="true" />} />}>
      <MenuItem onClick={() => onLimits(project)}>Limits</MenuItem>
      <MenuItem danger={!project.suspended} onClick={() => ask(suspensionQuestion(project))}>
        {project.suspended ? 'Resume' : 'Suspend'}
      </MenuItem>
    </Menu>
  );
}

function suspensionQuestion({ id, name, suspended, tunnels }: OperatorProject) {
  return {
    title: suspended ? 'Resume Project' : 'Suspend Project',
    warning: suspended
      ? `The tunnels of ${name} work again.`
      : `The tunnels of ${name} (${tunnels}) stop, and their clients are disconnected.`,
    confirmLabel: suspended ? 'Resume' : 'Suspend',
    work: () => callApi(operatorCalls.changeProject, { id, payload: { suspended: !suspended } }),
    done: suspended ? `${name} resumed.` : `${name} suspended.`,
  };
}
