#!/bin/sh
# namespace.sh NAME COMMAND…: runs COMMAND in the sealed network namespace NAME and hands on its exit status.
#
# Nothing gets out of it: it has the loopback interface, and a veth pair with both ends inside that carries 127.0.1.1,
# because libnice (GStreamer) never uses the interface `lo`. IPv6 is off, else link-local candidates would appear.
# Where NAME exists already, COMMAND joins it; who made it removes it, with every process that is left inside.
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

# The command itself runs as who asked for it, with the same home and search path.
if [ -n "$privileged" ]; then
    set -- $privileged -u "#$(id -u)" env "HOME=$HOME" "PATH=$PATH" "XDG_CACHE_HOME=${XDG_CACHE_HOME:-}" "$@"
fi

if [ -e "/run/netns/$name" ]; then
    exec $privileged ip netns exec "$name" "$@"
fi

child=
remove() {
    trap - EXIT INT TERM HUP
    if [ -n "$child" ]; then
        # First as asked, so that programs can say goodbye; after two seconds without asking.
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

# A command in the background would read /dev/null.
exec 3<&0
$privileged ip netns exec "$name" "$@" <&3 3<&- &
child=$!
status=0
wait "$child" || status=$?
exit "$status"
