// The scripts that a shell sources: they pass the typed words to `underpass complete` and offer its answers.

const bash = `# underpass completion for bash: source <(underpass completion bash)
_underpass() {
  local candidate quoted rest
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate rest; do
    if [ "$candidate" = ":files" ]; then
      compopt -o default 2>/dev/null
      COMPREPLY=()
      return
    fi
    # A name may hold characters that bash would run.
    printf -v quoted '%q' "$candidate"
    COMPREPLY+=("$quoted")
  done < <("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _underpass underpass
`;

const zsh = `#compdef underpass
# underpass completion for zsh: save as _underpass in a folder of $fpath
_underpass() {
  local -a candidates
  local value about
  while IFS=$'\\t' read -r value about; do
    if [[ $value == ":files" ]]; then
      _files
      return
    fi
    candidates+=("\${value//:/\\\\:}:$about")
  done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe 'underpass' candidates
}
if [ "$funcstack[1]" = "_underpass" ]; then
  _underpass "$@"
else
  compdef _underpass underpass
fi
`;

const fish = `# underpass completion for fish: save as ~/.config/fish/completions/underpass.fish
function __underpass_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..] 2>/dev/null)
        if string match -q ':files*' -- $line
            __fish_complete_path (commandline -ct)
        else
            printf '%s\\n' $line
        end
    end
end
complete -c underpass -f -a '(__underpass_complete)'
`;

export const completionScripts = { bash, zsh, fish } as const;
