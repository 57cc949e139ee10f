# The common part of scripts that create network namespaces. It is read with `.`, by a script that has set `spaces` to the
# names of its namespaces.
# shellcheck shell=sh disable=SC2154

privileged=
if [ "$(id -u)" != 0 ]; then
    { command -v sudo >/dev/null && sudo -n true 2>/dev/null; } ||
        { echo "${0##*/}: making network namespaces needs root or sudo" >&2; exit 1; }
    privileged="sudo -n"
fi
PATH=$PATH:/usr/sbin:/sbin

sleeping=
# Ends all processes in the namespaces, and removes the namespaces.
remove() {
    trap - EXIT INT TERM HUP
    [ -z "$sleeping" ] || kill "$sleeping" 2>/dev/null || true
    for space in $spaces; do
        for signal in TERM TERM KILL; do
            inside=$($privileged ip netns pids "$space" 2>/dev/null || true)
            [ -n "$inside" ] || break
            # shellcheck disable=SC2086
            $privileged kill "-$signal" $inside 2>/dev/null || true
            sleep 0.5
        done
        $privileged ip netns delete "$space" 2>/dev/null || true
    done
}

# Creates the namespaces, which are removed when the script ends.
create() {
    trap remove EXIT
    trap 'remove; exit 129' HUP
    trap 'remove; exit 130' INT
    trap 'remove; exit 143' TERM
    for space in $spaces; do $privileged ip netns add "$space"; done
}

# Waits for a signal.
wait_for_signal() {
    while :; do
        sleep 3600 >/dev/null 2>&1 &
        sleeping=$!
        wait "$sleeping"
    done
}
