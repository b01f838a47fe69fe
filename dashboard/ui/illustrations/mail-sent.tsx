// Mail sent: a letter on its way to the underpass.
import { Ground, Scene } from './scene.tsx';

export function MailSentIllustration() {
  return (
    <Scene>
      <path d="M122 46h82v66h-82z" className="fill-surface" />
      <path d="M114 34h98v14h-98z" className="fill-sunken" />
      <path d="M136 112V92a27 27 0 0 1 54 0v20z" className="fill-sunken" />
      <path d="M10 78h22M4 92h34M16 106h20" className="stroke-accent" strokeWidth="3" />
      <rect x="50" y="62" width="68" height="46" rx="4" className="fill-accent" />
      <path d="m52 65 32 24 32-24" className="stroke-on-accent" />
      <path d="M122 66h8M196 66h8M122 84h6M198 84h6" className="stroke-line" />
      <Ground />
    </Scene>
  );
}
