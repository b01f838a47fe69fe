// What changed lately, in sentences, and who did it. The whole list is the audit log.
import type { RecentChange } from '@underpass/rules/entity/resource.ts';
import { Link } from 'react-router';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Card } from '../../ui/card.tsx';
import { TimeAgo } from '../../ui/date/date-time.tsx';
import { Sentence } from '../audit/sentence.tsx';

interface ChangesCardProps {
  readonly changes: readonly RecentChange[];
  readonly className: string | undefined;
}

export function ChangesCard({ changes, className }: ChangesCardProps) {
  const project = useProject();
  const all = (
    <Link to={paths.audit(project.id)} className="text-sm font-semibold text-accent-ink underline underline-offset-4">
      Audit log
    </Link>
  );
  return (
    <Card title="What changed" actions={all} flush {...(className === undefined ? {} : { className })}>
      <ol className="grid gap-3 border-t px-4 py-4 sm:px-5">
        {changes.map((change) => (
          <Change key={change.id} change={change} />
        ))}
      </ol>
    </Card>
  );
}

function Change({ change }: { readonly change: RecentChange }) {
  return (
    <li className="text-sm">
      <p className="wrap-anywhere">
        <Sentence change={change} />
      </p>
      <p className="text-ink-faint">
        <TimeAgo at={change.at} />
      </p>
    </li>
  );
}
