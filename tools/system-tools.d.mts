export declare const systemTools: Record<
  | 'chromium'
  | 'postgres'
  | 'nats-server'
  | 'pebble'
  | 'knotd'
  | 'haproxy'
  | 'prometheus'
  | 'promtool'
  | 'nginx'
  | 'fail2ban-regex'
  | 'goaccess'
  | 'caddy'
  | 'systemd-analyze'
  | 'buildah'
  | 'fish'
  | 'unbound'
  | 'zsh'
  | 'curl'
  | 'openssl'
  | 'jq'
  | 'python3'
  | 'go'
  | 'ssh'
  | 'sshd'
  | 'git'
  | 'php'
  | 'ruby'
  | 'nix-instantiate'
  | 'gpg'
  | 'ip'
  | 'faketime'
  | 'etcd'
  | 'helm'
  | 'h2spec'
  | 'grpcurl',
  {
    package: string;
    module?: string;
    flags?: string[];
    why: string;
    only?: string;
    folders?: () => string[];
    fits?: (path: string) => boolean;
  }
>;
export declare function findTool(name: string): string | undefined;
export declare function wayTo(name: string): string;
export declare function missingTools(command: string): string[];
export declare function installTools(missing: string[], log: (line: string) => void): Promise<string[]>;
