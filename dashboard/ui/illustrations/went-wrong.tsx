// Something went wrong: a traffic cone at roadworks.
import { Ground, Scene } from './scene.tsx';

export function WentWrongIllustration() {
  return (
    <Scene>
      <path d="M78 104h64v8H78z" className="fill-sunken" />
      <path d="M104 30h12l20 74H84z" className="fill-accent" />
      <path d="M98.6 50h22.8l4.3 16h-31.4zM90 82h40l3.2 12H86.8z" className="fill-surface stroke-none" />
      <path d="M104 30h12l20 74H84z" />
      <path d="M156 112V96h26v16zM162 96v-8h14v8" className="fill-surface" />
      <path d="M36 112l10-12 12 12z" className="fill-surface" />
      <Ground />
    </Scene>
  );
}
