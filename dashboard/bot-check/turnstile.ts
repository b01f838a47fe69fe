// Cloudflare Turnstile, which a deployment may choose instead of the self-hosted check. Loads only then.

interface Turnstile {
  render(container: HTMLElement, options: Record<string, unknown>): string;
  remove(widgetId: string): void;
}

declare global {
  interface Window {
    turnstile?: Turnstile;
  }
}

const scriptUrl = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit';

interface TurnstileHandlers {
  readonly onToken: (token: string) => void;
  readonly onExpired: () => void;
  /** The widget waits for the user. */
  readonly onInteractive: () => void;
  readonly onError: () => void;
}

/** The result's remove() removes the widget. */
export async function renderTurnstile(container: HTMLElement, siteKey: string, handlers: TurnstileHandlers) {
  const turnstile = await loadTurnstile();
  const widget = turnstile.render(container, {
    sitekey: siteKey,
    callback: handlers.onToken,
    'expired-callback': handlers.onExpired,
    'before-interactive-callback': handlers.onInteractive,
    'error-callback': handlers.onError,
    'unsupported-callback': handlers.onError,
    theme: 'auto',
    size: 'flexible',
  });
  return { remove: () => turnstile.remove(widget) };
}

let loading: Promise<Turnstile> | undefined;

function loadTurnstile(): Promise<Turnstile> {
  loading ??= insertScript().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

function insertScript(): Promise<Turnstile> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = scriptUrl;
    script.async = true;
    script.onload = () => (window.turnstile ? resolve(window.turnstile) : reject(new Error('Turnstile did not start')));
    script.onerror = () => reject(new Error('Turnstile cannot be loaded'));
    document.head.append(script);
  });
}
