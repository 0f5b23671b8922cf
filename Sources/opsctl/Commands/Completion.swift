internal import OpsModel

/// `completion`: prints the completion script of a shell.
enum CompletionVerb {
    static let shells = ["bash", "zsh", "fish"]

    static let verb = Verb(
        "completion", .keeping, "print completion for bash, zsh or fish",
        forms: ["bash|zsh|fish"],
        about: [
            "Names of operations, graphs, queues and categories are completed too."
        ],
        operands: .one(.choice(shells), "SHELL"),
        examples: [
            .init("In this shell", "source <(opsctl completion bash)"),
            .init("Permanently", "opsctl completion fish > ~/.config/fish/completions/opsctl.fish"),
        ],
        action: run)

    /// Internal verb for the scripts below. It gets the words of the command line so far, and prints one candidate per
    /// line, with its description after a tab.
    static let candidates = Verb(
        "__complete", .keeping, "what may come next", forms: ["WORD..."], operands: .command, isHidden: true,
        action: { (session) throws(Failure) in
            guard let words = Candidates(session, session.arguments.operands).words() else {
                try session.output.line(":files")
                return .done
            }
            // A name with unprintable characters cannot be completed.
            for word in words where word.text == word.text.printable {
                try session.output.line(word.about.isEmpty ? word.text : "\(word.text)\t\(word.about)")
            }
            return .done
        })

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        switch session.arguments.operands[0] {
        case "zsh": try session.output.write(zsh)
        case "fish": try session.output.write(fish)
        default: try session.output.write(bash)
        }
        return .done
    }

    private static let bash = #"""
        # bash completion for opsctl
        _opsctl() {
            local IFS=$'\n' line rest=${COMP_LINE:0:COMP_POINT} piece word
            local -a words=() found=()
            # Bash also splits words at = : and @. Pieces without a blank between them are one word.
            for piece in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
                if [ "${#words[@]}" -eq 0 ] || [[ $rest == [[:blank:]]* ]]; then
                    words+=("$piece")
                else
                    words[-1]+=$piece
                fi
                rest=${rest#"${rest%%[![:blank:]]*}"}
                rest=${rest#"$piece"}
            done
            word=${words[-1]}
            mapfile -t found < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
            COMPREPLY=()
            # Readline replaces only the last piece of the word.
            [[ $piece == *[^=:@]* ]] || piece=
            if [ "${found[0]-}" = :files ]; then
                compopt -o default -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$piece")
                return
            fi
            for line in "${found[@]}"; do
                line=${line%%$'\t'*}
                COMPREPLY+=("${line#"${word%"$piece"}"}")
            done
            [ "${#COMPREPLY[@]}" -eq 1 ] && [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
            return 0
        }
        complete -F _opsctl opsctl

        """#

    private static let zsh = #"""
        #compdef opsctl
        # zsh completion for opsctl
        _opsctl() {
            local -a found described
            local line
            found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
            if [[ ${found[1]} == :files ]]; then
                _files
                return
            fi
            for line in $found; do
                [[ -z $line ]] && continue
                described+=("${${line%%$'\t'*}//:/\\:}${line#${line%%$'\t'*}}")
            done
            described=("${(@)described/$'\t'/:}")
            _describe -t opsctl opsctl described
        }
        if [ "$funcstack[1]" = _opsctl ]; then
            _opsctl "$@"
        else
            compdef _opsctl opsctl
        fi

        """#

    private static let fish = #"""
        # fish completion for opsctl
        function __opsctl_complete
            set -l words (commandline -opc) (commandline -ct)
            set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
            if test "$found[1]" = ":files"
                __fish_complete_path (commandline -ct)
                return
            end
            printf '%s\n' $found
        end
        complete -c opsctl -f -a '(__opsctl_complete)'

        """#
}
