// An email address, domain or build that may be longer than its line. It breaks after the @, or before a dot or plus.
import { Fragment } from 'react';

export function Breakable({ text }: { readonly text: string }) {
  return breakParts(text).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no key, and never move.
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

const breakParts = (text: string): readonly string[] => text.split(/(?<=@)|(?=[.+])/);
