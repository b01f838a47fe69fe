// The first page of a project.
import { useProject } from '../../session.ts';
import { PageHeader } from '../../ui/page-header.tsx';

export function Component() {
  const project = useProject();
  return <PageHeader title="Dashboard" subtitle={`Project: ${project.name}`} />;
}
