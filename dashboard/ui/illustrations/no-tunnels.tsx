// No tunnels: an underpass with a lit lamp and an empty road.
import { Ground, Lamp, Scene } from './scene.tsx';

export function NoTunnelsIllustration() {
  return (
    <Scene>
      <Lamp x={16} />
      <path d="M66 44h134v68H66z" className="fill-surface" />
      <path d="M58 32h150v14H58z" className="fill-sunken" />
      <path d="M76 22v10M96 22v10M116 22v10M136 22v10M156 22v10M176 22v10M196 22v10M68 22h136" className="stroke-line" />
      <path d="M104 112V92a29 29 0 0 1 58 0v20z" className="fill-sunken" />
      <path d="M133 72v8M133 88v8M133 104v6" className="stroke-accent" strokeWidth="3" />
      <path d="M66 62h26M66 80h18M182 62h18M190 80h10M74 96h16M176 96h24" className="stroke-line" />
      <Ground />
    </Scene>
  );
}
