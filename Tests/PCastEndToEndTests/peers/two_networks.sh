#!/bin/sh
# two_networks.sh NAME: creates the isolated network namespaces NAME-server and NAME-client with two links between them,
# and prints "ready". When it is terminated, it removes them with all processes in them.
#
# The server is 10.9.0.1 on both links. The client is 10.1.0.2 on the interface first and 10.2.0.2 on
# second, and prefers the first one. Commands run in them by namespace.sh.
set -eu

[ $# -eq 1 ] || { echo "usage: two_networks.sh NAME" >&2; exit 2; }
name=$1

privileged=
if [ "$(id -u)" != 0 ]; then
    { command -v sudo >/dev/null && sudo -n true 2>/dev/null; } ||
        { echo "two_networks.sh: making network namespaces needs root or sudo" >&2; exit 1; }
    privileged="sudo -n"
fi
PATH=$PATH:/usr/sbin:/sbin

sleeping=
remove() {
    trap - EXIT INT TERM HUP
    [ -z "$sleeping" ] || kill "$sleeping" 2>/dev/null || true
    for space in "$name-client" "$name-server"; do
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

server() { $privileged ip netns exec "$name-server" "$@"; }
client() { $privileged ip netns exec "$name-client" "$@"; }

trap remove EXIT
trap 'remove; exit 129' HUP
trap 'remove; exit 130' INT
trap 'remove; exit 143' TERM
$privileged ip netns add "$name-server"
$privileged ip netns add "$name-client"
for side in server client; do
    for interface in all default; do
        $side sysctl -q -w "net.ipv6.conf.$interface.disable_ipv6=1" 2>/dev/null || true
        # A datagram from one link may be answered on the other.
        $side sysctl -q -w "net.ipv4.conf.$interface.rp_filter=0"
    done
    $side ip link set lo up
done
server ip address add 10.9.0.1/32 dev lo
number=1
for link in first second; do
    client ip link add "$link" type veth peer name "$link" netns "$name-server"
    server ip address add "10.$number.0.1/24" dev "$link"
    server ip link set "$link" up
    client ip address add "10.$number.0.2/24" dev "$link"
    client ip link set "$link" up
    client ip route add 10.9.0.1 via "10.$number.0.1" metric "$((number * 100))"
    number=$((number + 1))
done
echo ready
# Waits for a signal.
while :; do
    sleep 3600 >/dev/null 2>&1 &
    sleeping=$!
    wait "$sleeping"
done
