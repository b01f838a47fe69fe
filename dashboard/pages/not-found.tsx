// Any path that no route knows (spec 2, 404 page).
import { text } from '@underpass/rules/text.ts';
import { NotFoundIllustration } from '../brand/illustrations/not-found.tsx';
import { paths } from '../paths.ts';
import { ButtonLink } from '../ui/button.tsx';
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
