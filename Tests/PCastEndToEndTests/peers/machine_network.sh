#!/bin/sh
# machine_network.sh NAME WORD…: creates the network namespaces NAME, a machine with the interface "network", and
# NAME-outside, another machine on the same link. It prints "ready" and removes them when it is terminated, with all
# processes in them. They have no connection to the outside. Commands run in them by namespace.sh.
#
# The words are the configuration of NAME's interface: v4 (10.77.0.2), v6 (2001:db8:77::2), route (a default
# route of each family, through NAME-outside, which is 10.77.0.1 and 2001:db8:77::1). Each line on standard input has
# further words, and is answered with "ready".
set -eu

[ $# -ge 1 ] || { echo "usage: machine_network.sh NAME WORD…" >&2; exit 2; }
name=$1
shift

spaces="$name $name-outside"
. "$(dirname "$0")/network_namespaces.sh"

machine() { $privileged ip -n "$name" "$@"; }
outside() { $privileged ip -n "$name-outside" "$@"; }

# Without duplicate address detection, an IPv6 address is usable at once.
add() {
    routes=
    for word in "$@"; do
        case $word in
            v4) machine address add 10.77.0.2/24 dev network ;;
            v6) machine address add 2001:db8:77::2/64 dev network nodad ;;
            route) routes=yes ;;
            *) echo "machine_network.sh: what is $word?" >&2; exit 2 ;;
        esac
    done
    for word in "$@"; do
        case $routes$word in
            yesv4) machine route add default via 10.77.0.1 ;;
            yesv6) machine -6 route add default via 2001:db8:77::1 ;;
        esac
    done
    echo ready
}

create
machine link set lo up
outside link set lo up
machine link add network type veth peer name network netns "$name-outside"
# The kernel would add link-local addresses, which browsers do not use.
for space in "$name" "$name-outside"; do
    $privileged ip netns exec "$space" sysctl -q -w net.ipv6.conf.network.addr_gen_mode=1
done
outside address add 10.77.0.1/24 dev network
outside address add 2001:db8:77::1/64 dev network nodad
machine link set network up
outside link set network up
add "$@"
while read -r words; do
    # shellcheck disable=SC2086
    add $words
done
wait_for_signal
