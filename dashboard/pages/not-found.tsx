// The page for a path without a route (spec 2, 404 page).
import { text } from '@underpass/rules/text/text.ts';
import { paths } from '../routing/paths.ts';
import { ButtonLink } from '../ui/button-link.tsx';
import { NotFoundIllustration } from '../ui/illustrations/not-found.tsx';
import { AuthOutcome } from './auth-card.tsx';

export function Component() {
  return (
    <AuthOutcome
      takesFocus={false}
      illustration={<NotFoundIllustration />}
      title={text.notFound.title}
      text={text.notFound.text}
      action={<ButtonLink to={paths.home()}>Back to home</ButtonLink>}
    />
  );
}
