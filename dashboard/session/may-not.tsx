// Says who may do what a link asks for, to a person whose role does not allow it.
import { type Action, forbiddenMessage, whoMay } from '@underpass/rules/people/permission.ts';
import { Banner } from '../ui/banner.tsx';

export const MayNot = ({ action }: { readonly action: Action }) => (
  <Banner tone="warn" title={forbiddenMessage} className="mb-6">
    {whoMay(action)}
  </Banner>
);
