# SPDX-License-Identifier: MIT
# bash completion for cenote. The program itself lists the words, so the completion is always up to date.

_cenote() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]} command=
    local -a words=()
    COMPREPLY=()
    [ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
    # The value of an option: after the = at which readline splits, or the next word.
    local option=
    if [ "$word" = = ]; then
        option=$before word=
    elif [ "$before" = = ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $before == --* ]] && "$program" --words "$command" 2>/dev/null | grep -qxF -e "$before="; then
        option=$before
    fi
    if [ -n "$option" ]; then
        mapfile -t words < <("$program" --words "$command" 2>/dev/null | sed -n "s/^$option=\(.\)/\1/p")
        if [ ${#words[@]} -gt 0 ]; then
            mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$word")
            return
        fi
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    if [ "$command" = help ] || [ -z "$command" ]; then
        mapfile -t words < <("$program" --words 2>/dev/null)
    elif [[ $word == -* ]]; then
        mapfile -t words < <("$program" --words "$command" 2>/dev/null | sed '/=./d')
    else
        case $command in
            run | tune) words=(sqlite: postgresql:// mariadb:// mysql:// redis:// unix:// http:// https://) ;;
            top | page | explain | metrics | events)
                local file
                local -a abroad=()
                [ "$UID" = 0 ] && abroad=(/run/user/*/cenote/*.address /tmp/cenote-*/*.address)
                for file in "${XDG_RUNTIME_DIR:-/nowhere}"/cenote/*.address /tmp/cenote-"$UID"/*.address "${abroad[@]}"; do
                    file=${file##*/} file=${file%.address}
                    [ -d "/proc/$file" ] && words+=("$file") # a killed process leaves its file behind
                done
                ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$word")
    [ ${#COMPREPLY[@]} -gt 0 ] || { [[ $word != -* ]] && mapfile -t COMPREPLY < <(compgen -f -- "$word"); }
    # No space after = or a scheme: the value follows.
    [ ${#COMPREPLY[@]} = 1 ] && [[ ${COMPREPLY[0]} == *[=/:] ]] && compopt -o nospace 2>/dev/null
    # If readline splits words at a colon, it already has the scheme.
    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%:*}":}")
    fi
    return 0
}
complete -F _cenote cenote
