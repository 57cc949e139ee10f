#!/bin/sh
# two_networks.sh NAME: creates the isolated network namespaces NAME-server and NAME-client with two links between them,
# and prints "ready". When it is terminated, it removes them with all processes in them.
#
# The server is 10.9.0.1 on both links. The client is 10.1.0.2 on the interface first and 10.2.0.2 on
# second, and prefers the first one. Commands run in them by namespace.sh.
set -eu

[ $# -eq 1 ] || { echo "usage: two_networks.sh NAME" >&2; exit 2; }
name=$1

spaces="$name-client $name-server"
. "$(dirname "$0")/network_namespaces.sh"

server() { $privileged ip netns exec "$name-server" "$@"; }
client() { $privileged ip netns exec "$name-client" "$@"; }

create
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
wait_for_signal
