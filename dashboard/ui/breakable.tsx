// An address or a domain that may be longer than its line: it breaks behind the @ and before a dot rather than anywhere.
import { Fragment } from 'react';

export function Breakable({ text }: { readonly text: string }) {
  return breakParts(text).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name, and never move.
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

const breakParts = (text: string): readonly string[] => text.split(/(?<=@)|(?=\.)/);
