#!/bin/sh
# namespace.sh NAME COMMAND…: runs COMMAND in the isolated network namespace NAME and exits with its status.
#
# It has the loopback interface, and a veth pair with the address 127.0.1.1 and both ends inside the namespace, because
# libnice (GStreamer) never uses the interface `lo`. IPv6 is disabled, because it would add link-local candidates.
# If NAME exists, COMMAND runs in it. The process that created it removes it, with all processes in it.
set -eu

[ $# -ge 2 ] || { echo "usage: namespace.sh NAME COMMAND…" >&2; exit 2; }
name=$1
shift

privileged=
if [ "$(id -u)" != 0 ]; then
    { command -v sudo >/dev/null && sudo -n true 2>/dev/null; } ||
        { echo "namespace.sh: making a network namespace needs root or sudo" >&2; exit 1; }
    privileged="sudo -n"
fi
PATH=$PATH:/usr/sbin:/sbin

# The command runs as the calling user, with the same home and search path.
if [ -n "$privileged" ]; then
    set -- $privileged -u "#$(id -u)" env "HOME=$HOME" "PATH=$PATH" "XDG_CACHE_HOME=${XDG_CACHE_HOME:-}" "TMPDIR=${TMPDIR:-/tmp}" "$@"
fi

if [ -e "/run/netns/$name" ]; then
    exec $privileged ip netns exec "$name" "$@"
fi

child=
remove() {
    trap - EXIT INT TERM HUP
    if [ -n "$child" ]; then
        # SIGTERM lets programs end their sessions. After two seconds, SIGKILL follows.
        for signal in TERM TERM TERM TERM KILL; do
            inside=$($privileged ip netns pids "$name" 2>/dev/null || true)
            [ -n "$inside" ] || break
            # shellcheck disable=SC2086
            $privileged kill "-$signal" $inside 2>/dev/null || true
            sleep 0.5
        done
    fi
    $privileged ip netns delete "$name" 2>/dev/null || true
}

$privileged ip netns add "$name"
trap remove EXIT
trap 'remove; exit 129' HUP
trap 'remove; exit 130' INT
trap 'remove; exit 143' TERM

within() { $privileged ip netns exec "$name" "$@"; }
for interface in all default; do
    within sysctl -q -w "net.ipv6.conf.$interface.disable_ipv6=1" 2>/dev/null || true
done
within ip link set lo up
within ip link add inside0 type veth peer name inside1
within ip address add 127.0.1.1/32 dev inside0
within ip link set inside0 up
within ip link set inside1 up

# Without this, a command in the background would read /dev/null.
exec 3<&0
$privileged ip netns exec "$name" "$@" <&3 3<&- &
child=$!
status=0
wait "$child" || status=$?
exit "$status"
