// The definitions that package managers read: a Homebrew formula, a Scoop manifest, a Nix flake. Pure.
import { projectUrl } from '../../rules/text/project-url.ts';
import type { PackedRelease } from './packed-release.ts';

export const summary = 'Public address for a service on your machine: client of Underpass';
export const license = 'MIT';
/** Read by client/command/update.ts from the folder of the program. */
export const managedBy = 'managed-by';

/** The formula of a tap. The program lies in libexec beside the file that says who updates it. */
export function renderFormula({ version, from, programs }: PackedRelease, update: string): string {
  const systems = [
    ['on_macos', 'darwin'],
    ['on_linux', 'linux'],
  ] as const;
  const processors = [
    ['on_arm', 'arm64'],
    ['on_intel', 'x64'],
  ] as const;
  const sources = systems.flatMap(([onSystem, system]) => {
    const inside = processors.flatMap(([onProcessor, processor]) => {
      const program = programs.find(({ platform }) => platform === `${system}-${processor}`);
      if (program === undefined) return [];
      return [`    ${onProcessor} do`, `      url "${from}/${program.name}"`, `      sha256 "${program.sha256}"`, '    end'];
    });
    return inside.length === 0 ? [] : [`  ${onSystem} do`, ...inside, '  end', ''];
  });
  return `class Underpass < Formula
  desc "${summary}"
  homepage "${projectUrl}"
  version "${version}"
  license "${license}"

${sources.join('\n')}
  def install
    libexec.install Dir["underpass-*"].first => "underpass"
    chmod 0755, libexec/"underpass"
    (libexec/"${managedBy}").write "${update}\\n"
    bin.install_symlink libexec/"underpass"
    generate_completions_from_executable bin/"underpass", "completion"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/underpass --version")
  end
end
`;
}

export function renderScoopManifest({ version, from, programs }: PackedRelease, update: string): string {
  const windows = programs.find(({ platform }) => platform === 'win-x64');
  const manifest = {
    version,
    description: summary,
    homepage: projectUrl,
    license,
    architecture: windows && {
      // The fragment is the name under which Scoop stores the file.
      '64bit': { url: `${from}/${windows.name}#/underpass.exe`, hash: windows.sha256 },
    },
    bin: 'underpass.exe',
    post_install: [`Set-Content -Path "$dir\\${managedBy}" -Value '${update}'`],
  };
  return `${JSON.stringify(manifest, null, 4)}\n`;
}

/** Made of the npm package, because a compiled program finds no dynamic linker under NixOS. */
export function renderFlake({ version, from, npm }: PackedRelease, update: string): string {
  return `{
  description = "${summary}";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      packageFor = pkgs: pkgs.stdenv.mkDerivation {
        pname = "underpass";
        version = "${version}";
        src = pkgs.fetchurl {
          url = "${from}/${npm.name}";
          sha256 = "${npm.sha256}";
        };
        nativeBuildInputs = [ pkgs.makeWrapper ];
        dontBuild = true;
        installPhase = ''
          mkdir -p $out/lib/underpass
          cp -r . $out/lib/underpass
          echo '${update}' > $out/lib/underpass/${managedBy}
          makeWrapper \${pkgs.nodejs_24}/bin/node $out/bin/underpass --add-flags $out/lib/underpass/underpass.mjs
        '';
        meta = {
          description = "${summary}";
          homepage = "${projectUrl}";
          license = pkgs.lib.licenses.mit;
          mainProgram = "underpass";
        };
      };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = packageFor nixpkgs.legacyPackages.\${system};
      });
    };
}
`;
}
