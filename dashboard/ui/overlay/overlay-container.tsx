// Renders menus that open over the page inside the landmark or dialog that they belong to, so that assistive technology finds them
// there and an open dialog does not hide them.
import { createContext, type ReactNode, type RefObject, useContext, useRef } from 'react';

const Container = createContext<RefObject<HTMLElement | null> | undefined>(undefined);

/** Put it inside a header, a main or a dialog. */
export function OverlayContainer({ children }: { readonly children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  return (
    <Container value={ref}>
      {children}
      <div ref={ref} />
    </Container>
  );
}

/** Spread it on a Portal. Without a container the portal renders into the body. */
export function useOverlayContainer(): { readonly container?: RefObject<HTMLElement | null> } {
  const container = useContext(Container);
  return container === undefined ? {} : { container };
}
